"""What verification decided, carried into the scheduler's memory after its commit."""

from collections.abc import Callable
from dataclasses import dataclass

from computepool.hub.jobs.verification import Consequences
from computepool.hub.scheduling.fleet import Fleet
from computepool.hub.scheduling.limits import LimitBook, Spent
from computepool.hub.scheduling.open_jobs import OpenJobs
from computepool.hub.scheduling.queue import Queue, Waiting
from computepool.hub.scheduling.replicas import Replicas
from computepool.hub.scheduling.standings import Standings

NOT_NEEDED = "canceled"
"""The word in which a node hears that nobody waits for it; every agent knows it."""


@dataclass
class Following:
    fleet: Fleet
    queue: Queue
    briefs: OpenJobs
    replicas: Replicas
    standings: Standings
    limits: LimitBook
    banned: Callable[[str], None] = lambda node_id: None
    """Told of every node that was banned for what was found."""

    def follow(self, after: Consequences, tick: float) -> None:
        """`tick` is the elapsed clock's."""
        for brief, indices in after.reruns:
            self.briefs[brief.job_id] = brief
            for index in indices:
                self.queue.add(Waiting(brief, index, fence=0, attempts=0, waits_since=tick))
        for key in after.needless:
            self.queue.remove(key)
        for node_id, attempt_id, fence in after.stops:
            self._stop(node_id, attempt_id, fence, tick)
        for node_id, standing in after.standings:
            self.standings.put(node_id, standing)
        self.limits.spend(Spent(owner_id, day, -micros) for owner_id, day, micros in after.unspent)
        if after.decided is not None:
            self.replicas.decided(*after.decided)
        for job_id in after.finals:
            self.briefs.pop(job_id, None)
            self.replicas.forget(job_id)
        for node_id in after.banned:
            self.banned(node_id)

    def _stop(self, node_id: str, attempt_id: str, fence: int, tick: float) -> None:
        node = self.fleet.get(node_id)
        held = node.attempts.get(attempt_id) if node is not None else None
        if node is not None and held is not None:
            held.stopped_at = tick
            if node.line is not None:
                node.line.stop(attempt_id, fence, NOT_NEEDED)
