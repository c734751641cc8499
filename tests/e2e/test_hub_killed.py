"""The hub is killed with kill -9, or is away for a while: nothing acknowledged is lost, nothing runs or ends twice."""

import itertools
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.children import processes_with
from support.pool import TINY, Agent, Pool, patient, running_pool
from support.proofs import figure
from support.waiting import patience

from computepool.client.errors import ClientError
from computepool.client.models import Job
from computepool.client.pool import Pool as Client
from computepool.protocol.units import MICROS_PER_CREDIT

pytestmark = pytest.mark.slow

LINES = 25
LINE_SECONDS = 0.01
AT_ONCE = 6


class Renters(threading.Thread):
    """Submits all the time, each job with its own key, and keeps what was acknowledged. With each, the operator gives
    somebody a credit: on one's own machine jobs cost nothing, and the ledger should have something to lose."""

    def __init__(self, pool: Pool, command: list[str]) -> None:
        super().__init__(daemon=True)
        self._pool = pool
        self._command = command
        self._over = threading.Event()
        self.acknowledged: dict[str, str] = {}
        """Job ids by idempotency key."""
        self.granted = 0
        """Credits, as far as the hub said so."""
        self.trouble: Exception | None = None

    def run(self) -> None:
        try:
            with patient(Client(home=self._pool.home)) as client:
                user = client.me().id
                while not self._over.is_set():
                    key = f"key-{len(self.acknowledged)}"
                    spec = {**TINY, "run": self._command, "env": {"KEY": key}}
                    self.acknowledged[key] = client.submit(spec, idempotency_key=key).id
                    client.wallet.grant(user, "1", key, idempotency_key=f"grant-{key}")
                    self.granted += 1
                    # As many as the machine can do, and a few that wait.
                    while not self._over.is_set() and self._active(client) >= AT_ONCE:
                        time.sleep(0.02)
        except ClientError as error:
            self.trouble = error

    def _active(self, client: Client) -> int:
        return len(client.job_page(states=("queued", "running"), limit=AT_ONCE)[0])

    def stop(self) -> None:
        self._over.set()
        self.join(patience())
        assert not self.is_alive()
        assert self.trouble is None, self.trouble


@pytest.fixture(params=["sqlite", "services"])
def killed_pool(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Pool, int]]:
    """A pool on SQLite and local disk, or on PostgreSQL and S3, and how often its hub is to be killed."""
    settings, cycles = {}, figure(3, 1000)
    if request.param == "services":
        s3 = request.getfixturevalue("s3")
        settings = {
            "COMPUTEPOOL_DATABASE_URL": request.getfixturevalue("postgres_url"),
            "COMPUTEPOOL_STORAGE_URL": f"s3://{s3.bucket}",
            **s3.environment(),
        }
        cycles = figure(3, 200)
    with running_pool(tmp_path / "pool", settings) as pool:
        yield pool, cycles


class Moments:
    """When to kill the hub: in turn at each moment that matters, and a little later by chance."""

    def __init__(self, pool: Pool, agent: Agent, renters: Renters, chance: random.Random) -> None:
        self._pool, self._agent, self._renters, self._chance = pool, agent, renters, chance
        self._turns = itertools.cycle((self._while_a_job_runs, self._after_a_submit, self._before_it_is_up))
        self.met: Counter[str] = Counter()

    def wait_for_the_next(self) -> None:
        next(self._turns)()

    def _while_a_job_runs(self) -> None:
        def runs() -> bool:
            status = self._agent.status()
            # With a line: a job that goes on while the hub is away is not what was waited for.
            return bool(status and status["link"] and any(a["state"] == "running" for a in status["attempts"]))

        self._pool.until(runs, "a job runs")
        time.sleep(self._chance.uniform(0, LINES * LINE_SECONDS))
        self._pool.until(runs, "a job runs")
        self.met["running"] += 1

    def _after_a_submit(self) -> None:
        before = len(self._renters.acknowledged)
        self._pool.until(lambda: len(self._renters.acknowledged) > before, "a submit is acknowledged")
        self.met["acknowledged"] += 1
        # From the very moment of the answer to the end of what it asked for.
        time.sleep(self._chance.choice((0.0, 0.005, 0.02, 0.1, 0.3)))

    def _before_it_is_up(self) -> None:
        time.sleep(self._chance.uniform(0, 0.5))
        self.met["early"] += "web " not in self._pool.hub.shown if self._pool.hub else 0


