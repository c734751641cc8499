"""What must hold after every commit, and what must have come true at the end."""

from typing import TYPE_CHECKING

from simulation.parts import log_of
from sqlalchemy import Connection, make_url, text

from computepool.hub.core.db import durable_sqlite_engine
from computepool.hub.market.requirements import MILLI
from computepool.protocol.states import ATTEMPT_LIVE, JOB_FINAL
from computepool.protocol.timing import REQUEUE_AFTER_SECONDS

if TYPE_CHECKING:
    from simulation.world import World

STUCK_AFTER_SECONDS = 150.0
"""A dead agent's job is requeued within this (promise 13)."""
DECIDED = frozenset({"succeeded", "failed", "canceled"})


class Violated(AssertionError):
    """A promise was broken; the text says which, and by whom."""


class Watch:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._final: dict[tuple[str, int], str] = {}
        self._final_jobs: dict[str, str] = {}
        self._ended: dict[str, str] = {}
        self._engine = durable_sqlite_engine(make_url(f"sqlite:///{world.database}"))
        self.lost: set[str] = set()
        """Attempts that were ever given up."""

    def check_commit(self) -> None:
        with self._engine.connect().execution_options(only_looks=True) as connection:
            self._check_slices(connection)
            self._check_attempts(connection)
            self._check_jobs(connection)

    def _check_slices(self, connection: Connection) -> None:
        for job_id, index, state in connection.execute(text('SELECT job_id, "index", state FROM slices')):
            known = self._final.get((job_id, index))
            if known is not None and known != state:
                raise Violated(f"slice {index} of {job_id} was {known}, final, and became {state}")
            if state in JOB_FINAL:
                self._final[job_id, index] = state

    def _check_attempts(self, connection: Connection) -> None:
        live: dict[tuple[str, int], str] = {}
        paid: dict[tuple[str, int], str] = {}
        rows = connection.execute(text("SELECT id, job_id, slice_index, state, verdict FROM attempts"))
        for attempt_id, job_id, index, state, verdict in rows:
            place = (job_id, index)
            if state in ATTEMPT_LIVE:
                if place in live:
                    raise Violated(f"two live attempts of slice {index} of {job_id}: {live[place]}, {attempt_id}")
                live[place] = attempt_id
            if verdict == "ok":
                if place in paid:
                    raise Violated(f"slice {index} of {job_id} succeeded twice: {paid[place]}, {attempt_id}")
                paid[place] = attempt_id
            if state == "lost":
                self.lost.add(attempt_id)
            known = self._ended.get(attempt_id)
            if known is not None and known != state:
                raise Violated(f"{attempt_id} was {known}, decided, and became {state}")
            if state in DECIDED:
                self._ended[attempt_id] = state

    def _check_jobs(self, connection: Connection) -> None:
        for job_id, state, left in connection.execute(text("SELECT id, state, slices_left FROM jobs")):
            known = self._final_jobs.get(job_id)
            if known is not None and known != state:
                raise Violated(f"{job_id} was {known}, final, and became {state}")
            if state in JOB_FINAL:
                self._final_jobs[job_id] = state
                if left:
                    raise Violated(f"{job_id} is {state} with {left} slices left")

    def count_jobs(self, condition: str = "1 = 1") -> int:
        with self._engine.connect().execution_options(only_looks=True) as connection:
            return int(connection.execute(text(f"SELECT count(*) FROM jobs WHERE {condition}")).scalar_one())

    def count_open_jobs(self) -> int:
        return self.count_jobs("finished_at IS NULL")

    async def check_end(self) -> None:
        """The troubles are over and time has passed: every promise must have come true."""
        world = self._world
        if len(set(world.acknowledged.values())) != world.plan.jobs:
            raise Violated(f"{world.plan.jobs} submissions gave {len(set(world.acknowledged.values()))} jobs")
        if self.count_jobs() != world.plan.jobs:
            raise Violated(f"{world.plan.jobs} submissions left {self.count_jobs()} jobs in the database")
        for key, job_id in world.acknowledged.items():
            job = await world.show(job_id)
            if job is None:
                raise Violated(f"{key} was acknowledged as {job_id}, which is not there")
            if job.state not in JOB_FINAL:
                raise Violated(f"{job_id} is stuck: {job.state}, slices {[one.state for one in job.slices]}")
        for attempt_id, times in world.ledger.started.items():
            if times > 1:
                raise Violated(f"{attempt_id} was started {times} times")
        await self._check_logs()
        self._check_memory()

    async def _check_logs(self) -> None:
        """A job is final only when its log is whole: to the byte."""
        world = self._world
        assert world.hub is not None
        with self._engine.connect().execution_options(only_looks=True) as connection:
            rows = connection.execute(
                text(
                    "SELECT a.id, a.log_bytes, json_extract(j.spec, '$.run[3]') FROM attempts a "
                    "JOIN jobs j ON j.id = a.job_id WHERE a.verdict = 'ok'"
                )
            ).all()
        for attempt_id, log_bytes, expected in rows:
            if log_bytes != int(expected):
                raise Violated(f"{attempt_id} succeeded with {log_bytes} of {expected} log bytes")
            data = await world.hub.logs.read(attempt_id, 0)
            if data != log_of(attempt_id, int(expected)):
                raise Violated(f"the log of {attempt_id} is not what it printed")

    def _check_memory(self) -> None:
        """The fleet in memory is what the truth says: nothing is held, nothing waits."""
        world = self._world
        assert world.hub is not None
        if len(world.hub.scheduler.queue):
            raise Violated(f"{len(world.hub.scheduler.queue)} slices wait in memory, none in the database")
        for node in world.hub.scheduler.fleet:
            if node.attempts or node.free.cpu_millis != round(node.capacity.cpus * MILLI):
                raise Violated(f"{node.name} holds {list(node.attempts)} in memory, {node.free.cpu_millis} millis free")

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
                    raise Violated(f"{held.attempt_id} on {node.name} was not renewed for {silent:.0f} s")
