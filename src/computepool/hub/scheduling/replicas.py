"""Where the replicas of a slice are: each at another owner's, all on GPUs of one kind.

Whoever is placed first decides on the kind. A replica that has answered stays where it was until the slice is decided;
one that was lost may go anywhere again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from computepool.hub.jobs.brief import JobBrief, of_class
from computepool.hub.jobs.verification import Role
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet_node import FleetNode
from computepool.hub.scheduling.queue import Queue, Waiting

TOGETHER = frozenset({Role.REPLICATED, Role.REPLICA})


@dataclass(frozen=True, slots=True)
class Seat:
    attempt_id: str
    owner_id: str
    gpu_class: str | None


class Replicas:
    def __init__(self) -> None:
        self._seats: dict[str, dict[int, dict[str, Seat]]] = {}
        """By the job whose result it is, by slice, by the job that runs it."""

    def seat(self, brief: JobBrief, index: int, seat: Seat) -> None:
        if brief.role in TOGETHER:
            self.take(brief.root, index, brief.job_id, seat)

    def take(self, root: str, index: int, job_id: str, seat: Seat) -> None:
        self._seats.setdefault(root, {}).setdefault(index, {})[job_id] = seat

    def leave(self, brief: JobBrief | None, index: int, attempt_id: str) -> None:
        """It ended without an answer, or never began."""
        if brief is None or brief.role not in TOGETHER:
            return
        seats = self._seats.get(brief.root, {}).get(index, {})
        known = seats.get(brief.job_id)
        if known is not None and known.attempt_id == attempt_id:
            del seats[brief.job_id]

    def decided(self, job_id: str, index: int) -> None:
        self._seats.get(job_id, {}).pop(index, None)

    def forget(self, job_id: str) -> None:
        self._seats.pop(job_id, None)

    def list_waiting(self, queue: Queue, brief: JobBrief) -> list[Waiting]:
        """The slices of a job that have no node, and their replicas', with all that they have to keep to."""
        jobs = [brief.job_id]
        if brief.role == Role.REPLICATED:
            jobs += sorted({one.brief.job_id for one in queue if one.brief.rerun_of == brief.job_id})
        found = (queue.get((job_id, index)) for job_id in jobs for index in range(brief.slices))
        waiting = [one for one in found if one is not None]
        for place, one in enumerate(waiting):
            needs = self.narrowed(one, one.brief.requirements)
            if needs is not one.brief.requirements:
                waiting[place] = replace(one, brief=replace(one.brief, requirements=needs))
        return waiting

    def narrowed(self, waiting: Waiting, needs: Requirements) -> Requirements:
        """What it needs, given where the others are."""
        brief = waiting.brief
        if brief.role not in TOGETHER:
            return needs
        seats = self._seats.get(brief.root, {}).get(waiting.slice_index, {})
        others = [seat for job_id, seat in seats.items() if job_id != brief.job_id]
        if not others:
            return needs
        owners = needs.not_owners | {seat.owner_id for seat in others}
        return replace(needs, not_owners=owners, gpu=of_class(needs.gpu, others[0].gpu_class))


def gpu_class_on(node: FleetNode, granted: Iterable[str]) -> str | None:
    """The model of the GPUs that an attempt was given there; None for a CPU."""
    ids = frozenset(granted)
    return next((gpu.slug for gpu in node.traits.gpus if gpu.id in ids), None)
