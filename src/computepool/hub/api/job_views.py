"""What the reader of a job may do with it, and why not: decided by the functions by which the routes refuse."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from computepool.hub.core.actions import ActionView, unless
from computepool.hub.core.context import Context
from computepool.hub.core.errors import Conflict, PoolError
from computepool.hub.core.http import MissingScope, Principal, Scope
from computepool.hub.disputes.service import find_about, refuse_dispute
from computepool.hub.jobs import permits, queries
from computepool.hub.jobs.errors import JobDisputed
from computepool.hub.jobs.listing import JobFilter, JobOrder, list_jobs
from computepool.hub.jobs.permits import PermitFacts, facts_of
from computepool.hub.jobs.service import Lease, NewJob
from computepool.hub.jobs.views import SHOWN_SLICES_LIMIT, JobActions, JobHead, JobPage, JobView, view_of_new

About = tuple[str, bool]
"""The dispute about a job, and whether it is open."""
View = TypeVar("View", bound=JobHead)


def show_with_actions(
    session: Session,
    context: Context,
    principal: Principal,
    job_id: str,
    from_slice: int = 0,
    slice_limit: int = SHOWN_SLICES_LIMIT,
) -> JobView:
    view = queries.show_job(session, principal, job_id, from_slice, slice_limit)
    (shown,) = _with_actions(session, context, principal, [view])
    if shown.finished_at is not None:
        return shown
    return shown.model_copy(update={"running_cost": queries.find_running_cost(session, job_id, context.now())})


def list_with_actions(
    session: Session,
    context: Context,
    principal: Principal,
    wanted: JobFilter,
    order: JobOrder,
    cursor: str | None,
    limit: int,
) -> JobPage:
    page = list_jobs(session, principal, wanted, order, cursor, limit)
    return page.model_copy(update={"items": _with_actions(session, context, principal, page.items)})


def new_with_actions(
    context: Context, principal: Principal, job: NewJob, leases: Sequence[Lease], now: datetime
) -> JobView:
    """What `show_with_actions` would find right after the commit that stored the job."""
    view = view_of_new(job, leases, now)
    facts = PermitFacts(job.id, job.owner_id, view.state, artifacts=permits.given_to(job.bundle, job.inputs))
    return view.model_copy(update={"actions": actions_of(context, principal, facts, None)})


def check_retry(session: Session, principal: Principal, job_id: str) -> None:
    refused = permits.refuse_retry(facts_of(session, [job_id])[job_id], principal)
    if refused is not None:
        raise refused


def refuse_remove(job: PermitFacts, about: About | None) -> PoolError | None:
    refused = permits.refuse_removal(job)
    if refused is None and about is not None and about[1]:
        return JobDisputed(job.id, about[0])
    return refused


def refuse_dispute_of(
    context: Context, principal: Principal, job: PermitFacts, about: About | None
) -> PoolError | None:
    if job.rerun_of is not None:
        return only_runs_again(job.id, job.rerun_of)
    is_operator = principal.is_admin and job.owner_id not in principal.owner_ids
    window = None if is_operator else context.settings.dispute_window
    dispute_id = about[0] if about is not None else None
    return refuse_dispute(job.id, job.finished_at, job.cost_micros, dispute_id, window, context.now())


def only_runs_again(job_id: str, rerun_of: str) -> Conflict:
    return Conflict(f"{job_id} only runs {rerun_of} once more.", hint=f"computepool dispute {rerun_of}")


def actions_of(context: Context, principal: Principal, job: PermitFacts, about: About | None) -> JobActions:
    missing: PoolError | None = None if principal.is_admin else principal.role_too_low(Scope.JOBS_WRITE, job.owner_id)
    if Scope.JOBS_WRITE not in principal.scopes:
        missing = MissingScope(Scope.JOBS_WRITE, is_possible=Scope.JOBS_WRITE in principal.role.scopes)

    def change(refused: PoolError | None) -> ActionView:
        return unless(missing or refused)

    return JobActions(
        cancel=change(permits.refuse_cancel(job)),
        retry=change(permits.refuse_retry(job, principal)),
        clone=change(permits.refuse_clone(job, principal)),
        share=change(permits.refuse_share(job, principal)),
        remove=change(refuse_remove(job, about)),
        dispute=change(refuse_dispute_of(context, principal, job, about)),
        verify=unless(permits.refuse_verify(job)),
    )


def _with_actions(session: Session, context: Context, principal: Principal, views: Sequence[View]) -> list[View]:
    if not views:
        return []
    ids = [view.id for view in views]
    facts, about = facts_of(session, ids), find_about(session, ids)
    return [view.model_copy(update=_told(context, principal, facts[view.id], about.get(view.id))) for view in views]


def _told(context: Context, principal: Principal, job: PermitFacts, about: About | None) -> dict[str, Any]:
    is_paid = job.finished_at is not None and job.cost_micros > 0
    return {
        "actions": actions_of(context, principal, job, about),
        "dispute_id": about[0] if about is not None else None,
        "disputable_until": job.finished_at + context.settings.dispute_window if is_paid and job.finished_at else None,
    }
