"""What can be asked about jobs. Each answers only what the caller may see."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.accounts.visibility import owned_by, sees
from computepool.hub.core.errors import NotFound
from computepool.hub.core.http import Principal
from computepool.hub.jobs import repository
from computepool.hub.jobs.errors import NoSuchJob
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.jobs.views import JobPage, JobView, find_view, page_of
from computepool.hub.nodes.tables import Node
from computepool.protocol.states import ATTEMPT_ENDED, JOB_FINAL, AttemptState


@dataclass(frozen=True)
class LogPlace:
    """Where to read: one attempt of one slice."""

    attempt_id: str | None
    """None while the slice has no attempt yet, or if it never had one."""
    number: int
    ended: bool
    """Nothing more can come."""


def load_job(session: Session, principal: Principal, job_id: str) -> Job:
    job = repository.find_job(session, job_id, owned_by(principal, Job.owner_id))
    if job is None:
        raise NoSuchJob(job_id)
    return job


def show_job(session: Session, principal: Principal, job_id: str) -> JobView:
    view = find_view(session, job_id)
    if view is None or not sees(principal, view.owner_id):
        raise NoSuchJob(job_id)
    return view


def show_jobs(session: Session, principal: Principal, states: Sequence[str], before: str | None, limit: int) -> JobPage:
    jobs = repository.list_jobs(session, owned_by(principal, Job.owner_id), states, before, limit + 1)
    return page_of(session, jobs, limit)


def find_log(session: Session, principal: Principal, job_id: str, index: int, attempt: int | None) -> LogPlace:
    """The newest attempt, or the one that was asked for."""
    job = load_job(session, principal, job_id)
    if index >= job.slice_count:
        raise NotFound(f"{job_id} has {job.slice_count} slice(s), counted from 0: there is no slice {index}.")
    query = select(Attempt.id, Attempt.number, Attempt.state).where(
        Attempt.job_id == job_id, Attempt.slice_index == index
    )
    if attempt is not None:
        query = query.where(Attempt.number == attempt)
    row = session.execute(query.order_by(Attempt.number.desc()).limit(1)).first()
    if row is None:
        if attempt is not None:
            raise NotFound(f"Slice {index} of {job_id} has no attempt {attempt}.")
        return LogPlace(None, 0, job.state in JOB_FINAL)
    return LogPlace(row.id, row.number, row.state in ATTEMPT_ENDED)


def list_deciding_attempts(session: Session, principal: Principal, job_id: str) -> list[tuple[int, int, str]]:
    """(slice, number, id) of the attempts whose outputs count: the last ended one of each slice."""
    load_job(session, principal, job_id)
    newest: dict[int, tuple[int, int, str]] = {}
    for attempt in repository.list_attempts(session, job_id):
        if attempt.state in (AttemptState.SUCCEEDED, AttemptState.FAILED, AttemptState.CANCELED):
            newest[attempt.slice_index] = (attempt.slice_index, attempt.number, attempt.id)
    return list(newest.values())


def list_receipts(session: Session, principal: Principal, job_id: str) -> list[dict[str, Any]]:
    load_job(session, principal, job_id)
    rows = session.execute(
        select(
            Attempt.slice_index,
            Attempt.number,
            Attempt.id,
            Attempt.state,
            Attempt.verdict,
            Attempt.manifest,
            Attempt.receipt,
            Node.id.label("node_id"),
            Node.name,
            Node.sign_key,
        )
        .join(Node, Node.id == Attempt.node_id)
        .where(Attempt.job_id == job_id, Attempt.receipt.is_not(None))
        .order_by(Attempt.slice_index, Attempt.number)
        .limit(repository.SHOWN_ATTEMPTS_LIMIT)
    )
    return [dict(row._mapping) for row in rows]
