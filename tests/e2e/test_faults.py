"""A renter who breaks what a node does for the job: it is the renter's fault and bill, never the node's."""

import pytest
from support.pool import patient, running_pool

from computepool.client.errors import HubError
from computepool.client.models import Job
from computepool.client.pool import Pool as Client

pytestmark = [pytest.mark.slow, pytest.mark.engine("bwrap")]

SETTINGS = {"COMPUTEPOOL_WELCOME_CREDITS": "1000"}
DIG = 'import os\nos.chdir(os.environ["COMPUTEPOOL_ENV"])\nfor _ in range(4000): os.mkdir("d"); os.chdir("d")'
LONG_NAMES = 'cd "$COMPUTEPOOL_CHECKPOINT"; x=$(printf %0200d 0); for i in $(seq 1000); do mkdir -p $i/$x/$x/$x; '
ATTACKS = {
    "setup removes its environment": {"setup": 'rm -rf "$COMPUTEPOOL_ENV"'},
    "setup puts a link in its place": {"setup": 'rm -rf "$COMPUTEPOOL_ENV"; ln -s /usr "$COMPUTEPOOL_ENV"'},
    "setup puts a file in its place": {"setup": 'rm -rf "$COMPUTEPOOL_ENV"; : > "$COMPUTEPOOL_ENV"'},
    "setup removes where the job works": {"setup": "cd /; rm -rf /job/work"},
    "setup digs 4,000 folders deep": {"setup": f"python3 -c '{DIG}'"},
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
        ended: dict[str, Job] = {}
        for name, attack in ATTACKS.items():
            spec = {"run": "sleep 0.2", "max_price": "36000", "max_runtime": "5m", **attack}
            job = client.submit({**spec, "resources": {"cpus": 0.5, "memory": "256MB", "disk": "64MB"}})
            ended[name] = pool.until(lambda: j if (j := client.job(job.id)).is_final else None, f"{name}: it ends")  # noqa: B023
        for name, job in ended.items():
            attempts = job.slices[0].attempts
            told = [(one.verdict, one.reason, one.detail) for one in attempts]
            assert [one.verdict for one in attempts] in (["renter"], ["ok"]), f"{name}: {told}"
            assert client.wallet.cost_micros(job.id) > 0, f"{name} was free: {told}"
    node = host.cli("node", "show", machine.node_id, "--json").expect(0).json
    assert node["state"] == "online", node
