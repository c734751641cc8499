"""All slices of a job at a glance: one letter each, however many there are."""

from collections import Counter

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from computepool.hub.core.http import Principal
from computepool.hub.jobs.failures import ranges
from computepool.hub.jobs.queries import load_job
from computepool.hub.jobs.tables import Slice
from computepool.protocol.model import Documented
from computepool.protocol.spec import MAX_SLICES
from computepool.protocol.states import JobState

LEGEND = {
    "q": (JobState.QUEUED, "waits for a node"),
    "w": (JobState.QUEUED, "waits for another attempt"),
    "r": (JobState.RUNNING, "has a node"),
    "v": (JobState.RUNNING, "has a result that others check"),
    "s": (JobState.SUCCEEDED, "succeeded"),
    "f": (JobState.FAILED, "failed"),
    "x": (JobState.CANCELED, "canceled"),
}
_FINAL = {JobState.SUCCEEDED: "s", JobState.FAILED: "f", JobState.CANCELED: "x"}
_SLICES = (
    select(Slice.state, Slice.attempts, Slice.awaits_check)
    .where(Slice.job_id == bindparam("job_id"))
    .order_by(Slice.index)
    .limit(MAX_SLICES)
)


class GridKey(Documented):
    """What a letter of the grid means."""

    letter: str
    """As it stands in `slices`."""
    state: JobState
    label: str
    """In words."""
    count: int
    """How many slices have this letter."""


class SliceGrid(Documented):
    job_id: str
    state: JobState
    """Of the job."""
    slices: str
    """One letter for each slice, in order."""
    indices: str | None
    """Which slices these are, such as `0-3, 17`, if not all from 0 on: a retry runs some of them."""
    legend: list[GridKey]
    """Every letter that there can be, also those that no slice has."""


def show_grid(session: Session, principal: Principal, job_id: str) -> SliceGrid:
    job = load_job(session, principal, job_id)
    letters, legend = grid_of(session, job_id)
    return SliceGrid(
        job_id=job_id,
        state=JobState(job.state),
        slices=letters,
        indices=None if job.slice_indices is None else ranges(job.slice_indices),
        legend=legend,
    )


def grid_of(session: Session, job_id: str) -> tuple[str, list[GridKey]]:
    """A letter for each slice, and what letters there are."""
    rows = session.connection().execute(_SLICES, {"job_id": job_id})
    letters = "".join(_letter(state, attempts, awaits_check) for state, attempts, awaits_check in rows)
    counts = Counter(letters)
    return letters, [
        GridKey(letter=letter, state=state, label=label, count=counts[letter])
        for letter, (state, label) in LEGEND.items()
    ]


def _letter(state: str, attempts: int, awaits_check: bool) -> str:
    if state == JobState.QUEUED:
        return "w" if attempts else "q"
    if state == JobState.RUNNING:
        return "v" if awaits_check else "r"
    return _FINAL[JobState(state)]
