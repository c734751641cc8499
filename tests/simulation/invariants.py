"""What must hold after every commit, and what must have come true at the end."""

import asyncio
import sqlite3
from typing import TYPE_CHECKING

from simulation.jobs import log_of
from simulation.money import Money
from simulation.placing import FOUND_WRONG, Placing
from simulation.running import AWAKE_SECONDS, COLUMNS, Row, Running

from computepool.hub.market.requirements import MILLI
from computepool.protocol.states import ATTEMPT_LIVE, JOB_FINAL
from computepool.protocol.timing import REQUEUE_AFTER_SECONDS

if TYPE_CHECKING:
    from simulation.world import World

STUCK_AFTER_SECONDS = 150.0
"""A dead agent's job is requeued within this (promise 13)."""
OWN = b"[computepool] fetching checkpoint "
DECIDED = frozenset({"succeeded", "failed", "canceled"})


class Violated(AssertionError):
    """A promise was broken; the text says which, and by whom."""


class Watch:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._final: dict[tuple[str, int], str] = {}
        self._final_jobs: dict[str, str] = {}
        self._ended: dict[str, str] = {}
        self._db = sqlite3.connect(world.database, isolation_level=None)
        """Only looks. Straight at the file: this is done after every commit."""
        self.lost: set[str] = set()
        """Attempts that were ever given up."""
        self._violations: list[str] = []
        self.broken: asyncio.Future[None] = world.loop.create_future()
        self._running = Running(world, self._blame)
        self.drains = self._running.drains
        self._placing = Placing(world, self._db, self._blame)
        self.hub_started = self._placing.watch
        self.money = Money(world, self._db, self._blame)

    def _blame(self, what: str) -> None:
        """Whoever is interrupted by this may well go on: it is not forgotten."""
        self._violations.append(what)
        if not self.broken.done():
            self.broken.set_result(None)
        raise Violated(what)

    def raise_if_violated(self) -> None:
        if self._violations:
            raise Violated(self._violations[0])

    def look(self) -> None:
        """Every few seconds."""
        self.raise_if_violated()
        self._running.look()
        self._placing.look()
        self.check_stuck()

    def woke_up(self) -> None:
        """A machine: once its agent has had the time to look at its leases, nothing of it may run that must not."""
        self._world.loop.call_later(AWAKE_SECONDS + 0.01, self._running.look)

    def check_commit(self) -> None:
        self.raise_if_violated()
        self._check_slices()
        self._check_attempts()
        self._check_jobs()
        self._placing.check_prices()
        self.money.check_commit()

    def _check_slices(self) -> None:
        for job_id, index, state in self._db.execute('SELECT job_id, "index", state FROM slices'):
            known = self._final.get((job_id, index))
            if known is not None and known != state:
                self._blame(f"slice {index} of {job_id} was {known}, final, and became {state}")
            if state in JOB_FINAL:
                self._final[job_id, index] = state

    def _check_attempts(self) -> None:
        live: dict[tuple[str, int], str] = {}
        paid: dict[tuple[str, int], str] = {}
        rows = [Row(*each) for each in self._db.execute(f"SELECT {COLUMNS} FROM attempts ORDER BY rowid")]
        for row in rows:
            attempt_id, place, state, verdict = row.attempt_id, row.place, row.state, row.verdict
            if state in ATTEMPT_LIVE:
                if place in live:
                    self._blame(f"two live attempts of {place}: {live[place]}, {attempt_id}")
                live[place] = attempt_id
            if verdict == "ok":
                if place in paid:
                    self._blame(f"{place} succeeded twice: {paid[place]}, {attempt_id}")
                paid[place] = attempt_id
            if state == "lost":
                self.lost.add(attempt_id)
            known = self._ended.get(attempt_id)
            if known is not None and known != state and row.reason not in FOUND_WRONG:
                self._blame(f"{attempt_id} was {known}, decided, and became {state}")
            if state in DECIDED:
                self._ended[attempt_id] = state
        self._running.check(self._db, rows)

    def _check_jobs(self) -> None:
        for job_id, state, left in self._db.execute("SELECT id, state, slices_left FROM jobs"):
            known = self._final_jobs.get(job_id)
            if known is not None and known != state:
                self._blame(f"{job_id} was {known}, final, and became {state}")
            if state in JOB_FINAL:
                self._final_jobs[job_id] = state
                if left:
                    self._blame(f"{job_id} is {state} with {left} slices left")

    def count_jobs(self, condition: str = "1 = 1") -> int:
        return int(self._db.execute(f"SELECT count(*) FROM jobs WHERE {condition}").fetchone()[0])

    def count_open_jobs(self) -> int:
        return self.count_jobs("finished_at IS NULL")

    async def check_end(self) -> None:
        """The troubles are over and time has passed: every promise must have come true."""
        world = self._world
        if len(set(world.acknowledged.values())) != world.plan.jobs:
            self._blame(f"{world.plan.jobs} submissions gave {len(set(world.acknowledged.values()))} jobs")
        if self.count_jobs("rerun_of IS NULL") != world.plan.jobs:
            self._blame(f"{world.plan.jobs} submissions left {self.count_jobs()} jobs in the database")
        for key, job_id in world.acknowledged.items():
            job = await world.show(key)
            if job is None:
                raise Violated(f"{key} was acknowledged as {job_id}, which is not there")
            if job.state not in JOB_FINAL:
                self._blame(f"{job_id} is stuck: {job.state}, slices {[one.state for one in job.slices]}")
        for attempt_id, times in world.ledger.started.items():
            if times > 1:
                self._blame(f"{attempt_id} was started {times} times")
        await self._check_logs()
        self._check_memory()
        self._check_answers()
        self._placing.check_end()
        self.money.check_end(self._placing.prices)

    async def _check_logs(self) -> None:
        """A job is final only when its log is whole: to the byte."""
        world = self._world
        assert world.hub is not None
        rows = self._db.execute(
            "SELECT a.id, a.log_bytes, json_extract(j.spec, '$.run[3]') FROM attempts a "
            "JOIN jobs j ON j.id = a.job_id WHERE a.verdict = 'ok'"
        ).fetchall()
        for attempt_id, log_bytes, expected in rows:
            data = await world.hub.logs.read(attempt_id, 0)
            own, said = data.removesuffix(log_of(attempt_id, int(expected))), len(data) - int(expected)
            # What the agent said before is of what it fetched: the checkpoint.
            if len(data) != log_bytes or len(own) != said or any(not line.startswith(OWN) for line in own.splitlines()):
                self._blame(f"the log of {attempt_id}, {log_bytes} bytes, is not what it printed")

    def _check_answers(self) -> None:
        """Of those that compare results: a wrong one never counts, and nobody is blamed for a right one."""
        query = (
            "SELECT coalesce(s.result_attempt, (SELECT a.id FROM attempts a WHERE a.job_id = s.job_id AND "
            'a.slice_index = s."index" AND a.fence = s.fence)) FROM slices s JOIN jobs j ON j.id = s.job_id '
            "WHERE j.role = 'replicated' AND s.state = 'succeeded'"
        )
        for (attempt_id,) in self._db.execute(query):
            self._world.ledger.seen["confirmed"] += 1
            if attempt_id in self._world.ledger.forged:
                self._blame(f"the answer of {attempt_id} counts, which was made up")
        for attempt_id, reason in self._db.execute("SELECT id, reason FROM attempts WHERE verdict = 'host'"):
            if reason in FOUND_WRONG:
                self._world.ledger.seen["found_out"] += 1
                if attempt_id not in self._world.ledger.forged:
                    self._blame(f"{attempt_id} was right, and its node is blamed for {reason}")

    def _check_memory(self) -> None:
        """The fleet in memory is what the truth says: nothing is held, nothing waits."""
        world = self._world
        assert world.hub is not None
        if len(world.hub.scheduler.queue):
            self._blame(f"{len(world.hub.scheduler.queue)} slices wait in memory, none in the database")
        for node in world.hub.scheduler.fleet:
            if node.attempts or node.free.cpu_millis != round(node.capacity.cpus * MILLI):
                self._blame(f"{node.name} holds {list(node.attempts)} in memory, {node.free.cpu_millis} millis free")

    def check_stuck(self) -> None:
        """No attempt stays with a node that has been gone for longer than promised, while the hub was up."""
        world = self._world
        if world.hub is None or world.hub_sleeps:
            return
        now = world.loop.time()
        for node in world.hub.scheduler.fleet:
            for held in node.attempts.values():
                silent = now - max(held.renewed_at, world.hub_up_since)
                if silent > max(STUCK_AFTER_SECONDS, REQUEUE_AFTER_SECONDS):
                    self._blame(f"{held.attempt_id} on {node.name} was not renewed for {silent:.0f} s")
