"""What jobs know of verification: which of them run for the sake of others, and what waits for others to confirm it.

Whether results agree, and what follows if they do not, is decided above (`trust`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any, cast

from sqlalchemy import Row, Table, bindparam, select
from sqlalchemy.orm import Session

from computepool.hub.jobs.brief import JobBrief
from computepool.hub.jobs.tables import Attempt, Job, Slice
from computepool.hub.market.standing import Standing
from computepool.protocol.receipt import CONTINUE_LATER, EndReason
from computepool.protocol.states import ATTEMPT_LIVE, JOB_FINAL, JobState, Verdict

_SLICES = cast(Table, Slice.__table__)
_AWAIT = _SLICES.update().where(
    _SLICES.c.job_id == bindparam("for_job_id"),
    _SLICES.c.index == bindparam("for_index"),
    _SLICES.c.fence == bindparam("for_fence"),
    _SLICES.c.state == JobState.RUNNING,
    _SLICES.c.awaits_check.is_(False),
)


class Role(StrEnum):
    """What a job has to do with verification; most have nothing."""

    AUDITED = "audited"
    """Declared deterministic: its results may be audited."""
    REPLICATED = "replicated"
    """Its results count when its replicas agree."""
    REPLICA = "replica"
    """Hidden: runs the slices of another once more, for the same renter."""
    AUDIT = "audit"
    """Hidden: runs one slice of another once more, for the platform."""
    CANARY = "canary"
    """Hidden: its right result is known, and it runs to see whether a node gives it."""


@dataclass(frozen=True, slots=True)
class Consequences:
    """What else the end of an attempt changed, as the scheduler's memory has to know it."""

    reruns: tuple[tuple[JobBrief, tuple[int, ...]], ...] = ()
    """Jobs that are to be run now, and which of their slices."""
    finals: tuple[str, ...] = ()
    """Other jobs that ended with it."""
    needless: tuple[tuple[str, int], ...] = ()
    """Slices of others that need not run any more."""
    stops: tuple[tuple[str, str, int], ...] = ()
    """(node, attempt, fence) that need not go on."""
    standings: tuple[tuple[str, Standing], ...] = ()
    banned: tuple[str, ...] = ()
    decided: tuple[str, int] | None = None
    """The replicated slice whose result is known now."""
    unspent: tuple[tuple[str, date, int], ...] = ()
    """(renter, day, micros) that count as not spent after all: it was given back."""


NOTHING_ELSE = Consequences()


def is_result(reason: str, exit_code: int | None) -> bool:
    """The command ended by itself, well or not: a second run of it must end so as well.

    A failure counts too: a node that says "exit code 1" without having run anything is paid for the time.
    """
    return reason == EndReason.EXITED and exit_code is not None and exit_code != CONTINUE_LATER


def await_others(session: Session, job_id: str, index: int, fence: int, values: Mapping[str, Any]) -> bool:
    """It has a result, which counts when others confirm it: until then the slice is not over."""
    key = {"for_job_id": job_id, "for_index": index, "for_fence": fence}
    return session.connection().execute(_AWAIT, {**key, "awaits_check": True, **values}).rowcount == 1


def cancel_awaiting(session: Session, job_id: str, now: datetime) -> int:
    """Nobody waits for the others any more; how many slices."""
    awaiting = _SLICES.update().where(_SLICES.c.job_id == job_id, _SLICES.c.awaits_check.is_(True))
    values = {"state": JobState.CANCELED, "finished_at": now, "verdict": Verdict.RENTER, "reason": "canceled"}
    return session.connection().execute(awaiting.values(**values, awaits_check=False)).rowcount


def list_open_replicas(session: Session, job_id: str) -> list[Job]:
    """The hidden jobs that run a replicated one's slices again, and are not over."""
    query = select(Job).where(Job.rerun_of == job_id, Job.role == Role.REPLICA, Job.state.not_in(sorted(JOB_FINAL)))
    return list(session.scalars(query.order_by(Job.id)))


def list_live_of_slice(session: Session, job_id: str, index: int) -> list[Row[str, str, int]]:
    """(node, attempt, fence)."""
    query = select(Attempt.node_id, Attempt.id, Attempt.fence).where(
        Attempt.job_id == job_id, Attempt.slice_index == index, Attempt.state.in_(sorted(ATTEMPT_LIVE))
    )
    return list(session.execute(query))
