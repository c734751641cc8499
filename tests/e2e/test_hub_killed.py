"""The hub is killed with kill -9, or is away for a while: nothing acknowledged is lost, nothing runs or ends twice."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.pool import TINY, Pool, running_pool
from support.proofs import figure

from computepool.client.errors import ClientError
from computepool.client.models import Job
from computepool.client.pool import Pool as Client

pytestmark = pytest.mark.slow

LINES = 25
AT_ONCE = 6


class Renters(threading.Thread):
    """Submits all the time, each job with its own key, and keeps what was acknowledged."""

    def __init__(self, pool: Pool, command: list[str]) -> None:
        super().__init__(daemon=True)
        self._pool = pool
        self._command = command
        self._over = threading.Event()
        self.acknowledged: dict[str, str] = {}
        """Job ids by idempotency key."""
        self.trouble: Exception | None = None

    def run(self) -> None:
        try:
            with Client(home=self._pool.home) as client:
                while not self._over.is_set():
                    key = f"key-{len(self.acknowledged)}"
                    spec = {**TINY, "run": self._command, "env": {"KEY": key}}
                    self.acknowledged[key] = client.submit(spec, idempotency_key=key).id
                    # As many as the machine can do, and a few that wait.
                    while not self._over.is_set() and self._active(client) >= AT_ONCE:
                        time.sleep(0.02)
        except ClientError as error:
            self.trouble = error

    def _active(self, client: Client) -> int:
        return len(client.job_page(states=("queued", "running"), limit=AT_ONCE)[0])

    def stop(self) -> None:
        self._over.set()
        self.join(90)
        assert not self.is_alive()
        assert self.trouble is None, self.trouble


@pytest.fixture(params=["sqlite", "postgresql"])
def killed_pool(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Pool, int]]:
    """A pool, and how often its hub is to be killed."""
    settings, cycles = {}, figure(25, 1000)
    if request.param == "postgresql":
        settings, cycles = {"COMPUTEPOOL_DATABASE_URL": request.getfixturevalue("postgres_url")}, figure(5, 200)
    with running_pool(tmp_path / "pool", settings) as pool:
        yield pool, cycles


@pytest.mark.proof
@pytest.mark.timeout(figure(240, 7200))
def test_nothing_is_lost_or_done_twice_when_the_hub_is_killed_again_and_again(killed_pool):
    pool, cycles = killed_pool
    seed = random.randrange(10**9)
    chance = random.Random(seed)
    # At this level a job can write outside of its folder: each line is a real run of a job that began or ended.
    agent = pool.join_without_bubblewrap("alpha")
    ledger = pool.folder / "ledger.txt"
    script = (
        f'echo "begin $KEY $COMPUTEPOOL_JOB_ID" >>{ledger}; '
        f"i=0; while [ $i -lt {LINES} ]; do echo line $i; i=$((i+1)); sleep 0.01; done; "
        f'echo "end $KEY $COMPUTEPOOL_JOB_ID" >>{ledger}'
    )
    renters = Renters(pool, ["sh", "-c", script])
    renters.start()
    pool.until(lambda: renters.acknowledged, "the first job is submitted")
    busy = 0
    for _ in range(cycles):
        if chance.random() < 0.8:
            pool.until(lambda: agent.link is not None, "the agent is back")
            time.sleep(chance.uniform(0, 0.8))
        else:
            # Not even up again.
            time.sleep(chance.uniform(0, 0.5))
        status = agent.status()
        busy += bool(status and status["attempts"])
        pool.kill_hub()
        pool.start_hub(wait=False)
    pool.hub.wait_for("web ")
    renters.stop()

    acknowledged = renters.acknowledged
    jobs = {job_id: pool.until_state(job_id, "succeeded") for job_id in acknowledged.values()}
    story = f"seed {seed}, {len(jobs)} jobs, {cycles} kills"
    assert len(jobs) == len(acknowledged) > cycles // 2, story
    # Few kills are decided by chance; of many, a third meets a running job.
    assert busy > (cycles // 3 if cycles >= 10 else 0), f"only {busy} kills met a running job, {story}"
    assert {item.id for item in pool.client.jobs(limit=100_000)} == set(jobs), story
    _check_ledger(ledger, acknowledged, story)
    whole = b"".join(b"line %d\n" % number for number in range(LINES))
    for job in jobs.values():
        _check_ended_once(job, story)
        assert pool.log_of(job.id) == whole, f"{job.id}, {story}"


def _check_ledger(ledger: Path, acknowledged: dict[str, str], story: str) -> None:
    """The agent was well all the time, so every job ran exactly once, whatever happened to the hub."""
    runs = Counter(ledger.read_text().splitlines())
    expected = Counter(
        f"{moment} {key} {job_id}" for key, job_id in acknowledged.items() for moment in ("begin", "end")
    )
    assert runs == expected, f"{runs - expected} too much, {expected - runs} too little, {story}"


def _check_ended_once(job: Job, story: str) -> None:
    ends = [attempt.state for attempt in job.slices[0].attempts]
    assert ends.count("succeeded") == 1, f"{job.id}: {ends}, {story}"
    assert ends[-1] == "succeeded", f"{job.id}: {ends}, {story}"


@pytest.mark.proof
@pytest.mark.timeout(figure(120, 300))
@pytest.mark.engine("bwrap")
def test_job_and_its_reader_go_on_while_the_hub_is_away(pool, tmp_path):
    absence = figure(8.0, 60.0)
    agent = pool.join("alpha")
    ticks = int((absence + 4) / 0.05)
    script = f"i=0; while [ $i -lt {ticks} ]; do echo tick $i; i=$((i+1)); sleep 0.05; done"
    job = pool.submit("sh", "-c", script)
    read = tmp_path / "read.txt"
    reader = pool.begin("logs", "-f", job.id, output=read)
    pool.until(lambda: read.exists() and b"tick 5\n" in read.read_bytes(), "the reader reads")

    pool.kill_hub()
    time.sleep(absence)
    status = agent.status()
    assert status is not None
    assert [attempt["state"] for attempt in status["attempts"]] == ["running"]
    pool.start_hub()

    ended = pool.until_state(job.id, "succeeded", seconds=absence * 2 + 60)
    (attempt,) = ended.slices[0].attempts
    assert (attempt.number, attempt.state) == (1, "succeeded")
    whole = b"".join(b"tick %d\n" % number for number in range(ticks))
    assert pool.log_of(job.id) == whole
    assert reader.wait(30) == 0, reader.said()
    assert read.read_bytes() == whole
    assert "The hub is away" in reader.shown
