"""Bugs put in on purpose. Each must be found by the simulation, or the simulation proves nothing."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from computepool.hub.jobs import ending, repository
from computepool.hub.jobs.tables import Attempt, Slice
from computepool.hub.scheduling.leases import LeaseKeeper
from computepool.protocol.states import ATTEMPT_ENDED, JOB_FINAL, AttemptState, JobState


def rescue_overwrites_completion() -> None:
    """The bug of River #1302: giving up an attempt does not look whether it has ended meanwhile."""
    original = ending.end_attempt

    def careless(
        session: Session, attempt_id: str, fence: int, node_id: str, how: Any, now: datetime, facts: Any = None
    ) -> Any:
        if not how.lost:
            return original(session, attempt_id, fence, node_id, how, now, facts)
        row = session.get_one(Attempt, attempt_id)
        session.execute(update(Attempt).where(Attempt.id == attempt_id).values(state="lost", finished_at=now))
        session.execute(
            update(Slice)
            .where(Slice.job_id == row.job_id, Slice.index == row.slice_index)
            .values(state=JobState.QUEUED, finished_at=None)
        )
        requeued = ending.Requeued(row.job_id, row.slice_index, fence, (), None)
        return ending.Ended(ending.Applied.APPLIED, attempt_id, row.job_id, row.slice_index, requeued=requeued)

    ending.end_attempt = careless  # type: ignore[assignment]  # the point of a mutant


def fences_are_not_checked() -> None:
    def move_attempt(
        session: Session, attempt_id: str, fence: int, target: AttemptState, now: datetime, values: Any = None
    ) -> None:
        finished_at = now if target in ATTEMPT_ENDED else None
        session.execute(
            update(Attempt)
            .where(Attempt.id == attempt_id)
            .values(state=target, finished_at=finished_at, **(values or {}))
        )

    def move_slice(
        session: Session, job_id: str, index: int, fence: int, target: JobState, now: datetime, values: Any = None
    ) -> bool:
        finished_at = now if target in JOB_FINAL else None
        session.execute(
            update(Slice)
            .where(Slice.job_id == job_id, Slice.index == index)
            .values(state=target, finished_at=finished_at, **(values or {}))
        )
        return True

    repository.move_attempt = move_attempt
    repository.move_slice = move_slice
    repository.AttemptView.is_current = property(lambda self: True)  # type: ignore[assignment,method-assign]


def silence_is_never_noticed() -> None:
    """A node that is gone keeps its attempts for ever."""

    async def sweep(self: LeaseKeeper) -> None:
        return

    LeaseKeeper.sweep = sweep  # type: ignore[method-assign]  # the point of a mutant


def sleep_of_the_hub_is_everybodys_fault() -> None:
    """Whoever could not be heard while the hub's machine slept is given up when it wakes."""

    def judge_at_once(self: LeaseKeeper) -> None:
        return

    LeaseKeeper._notice_absence = judge_at_once  # type: ignore[method-assign]  # the point of a mutant


MUTANTS: dict[str, Callable[[], None]] = {
    "rescue_overwrites_completion": rescue_overwrites_completion,
    "fences_are_not_checked": fences_are_not_checked,
    "silence_is_never_noticed": silence_is_never_noticed,
    "sleep_of_the_hub_is_everybodys_fault": sleep_of_the_hub_is_everybodys_fault,
}