@pytest.mark.proof
def test_nothing_is_lost_or_done_twice_when_the_hub_is_killed_again_and_again(killed_pool):
    pool, cycles = killed_pool
    seed = random.randrange(10**9)
    # At this level a job can write outside of its folder: each line is a real run of a job that began or ended.
    agent = pool.join_without_bubblewrap("alpha")
    ledger = pool.folder / "ledger.txt"
    script = (
        f'echo "begin $KEY $COMPUTEPOOL_JOB_ID" >>{ledger}; '
        f"i=0; while [ $i -lt {LINES} ]; do echo line $i; i=$((i+1)); sleep {LINE_SECONDS}; done; "
        f'echo "end $KEY $COMPUTEPOOL_JOB_ID" >>{ledger}'
    )
    renters = Renters(pool, ["sh", "-c", script])
    renters.start()
    moments = Moments(pool, agent, renters, random.Random(seed))
    for _ in range(cycles):
        moments.wait_for_the_next()
        pool.kill_hub()
        pool.start_hub(wait=False)
    pool.hub.wait_for("web ")
    pool.until(lambda: len(renters.acknowledged) > cycles // 2, "a submit for every second kill")
    renters.stop()

    acknowledged = renters.acknowledged
    jobs = {job_id: pool.until_state(job_id, "succeeded") for job_id in acknowledged.values()}
    story = f"seed {seed}, {len(jobs)} jobs, {cycles} kills, of which {dict(moments.met)}"
    assert len(jobs) == len(acknowledged), story
    assert moments.met["running"] >= cycles // 3, f"too few kills met a running job: {story}"
    assert moments.met["acknowledged"] >= cycles // 3, story
    assert {item.id for item in pool.client.jobs(limit=100_000)} == set(jobs), story
    _check_ledger(ledger, acknowledged, story)
    _check_money(pool, renters.granted, story)
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


def _check_money(pool: Pool, granted: int, story: str) -> None:
    report = pool.cli("admin", "ledger", "check", "--json").expect(0).json
    assert report["balanced"], f"{report['problems']}, {story}"
    assert granted > 0, story
    assert report["platform"]["clearing"] == -granted * MICROS_PER_CREDIT, f"each grant once: {granted}, {story}"


def _check_ended_once(job: Job, story: str) -> None:
    ends = [attempt.state for attempt in job.slices[0].attempts]
    assert ends.count("succeeded") == 1, f"{job.id}: {ends}, {story}"
    assert ends[-1] == "succeeded", f"{job.id}: {ends}, {story}"


@pytest.mark.proof
@pytest.mark.engine("bwrap")
def test_job_and_its_reader_go_on_while_the_hub_is_away(pool, tmp_path):
    absence = figure(2.0, 60.0)
    agent = pool.join("alpha")
    mark = f"tick-{agent.pid}"
    script = f"trap 'over=1' USR1; i=0; while [ -z \"$over\" ]; do echo {mark} $i; i=$((i+1)); sleep 0.05; done"
    job = pool.submit("sh", "-c", script)
    read = tmp_path / "read.txt"
    reader = pool.begin("logs", "-f", job.id, output=read)
    pool.until(lambda: read.exists() and f"{mark} 5\n".encode() in read.read_bytes(), "the reader reads")

    pool.kill_hub()
    time.sleep(absence)
    pool.until(lambda: "The hub does not answer" in reader.shown, "the reader tells that the hub is away")
    status = agent.status()
    assert status is not None
    assert [attempt["state"] for attempt in status["attempts"]] == ["running"]
    pool.start_hub()
    for pid, command in processes_with([mark]).items():
        if command.startswith("sh -c"):
            os.kill(pid, signal.SIGUSR1)

    ended = pool.until_state(job.id, "succeeded")
    (attempt,) = ended.slices[0].attempts
    assert (attempt.number, attempt.state) == (1, "succeeded")
    whole = pool.log_of(job.id)
    lines = whole.decode().splitlines()
    assert lines == [f"{mark} {number}" for number in range(len(lines))]
    assert reader.wait() == 0, reader.said()
    assert read.read_bytes() == whole
