"""Disputes and reports."""

from collections.abc import Callable
from datetime import date, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy import text
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.errors import Conflict, Invalid
from computepool.hub.core.http import Authenticate, Caller, IdempotencyKey, Principal, Routes, Scope
from computepool.hub.core.idempotency import claim, digest_of_fields
from computepool.hub.core.money import money_routes
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.disputes import service
from computepool.hub.disputes.reports import Report, check_period, make_report
from computepool.hub.disputes.tables import Dispute, DisputeState, Outcome
from computepool.hub.disputes.unspending import forget_spending
from computepool.hub.disputes.views import (
    AdminDisputeList,
    AdminDisputeView,
    DisputeFacts,
    DisputeList,
    DisputeRequest,
    DisputeView,
    Resolution,
    admin_views,
    dispute_facts,
    dispute_view,
)
from computepool.hub.jobs.queries import load_job
from computepool.hub.jobs.verification import Consequences
from computepool.hub.payments.amounts import parse_amount

LIST_LIMIT = 500
Limit = Annotated[int, Query(ge=1, le=LIST_LIMIT)]


Changed = Callable[[Consequences], None]
"""Tells the scheduler's memory what was changed in the database."""


def router(authenticate: Authenticate, context: Context, changed: Changed) -> APIRouter:
    routes = money_routes(authenticate, context.settings, tags=["disputes"])
    _add_renters(routes, context)
    _add_admins(routes, context, changed)
    return routes.router


def _add_renters(routes: Routes, context: Context) -> None:
    @routes.post("/jobs/{job_id}/dispute", visible="own", scope=Scope.JOBS_WRITE, status_code=201)
    async def open_one(job_id: str, body: DisputeRequest, caller: Caller, key: IdempotencyKey = None) -> DisputeView:
        """Say that a finished job was not worth what it cost. An operator looks at it."""
        return dispute_view(await context.db.run(_open, context, caller, job_id, body.reason, key))

    @routes.get("/disputes", visible="own", scope=Scope.JOBS_READ)
    async def list_own(caller: Caller, limit: Limit = 100) -> DisputeList:
        """One's own, newest first."""
        rows = await context.db.read(lambda session: service.list_disputes(session, limit, owner_ids=caller.owner_ids))
        return DisputeList(items=[dispute_view(row) for row in rows])

    @routes.get("/disputes/{dispute_id}", visible="own", scope=Scope.JOBS_READ)
    async def show(dispute_id: str, caller: Caller) -> DisputeView:
        """One of one's own, and what came of it."""
        return dispute_view(await context.db.read(service.find_dispute, dispute_id, caller.owner_ids))


def _open(session: Session, context: Context, caller: Principal, job_id: str, reason: str, key: str | None) -> Dispute:
    now, dispute_id = context.now(), context.new_id("dispute")
    job = load_job(session, caller, job_id)
    if key is not None:
        asked = digest_of_fields(job=job_id, reason=reason)
        earlier = claim(session, caller.user_id, key, "POST jobs/dispute", asked, dispute_id, now)
        if earlier is not None:
            return service.find_dispute(session, earlier)
    if job.rerun_of is not None:
        raise Conflict(f"{job_id} only runs {job.rerun_of} once more.", hint=f"computepool dispute {job.rerun_of}")
    window = context.settings.dispute_window
    is_operator = caller.is_admin and job.owner_id not in caller.owner_ids
    return service.open_dispute(session, dispute_id, job, reason, window, caller.user_id, now, at_any_time=is_operator)


def _add_admins(routes: Routes, context: Context, changed: Changed) -> None:
    unbroken = Unbroken()

    @routes.get("/admin/disputes", visible="admin")
    async def list_all(state: DisputeState | None = None, limit: Limit = 100) -> AdminDisputeList:
        """Everybody's, and what banks took back, newest first."""

        def read(session: Session) -> list[AdminDisputeView]:
            return admin_views(session, service.list_disputes(session, limit, state=state))

        return AdminDisputeList(items=await context.db.read(read))

    @routes.get("/admin/disputes/{dispute_id}", visible="admin")
    async def show(dispute_id: str) -> DisputeFacts:
        """With all that it takes to decide: jobs, attempts, receipts, logs, and what is known of the nodes."""
        return await context.db.read(_show, context, dispute_id)

    @routes.post("/admin/disputes/{dispute_id}/resolve", visible="admin")
    async def resolve(dispute_id: str, body: Resolution, caller: Caller) -> AdminDisputeView:
        """Give back everything, a part, or nothing. It is taken from the hosts, and with the fee from the platform."""
        if (body.outcome is Outcome.PARTIAL) != (body.credits is not None):
            raise Invalid("A partial refund says how many credits, and no other does.", hint='Such as "credits": "25".')
        micros = parse_amount(body.credits) if body.credits is not None else None
        actor, now = caller.user_id, context.now()

        async def both() -> AdminDisputeView:
            """In the database, and then in the scheduler's memory, even if the caller gives up in between."""
            view, after = await context.db.run(_resolve, dispute_id, body.outcome, micros, body.note, actor, now)
            changed(after)
            return view

        return await unbroken.run(both())

    @routes.get("/admin/reports", visible="admin", strict_query=True)
    async def report(since: date | None = None, until: date | None = None) -> Report:
        """By day of UTC: jobs, spending, fees, refunds. Then what is due now, and how reliable hosts are."""
        first, beyond = check_period(since, until, context.now().date())
        return await context.db.read(_report, context, first, beyond)


def _resolve(
    session: Session, dispute_id: str, outcome: Outcome, micros: int | None, note: str, actor: str, now: datetime
) -> tuple[AdminDisputeView, Consequences]:
    jobs = service.held_back(session, dispute_id)
    row = service.resolve(session, dispute_id, outcome, micros, note, actor, now)
    (view,) = admin_views(session, [row])
    return view, Consequences(unspent=forget_spending(session, dispute_id, jobs))


def _show(session: Session, context: Context, dispute_id: str) -> DisputeFacts:
    row = service.find_dispute(session, dispute_id)
    return dispute_facts(session, row, context.settings.reliability_half_life, context.now())


def _report(session: Session, context: Context, since: date, until: date) -> Report:
    if session.get_bind().dialect.name == "postgresql":  # else each of its statements would see another moment
        session.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
    return make_report(session, since, until, context.now(), context.settings.reliability_half_life)
