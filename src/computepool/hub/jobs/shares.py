"""Links by which everybody who has one can see a job: what they show, and how they end.

A link shows what `PublicJob` lists and nothing else: no command, no environment, no owner, no node, no price. With its
owner's word it also shows the log, or the names and sizes of the outputs.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, or_, select, update
from sqlalchemy.orm import Session

from computepool.hub.accounts.tables import User
from computepool.hub.accounts.tokens import hash_of
from computepool.hub.core.errors import Conflict, NotFound
from computepool.hub.core.records import record
from computepool.hub.jobs.asked import in_words
from computepool.hub.jobs.errors import NoSuchShare, Removed
from computepool.hub.jobs.grid import GridKey, grid_of
from computepool.hub.jobs.listing import progress_of
from computepool.hub.jobs.queries import LogPlace, Output, find_log_of, page_outputs_of
from computepool.hub.jobs.repository import count_slices_by_state
from computepool.hub.jobs.tables import Job, JobShare
from computepool.hub.jobs.views import JobProgress
from computepool.protocol.model import Documented
from computepool.protocol.state_words import EndedBy
from computepool.protocol.states import JobState, Verdict

SHARES_LIMIT = 20
"""Of one job, that work at the same time."""


class PublicJob(Documented):
    """What everybody may know of a shared job."""

    name: str | None
    """As its spec names it; null where it does not: such a name is made of the command."""
    state: JobState
    verdict: Verdict | None
    exit_code: int | None
    reason: EndedBy | None
    simulated: bool
    """It runs on simulated nodes alone: nothing of it is really run."""
    resources: str
    """What a slice asks for, in words."""
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    progress: JobProgress
    """How far its slices are."""
    slices: str
    """One letter for each slice, in order."""
    legend: list[GridKey]
    """What the letters mean."""


class SharedJob(Documented):
    """A job as a link shows it."""

    job: PublicJob
    """What everybody may know of it."""
    with_logs: bool
    """Whether the link shows its logs."""
    with_outputs: bool
    """Whether the link shows which outputs it has."""
    expires_at: datetime | None


def add_share(
    session: Session,
    share_id: str,
    job_id: str,
    token: str,
    expires_at: datetime | None,
    actor: str,
    now: datetime,
    *,
    with_logs: bool,
    with_outputs: bool,
) -> JobShare:
    if len(list_shares(session, job_id, now)) >= SHARES_LIMIT:
        raise Conflict(f"{job_id} has {SHARES_LIMIT} links already.", hint="Revoke one that you no longer need.")
    row = JobShare(
        id=share_id,
        job_id=job_id,
        hash=hash_of(token),
        with_logs=with_logs,
        with_outputs=with_outputs,
        created_by=actor,
        created_at=now,
        expires_at=expires_at,
        revoked_at=None,
    )
    session.add(row)
    session.flush()
    record(session, "job.shared", job_id, now, actor=actor, share=share_id)
    return row


def list_shares(session: Session, job_id: str, now: datetime) -> Sequence[JobShare]:
    """Those that work, the newest first."""
    query = select(JobShare).where(JobShare.job_id == job_id, JobShare.revoked_at.is_(None), _lasts(now))
    return session.scalars(query.order_by(JobShare.id.desc()).limit(SHARES_LIMIT)).all()


def revoke_share(session: Session, job_id: str, share_id: str, actor: str, now: datetime) -> None:
    """Nobody sees the job by it from this commit on."""
    revoked = update(JobShare).where(JobShare.id == share_id, JobShare.job_id == job_id, JobShare.revoked_at.is_(None))
    if session.scalar(revoked.values(revoked_at=now).returning(JobShare.id)) is None:
        raise NoSuchShare
    record(session, "job.unshared", job_id, now, actor=actor, share=share_id)


def show_shared(session: Session, token: str, now: datetime) -> SharedJob:
    share, job = _open(session, token, now)
    return SharedJob(
        job=public_view(session, job),
        with_logs=share.with_logs,
        with_outputs=share.with_outputs,
        expires_at=share.expires_at,
    )


def public_view(session: Session, job: Job) -> PublicJob:
    letters, legend = grid_of(session, job.id)
    counts = count_slices_by_state(session, [job.id])[job.id]
    return PublicJob(
        name=job.spec.get("name"),
        state=JobState(job.state),
        verdict=Verdict(job.verdict) if job.verdict is not None else None,
        exit_code=job.exit_code,
        reason=job.reason,
        simulated=job.simulated,
        resources=in_words(job.spec.get("resources")),
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        progress=progress_of(job.slice_count, counts),
        slices=letters,
        legend=legend,
    )


def find_shared_log(session: Session, token: str, now: datetime, index: int) -> LogPlace:
    share, job = _open(session, token, now)
    if not share.with_logs:
        raise NotFound("This link does not show the log.", hint="Ask its owner for a link that shows it.")
    try:
        return find_log_of(session, job, index, None)
    except Removed:
        raise NotFound("The log of this job is no longer stored.") from None
    except NotFound:
        raise NotFound(f"This job has no slice {index}.") from None  # in other words: the job's id is not shown


def page_shared_outputs(
    session: Session, token: str, now: datetime, cursor: str | None, limit: int
) -> tuple[list[Output], str | None]:
    share, job = _open(session, token, now)
    if not share.with_outputs:
        raise NotFound("This link does not show the outputs.", hint="Ask its owner for a link that shows them.")
    try:
        return page_outputs_of(session, job, cursor, limit)
    except Removed:
        raise NotFound("The outputs of this job are no longer stored.") from None


def _open(session: Session, token: str, now: datetime) -> tuple[JobShare, Job]:
    """Those of a disabled account show nothing while it is disabled."""
    disabled = select(User.id).where(User.id == Job.owner_id, User.disabled_at.is_not(None)).exists()
    query = (
        select(JobShare, Job)
        .join(Job, Job.id == JobShare.job_id)
        .where(JobShare.hash == hash_of(token), JobShare.revoked_at.is_(None), _lasts(now))
        .where(Job.deleted_at.is_(None), ~disabled)
    )
    row = session.execute(query).first()
    if row is None:
        raise NoSuchShare
    return row[0], row[1]


def _lasts(now: datetime) -> ColumnElement[bool]:
    return or_(JobShare.expires_at.is_(None), JobShare.expires_at > now)
