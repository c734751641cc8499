"""Strangers who want the hub's disk and memory for nothing: a renter, a host, and an account that runs nothing."""

import json
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import hostile_agent
from support.children import resident_bytes
from support.pool import patient, running_pool

from computepool.client.errors import HubError
from computepool.client.pool import Pool as Client

pytestmark = pytest.mark.slow

MB = 1024**2
LIMIT_BYTES, DAILY_BYTES, OBJECTS, QUEUED_SLICES = 16 * MB, 12 * MB, 40, 10_000
SETTINGS = {
    "COMPUTEPOOL_WELCOME_CREDITS": "1000",
    "COMPUTEPOOL_STORAGE_LIMIT_BYTES": str(LIMIT_BYTES),
    "COMPUTEPOOL_STORAGE_LIMIT_BYTES_PER_DAY": str(DAILY_BYTES),
    "COMPUTEPOOL_STORAGE_LIMIT_OBJECTS": str(OBJECTS),
    "COMPUTEPOOL_LIMIT_QUEUED_SLICES": str(QUEUED_SLICES),
    "COMPUTEPOOL_LIMIT_QUEUED_BYTES": str(2 * MB),
}
HUB_MAY_GROW_BYTES = 64 * MB
SMALL = {"cpus": 0.5, "memory": "256MB"}
TERMS = {"max_price": "36000", "max_runtime": "5m"}


@pytest.fixture(scope="module", params=["@storage-pool"])
def pool(tmp_path_factory):
    with running_pool(tmp_path_factory.mktemp("storage") / "pool", SETTINGS) as made:
        yield made


@contextmanager
def signed_in(pool, name):
    with patient(Client(home=pool.register(name).home)) as client:
        yield client


def stored_on_disk(pool):
    return sum(file.stat().st_size for file in (pool.home / "artifacts").rglob("*") if file.is_file())


def ended(pool, client, job_id):
    return pool.until(lambda: job if (job := client.job(job_id)).is_final else None, f"{job_id} ends")


def refusal(call, *args):
    with pytest.raises(HubError) as refused:
        call(*args)
    return refused.value


@pytest.mark.engine("bwrap")
def test_output_with_a_hole_counts_whole_and_one_that_does_not_fit_is_refused(pool):
    """Row 4: a job of one second that leaves a file of holes."""
    machine = pool.register("honest-host").share("honest")
    before = stored_on_disk(pool)
    with signed_in(pool, "holey") as client:
        spec = {**TERMS, "resources": {**SMALL, "disk": "128MB"}, "where": {"node": machine.node_id}}
        large = client.submit({**spec, "run": ["sh", "-c", 'truncate -s 64M "$COMPUTEPOOL_OUTPUT/hole"']})
        job = ended(pool, client, large.id)
        assert (job.state, job.slices[0].newest.verdict) == ("failed", "renter"), job.message
        assert "Your storage is full: the limit is 16 MB." in job.message
        assert client.wallet.cost_micros(job.id) > 0
        assert client.outputs(job.id) == []
        assert client.storage.usage()["bytes"] < MB
        assert stored_on_disk(pool) - before < MB
        small = client.submit({**spec, "run": ["sh", "-c", 'truncate -s 8M "$COMPUTEPOOL_OUTPUT/hole"']})
        assert ended(pool, client, small.id).state == "succeeded"
        assert [output.size_bytes for output in client.outputs(small.id)] == [8 * MB]
        assert 8 * MB <= client.storage.usage()["bytes"] < 9 * MB
        client.storage.delete_job(small.id)
        assert client.storage.usage()["bytes"] < MB
        assert stored_on_disk(pool) - before < MB
    machine.stop()


