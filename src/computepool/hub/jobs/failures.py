"""Which slices of a job did not succeed, and how, however many there are: those that ended alike together."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from computepool.hub.jobs.tables import Slice
from computepool.protocol.model import Documented
from computepool.protocol.spec import MAX_SLICES
from computepool.protocol.state_words import EndedBy
from computepool.protocol.states import JobState, Verdict

_ENDED = (
    select(Slice.index, Slice.state, Slice.verdict, Slice.reason, Slice.exit_code)
    .where(Slice.job_id == bindparam("job_id"), Slice.state.in_([JobState.FAILED, JobState.CANCELED]))
    .order_by(Slice.index)
    .limit(MAX_SLICES)
)


class FailedSlices(Documented):
    """Slices that ended in one way."""

    state: JobState
    verdict: Verdict | None
    reason: EndedBy | None
    exit_code: int | None
    count: int
    slices: str
    """Their numbers, such as `0-3, 17`."""


def list_failed(session: Session, job_id: str) -> list[FailedSlices]:
    """The largest group first."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for index, *end in session.connection().execute(_ENDED, {"job_id": job_id}):
        groups.setdefault(tuple(end), []).append(index)
    found = [
        FailedSlices(state=state, verdict=verdict, reason=reason, exit_code=code, count=len(some), slices=ranges(some))
        for (state, verdict, reason, code), some in groups.items()
    ]
    return sorted(found, key=lambda group: -group.count)


def ranges(numbers: Iterable[int]) -> str:
    """`0-3, 17` of numbers in order."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)
