"""What happened to a job and when, from the audit records."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field
from sqlalchemy import literal, select, union_all
from sqlalchemy.orm import Session

from computepool.hub.core.http import Principal
from computepool.hub.core.records import HUB_ACTOR
from computepool.hub.core.tables import AuditRow
from computepool.hub.jobs.queries import check_slice, load_job
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.nodes.tables import Node
from computepool.protocol.state_words import EndedBy
from computepool.protocol.states import Verdict

By = Literal["renter", "node", "hub", "operator"]

MESSAGES = {
    "job.submitted": "The job was submitted.",
    "job.cancel_requested": "The renter asked to cancel the job.",
    "job.succeeded": "The job succeeded.",
    "job.failed": "The job failed.",
    "job.canceled": "The job was canceled.",
    "attempt.leased": "A node was chosen for the slice.",
    "attempt.preparing": "The node downloads inputs and prepares the sandbox.",
    "attempt.running": "The command runs.",
    "attempt.suspended": "The attempt is suspended: the machine's owner needs it.",
    "attempt.finishing": "The command ended. Outputs are being uploaded.",
    "attempt.checkpoint": "A checkpoint was saved.",
    "attempt.asked_to_leave": "The attempt was asked to make room.",
    "attempt.out_of_money": "The credits for this attempt are used up.",
    "attempt.succeeded": "The attempt succeeded.",
    "attempt.failed": "The attempt failed.",
    "attempt.canceled": "The attempt was canceled.",
    "attempt.lost": "The hub lost contact with the node until the lease expired.",
    "attempt.taken_back": "The node is back and continues the attempt.",
    "attempt.superseded": "The result arrived after another attempt had ended the slice.",
    "outputs.granted": "The node got upload URLs for outputs.",
    "outputs.stored": "Outputs are stored.",
}
"""What is shown. Records of money, disputes and checks have routes of their own."""


class TimelineEvent(BaseModel):
    """One thing that happened."""

    id: int = Field(description="Grows with every event of the pool.")
    at: datetime = Field(description="When the hub recorded it.")
    action: str = Field(description="Such as `attempt.running`.")
    message: str = Field(description="The action in words.")
    by: By = Field(description="Who did it: the renter, the node, the hub or an operator.")
    slice: int | None = Field(description="Of an attempt: its slice, counted from 0.")
    attempt: int | None = Field(description="Of an attempt: its number, from 1.")
    attempt_id: str | None = Field(description="Of an attempt: its id.")
    node_id: str | None = Field(description="Of an attempt: where it runs.")
    node_name: str | None = Field(description="Of an attempt: the name of its node.")
    verdict: Verdict | None = Field(description="Of an attempt's end: whose doing it was.")
    reason: EndedBy | None = Field(description="Of an end: why.")


class JobTimeline(BaseModel):
    items: list[TimelineEvent] = Field(description="The oldest first.")
    next: str | None = Field(description="The cursor of the next page; null on the last.")


def show_timeline(
    session: Session, principal: Principal, job_id: str, index: int | None, after: int | None, limit: int
) -> JobTimeline:
    job = load_job(session, principal, job_id)
    if index is not None:
        check_slice(job, index)
    attempts = select(Attempt.id).where(Attempt.job_id == job.id)
    if index is not None:
        attempts = attempts.where(Attempt.slice_index == index)
    query = (
        select(AuditRow)
        .where(AuditRow.subject.in_(union_all(select(literal(job.id)), attempts)))
        # No plain column: SQLite would take the index by action, and read everybody's records.
        .where(AuditRow.action.concat("").in_(MESSAGES))
        .order_by(AuditRow.id)
        .limit(limit + 1)
    )
    rows = session.scalars(query.where(AuditRow.id > after) if after is not None else query).all()
    shown = rows[:limit]
    known = _attempts_of(session, {row.subject for row in shown} - {job.id})
    return JobTimeline(
        items=[_event(row, job, known.get(row.subject)) for row in shown],
        next=str(shown[-1].id) if len(rows) > limit else None,
    )


def _attempts_of(session: Session, attempt_ids: set[str]) -> Mapping[str, Any]:
    columns = (Attempt.id, Attempt.slice_index, Attempt.number, Attempt.node_id, Node.name)
    query = select(*columns).join(Node, Node.id == Attempt.node_id).where(Attempt.id.in_(sorted(attempt_ids)))
    return {row.id: row for row in session.execute(query.limit(len(attempt_ids) or 1))}


def _event(row: AuditRow, job: Job, attempt: Any) -> TimelineEvent:
    verdict, reason = row.details.get("verdict"), row.details.get("reason")
    return TimelineEvent(
        id=row.id,
        at=row.at,
        action=row.action,
        message=MESSAGES[row.action],
        by=_by(row.actor, job, attempt),
        slice=attempt.slice_index if attempt is not None else None,
        attempt=attempt.number if attempt is not None else None,
        attempt_id=attempt.id if attempt is not None else None,
        node_id=attempt.node_id if attempt is not None else None,
        node_name=attempt.name if attempt is not None else None,
        verdict=Verdict(verdict) if verdict in set(Verdict) else None,
        reason=reason if isinstance(reason, str) else None,
    )


def _by(actor: str, job: Job, attempt: Any) -> By:
    if attempt is not None and actor == attempt.node_id:
        return "node"
    if actor in (job.submitted_by, job.owner_id):
        return "renter"
    return "hub" if actor == HUB_ACTOR else "operator"