@pytest.mark.engine("bwrap")
def test_host_cannot_leave_more_than_the_slice_was_granted_or_hand_over_what_it_never_announced(pool):
    """Row 11: what an agent may keep is what its hub granted, whatever its host made of the agent."""
    told = pool.folder / "told.jsonl"
    program = Path(hostile_agent.__file__)
    machine = pool.register("liar").share("liar", program=program, HOSTILE_TOLD=str(told))
    before = stored_on_disk(pool)
    with signed_in(pool, "victim") as client:
        spec = {**TERMS, "resources": {**SMALL, "disk": "2MB"}, "where": {"node": machine.node_id}}
        job = client.submit({**spec, "run": ["true"]})

        def first_ended():
            first = client.job(job.id).slices[0].attempts
            return first[0] if first and first[0].verdict is not None else None

        first = pool.until(first_ended, "the first attempt ends")
        assert (first.verdict, first.reason) == ("host", "outputs_missing"), first
        assert hostile_agent.NEVER_ANNOUNCED in first.detail
        if not client.job(job.id).is_final:
            client.cancel(job.id)
            ended(pool, client, job.id)
        machine.stop()
        assert client.job(job.id).state != "succeeded"
        assert client.outputs(job.id) == []
        answers = json.loads(told.read_text().splitlines()[0])
        granted_bytes = answers.pop("granted_bytes")
        refused = {name for name, why in answers.items() if why is not None}
        assert refused == {"whole", "another part", "large checkpoint", "checkpoint 3"}, answers
        # Three checkpoints count, since their URLs are out; the outputs of an attempt that ended do not.
        attempts = len(client.job(job.id).slices[0].attempts)
        assert client.storage.usage()["bytes"] <= 3 * granted_bytes + attempts * 1024
        client.storage.delete_job(job.id)
        assert client.storage.usage()["bytes"] == 0
    assert stored_on_disk(pool) - before < granted_bytes


def test_account_that_never_paid_is_told_its_limits(pool, tmp_path):
    """Row 12: storage that nobody pays for."""
    with signed_in(pool, "hoarder") as client:
        for number in range(4):
            file = tmp_path / f"file-{number}"
            file.write_bytes(b"%d" % number * 4 * MB)
            if number < 3:
                client.upload(file)
        refused = refusal(client.upload, file)
        assert (refused.status, refused.code) == (413, "storage_daily_quota")
        assert "12 MB in a day until you have bought credits" in refused.message
        assert "wallet top-up" in refused.hint
        assert client.storage.usage()["bytes"] == DAILY_BYTES
    with signed_in(pool, "collector") as client:
        for number in range(OBJECTS + 1):
            file = tmp_path / f"tiny-{number}"
            file.write_bytes(b"%d" % number)
            if number < OBJECTS:
                client.upload(file)
        refused = refusal(client.upload, file)
        assert (refused.status, refused.code) == (413, "storage_quota")
        assert f"the limit is {OBJECTS} files and logs" in refused.message
        assert "artifacts list" in refused.hint


def test_queue_of_one_account_has_a_size_and_so_has_the_hub(pool):
    """Row 12: 40 × 10,000 slices and specs of 200 KB that no node can take."""
    nobody_can = {"run": ["true"], "resources": {"cpus": 4000}}
    before = resident_bytes(pool.hub.pid)
    with signed_in(pool, "flooder") as client:
        client.submit({**nobody_can, "slices": QUEUED_SLICES})
        for _ in range(39):
            refused = refusal(client.submit, {**nobody_can, "slices": QUEUED_SLICES})
            assert (refused.status, refused.code) == (409, "queue_full")
        assert f"than the {QUEUED_SLICES} that may" in refused.message
        assert refused.hint
    with signed_in(pool, "writer") as client:
        accepted, refused = 0, None
        for number in range(60):
            try:
                client.submit({**nobody_can, "env": {"A": f"{number:06}" * 16_000, "B": "b" * 100_000}})
                accepted += 1
            except HubError as error:
                refused = error
        assert accepted == 10
        assert (refused.status, refused.code) == (409, "queue_full")
        assert "take 2 MB" in refused.message
        assert refused.hint
    grown = resident_bytes(pool.hub.pid) - before
    assert grown <= HUB_MAY_GROW_BYTES, f"the hub grew by {grown / MB:.0f} MB"
