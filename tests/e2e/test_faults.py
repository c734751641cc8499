"""A renter who breaks what a node does for the job: it is the renter's fault and bill, never the node's."""

from typing import Any

import pytest
from support.pool import patient, running_pool

from computepool.client.errors import HubError
from computepool.client.models import Job
from computepool.client.pool import Pool as Client

pytestmark = [pytest.mark.slow, pytest.mark.engine("bwrap")]

SETTINGS = {"COMPUTEPOOL_WELCOME_CREDITS": "1000"}
SPEC: dict[str, Any] = {
    "run": "sleep 0.2",
    "max_price": "36000",
    "max_runtime": "5m",
    "resources": {"cpus": 0.5, "memory": "256MB", "disk": "64MB"},
}
ROOMY = {**SPEC["resources"], "disk": "512MB"}
"""Each folder counts, and the job is to get to its end."""
DIG = 'import os\nos.chdir(os.environ["COMPUTEPOOL_ENV"])\nfor _ in range(4000): os.mkdir("d"); os.chdir("d")'
LONG_NAMES = 'cd "$COMPUTEPOOL_CHECKPOINT"; x=$(printf %0200d 0); for i in $(seq 1000); do mkdir -p $i/$x/$x/$x; '
ATTACKS: dict[str, dict[str, Any]] = {
    "setup removes its environment": {"setup": 'rm -rf "$COMPUTEPOOL_ENV"'},
    "setup puts a link in its place": {"setup": 'rm -rf "$COMPUTEPOOL_ENV"; ln -s /usr "$COMPUTEPOOL_ENV"'},
    "setup puts a file in its place": {"setup": 'rm -rf "$COMPUTEPOOL_ENV"; : > "$COMPUTEPOOL_ENV"'},
    "setup removes where the job works": {"setup": "cd /; rm -rf /job/work"},
    "setup puts a file where the job works": {"setup": "cd /; rm -rf /job/work; : > /job/work"},
    "setup digs 4,000 folders deep": {"setup": f"python3 -c '{DIG}'", "resources": ROOMY},
    "1,000 long names in a checkpoint": {"run": LONG_NAMES + ": > $i/$x/$x/$x/$x; done; exit 85"},
}


@pytest.fixture
def pool(tmp_path):
    with running_pool(tmp_path / "pool", SETTINGS) as made:
        yield made


def test_no_trick_of_a_renter_is_the_nodes_fault_or_free(pool):
    host = pool.register("host")
    machine = host.share("machine")
    renter = pool.register("renter")
    with patient(Client(home=renter.home)) as client:
        with pytest.raises(HubError) as refused:
            client.call("POST", "/jobs", {"run": ["true"], "checkpoint": "c" * 300})  # as somebody without our client
        assert (refused.value.status, refused.value.code) == (422, "bad_spec"), "no file system has such a name"
        for name, attack in ATTACKS.items():
            job_id = client.submit({**SPEC, **attack}).id

            def ended(name: str = name, job_id: str = job_id) -> Job | None:
                job = client.job(job_id)
                told = [(attempt.verdict, attempt.reason, attempt.detail) for attempt in job.slices[0].attempts]
                assert {verdict for verdict, _, _ in told} <= {None, "renter", "ok"}, f"{name}: {told}"
                return job if job.is_final else None

            attempts = pool.until(ended, f"{name}: it ends").slices[0].attempts
            assert len(attempts) == 1, f"{name}: {attempts}"
            assert client.wallet.cost_micros(job_id) > 0, f"{name} was free: {attempts}"
    node = host.cli("node", "show", machine.node_id, "--json").expect(0).json
    assert node["state"] == "online", node
