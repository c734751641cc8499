"""The end of an attempt, with what verification makes of it, in one transaction."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.jobs import ending, repository
from computepool.hub.jobs.brief import JobBrief
from computepool.hub.jobs.ending import Applied, Canceled, Ended
from computepool.hub.jobs.policy import Ending
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.jobs.verification import Role
from computepool.hub.trust import audits, replication
from computepool.hub.trust.consequences import Means

Briefs = Callable[[str], JobBrief | None]
"""Of a job that is not final."""


def end_attempt(
    session: Session,
    attempt_id: str,
    fence: int,
    node_id: str,
    end: Ending,
    now: datetime,
    facts: dict[str, Any] | None = None,
    *,
    means: Means,
    briefs: Briefs | None = None,
) -> Ended:
    """`briefs` is None while no open job has anything to do with verification: then nobody looks."""
    brief = _find_brief(session, attempt_id, briefs) if briefs is not None else None
    if brief is None or brief.role is None:
        return ending.end_attempt(session, attempt_id, fence, node_id, end, now, facts, half_life=means.half_life)
    # First the job whose result it is: whoever decides about it, or cancels it, takes the locks in this order.
    repository.lock_jobs(session, [brief.root])
    ended = ending.end_attempt(
        session,
        attempt_id,
        fence,
        node_id,
        end,
        now,
        facts,
        half_life=means.half_life,
        unconfirmed=brief.role == Role.REPLICATED,
    )
    if ended.applied is not Applied.APPLIED:
        return ended
    job = session.get_one(Job, ended.job_id)
    if brief.role == Role.AUDITED:
        return audits.consider(session, job, ended, end, now, means)
    if brief.role == Role.AUDIT:
        return audits.rerun_ended(session, job, ended, end, now, means)
    if brief.role == Role.CANARY:
        return audits.canary_ended(session, job, ended, end, now, means)
    return replication.member_ended(session, job, ended, end, now, means)


def cancel_job(session: Session, job: Job, now: datetime, *, actor: str) -> Canceled:
    """With its replicas, and without waiting for what they would have said."""
    canceled = ending.cancel(session, job, now, actor=actor)
    if job.role == Role.REPLICATED:
        replication.abandon(session, job, now)
    return canceled


def end_unfunded(
    session: Session, job_id: str, index: int, fence: int, now: datetime, *, means: Means, words: str = ""
) -> Ended | None:
    """A slice that waits, and may not cost more than it did: it ends, and so does the wait for its replicas."""
    job = session.get(Job, job_id)
    if job is None:
        return None
    replicated = job.role in (Role.REPLICATED, Role.REPLICA)
    if replicated:
        repository.lock_jobs(session, [job.rerun_of or job.id])
    ended = ending.end_unfunded(session, job_id, index, fence, now, words)
    if ended is None or not replicated:
        return ended
    session.refresh(job)
    return replication.member_ended(session, job, ended, ending.NO_MORE_MONEY, now, means)


def _find_brief(session: Session, attempt_id: str, briefs: Briefs) -> JobBrief | None:
    job_id = session.scalar(select(Attempt.job_id).where(Attempt.id == attempt_id))
    return briefs(job_id) if job_id is not None else None
