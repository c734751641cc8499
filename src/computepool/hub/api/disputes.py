"""Disputes and reports."""

from datetime import date, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import StringConstraints
from sqlalchemy import text
from sqlalchemy.orm import Session

from computepool.hub.admin.reports import Report, check_period, make_report
from computepool.hub.api.job_views import only_runs_again
from computepool.hub.api.payment_views import Asking, Credits
from computepool.hub.core.context import Context
from computepool.hub.core.errors import Invalid
from computepool.hub.core.http import Caller, IdempotencyKey, Principal, Routes, Scope
from computepool.hub.core.idempotency import claim, digest_of_fields
from computepool.hub.core.money import money_routes
from computepool.hub.core.paging import Cursor
from computepool.hub.core.texts import STORABLE, GivenDay
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.disputes import service
from computepool.hub.disputes.errors import (
    AlreadyResolved,
    BankDecides,
    DisputedBefore,
    NoDispute,
    NotFinished,
    NothingPaid,
    TooLate,
    TooMuch,
)
from computepool.hub.disputes.tables import NOTE_LIMIT, REASON_LIMIT, Dispute, DisputeKind, DisputeState, Outcome
from computepool.hub.disputes.unspending import forget_spending
from computepool.hub.disputes.views import (
    AdminDisputeList,
    AdminDisputeView,
    DisputeFacts,
    DisputeList,
    DisputeView,
    admin_views,
    dispute_facts,
    dispute_view,
)
from computepool.hub.engine import Engine
from computepool.hub.jobs.errors import NoSuchJob
from computepool.hub.jobs.queries import load_job
from computepool.hub.jobs.verification import Consequences
from computepool.hub.payments.amounts import BadAmount, parse_amount

LIST_LIMIT = 500
Limit = Annotated[int, Query(ge=1, le=LIST_LIMIT)]
ByOpening = Annotated[Literal["-opened_at", "opened_at"], Query(description="`-`: the newest first.")]


class DisputeRequest(Asking):
    reason: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=3, max_length=REASON_LIMIT, pattern=STORABLE)
    ]
    """What was wrong with it. The operator and, in the end, the host's case depend on it."""


class DisputeDecision(Asking):
    __module__ = "computepool.hub.disputes.views"  # keeps the name of its schema

    outcome: Outcome
    credits: Credits | None = None
    """Of a partial refund, how much."""
    note: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=NOTE_LIMIT, pattern=STORABLE)
    ]
    """Why; the renter reads it, and the hosts find it with their entries."""


def router(engine: Engine) -> APIRouter:
    routes = money_routes(engine.directory.authenticate, engine.context.settings, tags=["disputes"])
    _add_renters(routes, engine.context)
    _add_admins(routes, engine)
    return routes.router


def _add_renters(routes: Routes, context: Context) -> None:
    @routes.post(
        "/jobs/{job_id}/dispute",
        name="open",
        visible="own",
        scope=Scope.JOBS_WRITE,
        status_code=201,
        errors=[NoSuchJob, NotFinished, NothingPaid, TooLate, DisputedBefore],
    )
    async def open_one(job_id: str, body: DisputeRequest, caller: Caller, key: IdempotencyKey = None) -> DisputeView:
        """Say that a finished job was not worth what it cost. An operator looks at it."""
        return dispute_view(await context.db.run(_open, context, caller, job_id, body.reason, key))

    @routes.get("/disputes", name="list", visible="own", scope=Scope.JOBS_READ)
    async def list_own(
        caller: Caller,
        state: DisputeState | None = None,
        order: ByOpening = "-opened_at",
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> DisputeList:
        """One's own."""
        rows, after, total = await context.db.read(service.list_disputes, caller.owner_ids, state, order, cursor, limit)
        return DisputeList(items=[dispute_view(row) for row in rows], next=after, total=total)

    @routes.get("/disputes/{dispute_id}", visible="own", scope=Scope.JOBS_READ, errors=[NoDispute])
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
        raise only_runs_again(job_id, job.rerun_of)
    window = context.settings.dispute_window
    is_operator = caller.is_admin and job.owner_id not in caller.owner_ids
    return service.open_dispute(session, dispute_id, job, reason, window, caller.user_id, now, at_any_time=is_operator)


def _add_admins(routes: Routes, engine: Engine) -> None:
    context, unbroken = engine.context, Unbroken()

    @routes.get("/admin/disputes", visible="admin")
    async def list_all(
        state: DisputeState | None = None,
        kind: DisputeKind | None = None,
        owner_id: Annotated[str | None, Query(max_length=40)] = None,
        order: ByOpening = "-opened_at",
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> AdminDisputeList:
        """Everybody's, and what banks took back."""
        owners = None if owner_id is None else frozenset({owner_id})

        def read(session: Session) -> AdminDisputeList:
            rows, after, total = service.list_disputes(session, owners, state, order, cursor, limit, kind=kind)
            return AdminDisputeList(items=admin_views(session, rows), next=after, total=total)

        return await context.db.read(read)

    @routes.get("/admin/disputes/{dispute_id}", name="show_facts", visible="admin", errors=[NoDispute])
    async def show(dispute_id: str) -> DisputeFacts:
        """With all that it takes to decide: jobs, attempts, receipts, logs, and what is known of the nodes."""
        return await context.db.read(_show, context, dispute_id)

    @routes.post(
        "/admin/disputes/{dispute_id}/resolve",
        visible="admin",
        errors=[NoDispute, AlreadyResolved, BankDecides, TooMuch, BadAmount],
    )
    async def resolve(dispute_id: str, body: DisputeDecision, caller: Caller) -> AdminDisputeView:
        """Give back everything, a part, or nothing. It is taken from the hosts, and with the fee from the platform."""
        if (body.outcome is Outcome.PARTIAL) != (body.credits is not None):
            raise Invalid("A partial refund says how many credits, and no other does.", hint='Such as "credits": "25".')
        micros = parse_amount(body.credits) if body.credits is not None else None
        actor, now = caller.user_id, context.now()

        async def both() -> AdminDisputeView:
            """In the database, and then in the scheduler's memory, even if the caller gives up in between."""
            view, after = await context.db.run(_resolve, dispute_id, body.outcome, micros, body.note, actor, now)
            engine.checks_changed(after)
            return view

        return await unbroken.run(both())

    @routes.get("/admin/reports", visible="admin")
    async def report(since: GivenDay | None = None, until: GivenDay | None = None) -> Report:
        """By day of UTC: jobs, spending, fees, refunds. Then what is due now, and how reliable hosts are."""
        first, beyond = check_period(since, until, context.now().date())
        await engine.figures.refresh()
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
