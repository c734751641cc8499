"""Jobs as the API shows them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.jobs import repository
from computepool.hub.jobs.tables import Attempt, Job, Slice
from computepool.hub.nodes.tables import Node
from computepool.protocol.states import AttemptState, JobState, Verdict

NODE_NAMES_LIMIT = 10_000


class AttemptView(BaseModel):
    id: str
    number: int
    fence: int
    node_id: str
    node_name: str
    own: bool
    state: AttemptState
    verdict: Verdict | None
    reason: str | None
    detail: str | None
    isolation: str | None
    exit_code: int | None
    leased_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    log_bytes: int


class SliceView(BaseModel):
    index: int
    state: JobState
    verdict: Verdict | None
    exit_code: int | None
    reason: str | None
    attempts: list[AttemptView]


class JobSummary(BaseModel):
    id: str
    name: str
    state: JobState
    verdict: Verdict | None
    exit_code: int | None
    reason: str | None
    message: str | None
    owner_id: str
    priority: int
    retry_of: str | None
    slice_count: int
    counts: dict[str, int]
    """Slices by state."""
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    cancel_requested_at: datetime | None


class JobView(JobSummary):
    spec: dict[str, Any]
    slices: list[SliceView]
    """The first thousand."""


class JobPage(BaseModel):
    items: list[JobSummary]
    next: str | None


def summary_of(job: Job, counts: dict[str, int]) -> JobSummary:
    return JobSummary.model_validate({**_columns(job), "counts": counts})


def view_of(session: Session, job: Job) -> JobView:
    slices = repository.list_slices(session, job.id)
    attempts = repository.list_attempts(session, job.id)
    names = _node_names(session, {attempt.node_id for attempt in attempts})
    by_slice: dict[int, list[AttemptView]] = {}
    for attempt in attempts:
        by_slice.setdefault(attempt.slice_index, []).append(_attempt_view(attempt, names))
    counts = repository.count_slices_by_state(session, [job.id])[job.id]
    return JobView.model_validate(
        {
            **_columns(job),
            "counts": counts,
            "spec": job.spec,
            "slices": [_slice_view(one, by_slice.get(one.index, [])) for one in slices],
        }
    )


def page_of(session: Session, jobs: Sequence[Job], limit: int) -> JobPage:
    """`jobs` holds one more than `limit` where there is a next page."""
    shown = jobs[:limit]
    counts = repository.count_slices_by_state(session, [job.id for job in shown])
    items = [summary_of(job, counts[job.id]) for job in shown]
    return JobPage(items=items, next=shown[-1].id if len(jobs) > limit else None)


def _columns(job: Job) -> dict[str, Any]:
    names = JobSummary.model_fields.keys() - {"counts"}
    return {name: getattr(job, name) for name in names}


def _slice_view(row: Slice, attempts: list[AttemptView]) -> SliceView:
    return SliceView(
        index=row.index,
        state=JobState(row.state),
        verdict=Verdict(row.verdict) if row.verdict else None,
        exit_code=row.exit_code,
        reason=row.reason,
        attempts=attempts,
    )


def _attempt_view(row: Attempt, names: dict[str, str]) -> AttemptView:
    fields = {name: getattr(row, name) for name in AttemptView.model_fields if name != "node_name"}
    return AttemptView.model_validate({**fields, "node_name": names.get(row.node_id, row.node_id)})


def _node_names(session: Session, node_ids: set[str]) -> dict[str, str]:
    rows = session.execute(select(Node.id, Node.name).where(Node.id.in_(node_ids)).limit(NODE_NAMES_LIMIT))
    return {row.id: row.name for row in rows}
