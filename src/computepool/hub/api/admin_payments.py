"""What operators do about money: by hand, and looking after the processor."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from sqlalchemy.orm import Session

from computepool.hub.accounts.errors import NoSuchUser
from computepool.hub.accounts.repository import emails_of, find_user_by_email
from computepool.hub.api.payment_views import (
    AdminTopUpActions,
    AdminTopUpList,
    AdminTopUpView,
    DifferenceList,
    EventList,
    GrantRequest,
    GrantView,
    ProcessorEvent,
    RefundRequest,
    RefundView,
    RequestList,
    WriteOffRequest,
    WriteOffView,
    difference_view,
    event_view,
    reconciliation_view,
    request_view,
    top_up_view,
)
from computepool.hub.api.payments import AWAY
from computepool.hub.core.actions import ALLOWED, ActionView, refused, unless
from computepool.hub.core.context import Context
from computepool.hub.core.http import Caller, IdempotencyKey, Principal, Routes
from computepool.hub.core.idempotency import claim, digest_of_fields
from computepool.hub.core.money import money_routes
from computepool.hub.core.owners import Owner, OwnerKind
from computepool.hub.core.paging import ByCreation, Cursor
from computepool.hub.core.texts import StorableInt
from computepool.hub.engine import Engine
from computepool.hub.ledger import write_offs
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.journal import NotEnough, balances, named_balances
from computepool.hub.ledger.write_offs import MoreThanOwed, NothingOwed
from computepool.hub.payments import events, grants, outgoing, reconcile, top_ups
from computepool.hub.payments.amounts import BadAmount, parse_amount
from computepool.hub.payments.background import Payments
from computepool.hub.payments.errors import (
    NoProcessor,
    NoSuchDifference,
    NoSuchPaymentEvent,
    NoTopUp,
    NotPaidByCard,
    ProcessorAway,
)
from computepool.hub.payments.grants import DoneBefore, NotThere
from computepool.hub.payments.provider import RequestKind
from computepool.hub.payments.reconcile import PaymentPeriod
from computepool.hub.payments.states import EventState, RequestState, TopUpState
from computepool.hub.payments.tables import DifferenceRow, RequestRow, TopUpRow
from computepool.hub.payments.top_up_rows import list_top_ups
from computepool.protocol.units import format_credits

LIST_LIMIT = 500
NO_CARDS = NoProcessor("This pool takes no cards, so nothing can go back to one.")
Limit = Annotated[int, Query(ge=1, le=LIST_LIMIT)]
DifferenceKind = Literal["missing_here", "missing_there", "amount", "currency", "stuck"]


def router(engine: Engine) -> APIRouter:
    context, payments = engine.context, engine.payments
    routes = money_routes(engine.directory.authenticate, context.settings, tags=["payments"])
    _add_grants(routes, context)
    _add_write_offs(routes, context)
    _add_refunds(routes, context, payments)
    _add_events(routes, context, payments)
    _add_differences(routes, context, payments)
    return routes.router


def _add_grants(routes: Routes, context: Context) -> None:
    @routes.post("/admin/grants", visible="admin", status_code=201, errors=[NoSuchUser, BadAmount, DoneBefore])
    async def grant(body: GrantRequest, caller: Caller, key: IdempotencyKey = None) -> GrantView:
        """Give credits: for money that was paid elsewhere, or as promotional credit."""
        return await context.db.run(_by_hand, context, caller, body, key, giving=True)

    @routes.post(
        "/admin/withdrawals", visible="admin", status_code=201, errors=[NoSuchUser, BadAmount, DoneBefore, NotThere]
    )
    async def withdraw(body: GrantRequest, caller: Caller, key: IdempotencyKey = None) -> GrantView:
        """Take credits back, for money that was returned elsewhere."""
        return await context.db.run(_by_hand, context, caller, body, key, giving=False)


def _by_hand(
    session: Session, context: Context, caller: Principal, body: GrantRequest, key: str | None, *, giving: bool
) -> GrantView:
    now, grant_id, micros = context.now(), context.new_id("grant"), parse_amount(body.credits)
    owner_id = _find_owner(session, body.user)
    email = emails_of(session, [owner_id]).get(owner_id)
    earlier = None
    if key is not None:
        route = "POST admin/grants" if giving else "POST admin/withdrawals"
        asked = digest_of_fields(owner=owner_id, micros=micros, note=body.note, promotional=body.promotional)
        earlier = claim(session, caller.user_id, key, route, asked, grant_id, now)
        grant_id = earlier or grant_id
    if body.unless_repeated and earlier is None:
        grants.refuse_repeated(
            session,
            giving=giving,
            owner_id=owner_id,
            micros=micros,
            note=body.note,
            whose=email or owner_id,
            now=now,
            promotional=body.promotional,
        )
    repaid = grants.by_hand(
        session,
        giving=giving,
        grant_id=grant_id,
        owner_id=owner_id,
        micros=micros,
        note=body.note,
        actor=caller.user_id,
        now=now,
        promotional=body.promotional,
    )
    has = balances(session, owner_id)
    return GrantView(
        id=grant_id,
        owner_id=owner_id,
        email=email,
        credits=format_credits(micros),
        micros=micros,
        repaid_micros=repaid,
        available_micros=has[Kind.AVAILABLE],
        promotional_micros=has[Kind.PROMOTIONAL],
    )


def _add_write_offs(routes: Routes, context: Context) -> None:
    @routes.post(
        "/admin/ledger/write-offs",
        visible="admin",
        status_code=201,
        errors=[NoSuchUser, BadAmount, NothingOwed, MoreThanOwed],
    )
    async def write_off(body: WriteOffRequest, caller: Caller, key: IdempotencyKey = None) -> WriteOffView:
        """The pool bears what somebody owes and will not pay. Renters who wait for it are paid."""
        return await context.db.run(_write_off, context, caller, body, key)


def _write_off(
    session: Session, context: Context, caller: Principal, body: WriteOffRequest, key: str | None
) -> WriteOffView:
    now, write_off_id, owner_id = context.now(), context.new_id("writeoff"), _find_owner(session, body.user)
    micros = parse_amount(body.credits) if body.credits is not None else None
    if key is not None:
        asked = digest_of_fields(owner=owner_id, micros=micros, note=body.note)
        route = "POST admin/ledger/write-offs"
        write_off_id = claim(session, caller.user_id, key, route, asked, write_off_id, now) or write_off_id
    done = write_offs.write_off(session, write_off_id, owner_id, micros, body.note, caller.user_id, now)
    return WriteOffView(
        id=write_off_id,
        owner_id=owner_id,
        email=emails_of(session, [owner_id]).get(owner_id),
        credits=format_credits(done.micros),
        micros=done.micros,
        filled_micros=done.filled_micros,
        debt_micros=-balances(session, owner_id)[Kind.DEBT],
    )


def _find_owner(session: Session, named: str) -> str:
    if "@" in named:
        user = find_user_by_email(session, named.strip().lower())
        if user is None:
            raise NoSuchUser(named)
        return user.id
    owner = session.get(Owner, named)
    if owner is None or owner.kind == OwnerKind.PLATFORM:
        raise NoSuchUser(named)
    return owner.id


def _add_refunds(routes: Routes, context: Context, payments: Payments) -> None:
    @routes.post(
        "/admin/top-ups/{top_up_id}/refund",
        name="refund_top_up",
        visible="admin",
        status_code=201,
        errors=[NoTopUp, BadAmount, NotPaidByCard, NotThere, NotEnough, NoProcessor, ProcessorAway],
    )
    async def refund(top_up_id: str, body: RefundRequest, caller: Caller, key: IdempotencyKey = None) -> RefundView:
        """Unspent credits of a top-up go back to the card that paid for them."""
        if not payments.provider.moves_money:
            raise NO_CARDS
        micros = parse_amount(body.credits)
        refund_id, request_id = await context.db.run(_ask_refund, payments, caller, top_up_id, micros, body.note, key)
        await payments.send(request_id)
        row = await context.db.read(lambda session: session.get_one(RequestRow, request_id))
        waits = row.state == RequestState.WAITING
        message = AWAY if waits else row.words or "It is on its way back to the card."
        return RefundView(
            id=refund_id, top_up_id=top_up_id, micros=micros, state=RequestState(row.state), message=message
        )

    @routes.get("/admin/top-ups", name="list_everybodys_top_ups", visible="admin")
    async def list_top_ups(
        state: TopUpState | None = None,
        owner_id: Annotated[str | None, Query(max_length=40)] = None,
        order: ByCreation = "-created_at",
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> AdminTopUpList:
        """Everybody's, with what of each could go back to its card."""
        return await context.db.read(_list_top_ups, payments, owner_id, state, order, cursor, limit)


def _list_top_ups(
    session: Session,
    payments: Payments,
    owner_id: str | None,
    state: TopUpState | None,
    order: str,
    cursor: str | None,
    limit: int,
) -> AdminTopUpList:
    wanted = None if owner_id is None else frozenset({owner_id})
    rows, after, total = list_top_ups(session, wanted, state, order, cursor, limit)
    owners = {row.owner_id for row in rows}
    emails = emails_of(session, owners)
    has = named_balances(session, [account(owner, Kind.AVAILABLE) for owner in owners])
    items = []
    for row in rows:
        available = has[account(row.owner_id, Kind.AVAILABLE)]
        items.append(
            AdminTopUpView(
                **top_up_view(row, payments.units.spelled(row.minor)).model_dump(),
                email=emails.get(row.owner_id),
                available_micros=available,
                admin_actions=AdminTopUpActions(refund=_refunding(payments, row, available)),
            )
        )
    return AdminTopUpList(items=items, next=after, total=total)


def _refunding(payments: Payments, row: TopUpRow, available_micros: int) -> ActionView:
    if row.state != TopUpState.PAID or row.payment_id is None:
        return unless(NotPaidByCard(row.id))
    if not payments.provider.moves_money:
        return unless(NO_CARDS)
    return ALLOWED if available_micros > 0 else refused("Its owner has spent all credits that were paid for.")


def _ask_refund(
    session: Session, payments: Payments, caller: Principal, top_up_id: str, micros: int, note: str, key: str | None
) -> tuple[str, str]:
    context, now = payments.context, payments.context.now()
    refund_id = context.new_id("refund")
    if key is not None:
        asked = digest_of_fields(top_up=top_up_id, micros=micros, note=note)
        earlier = claim(session, caller.user_id, key, "POST admin/refunds", asked, refund_id, now)
        if earlier is not None and (row := outgoing.find_request(session, f"refund/{earlier}")) is not None:
            return earlier, row.id
    actor = caller.user_id
    return refund_id, top_ups.ask_refund(session, context, top_up_id, refund_id, micros, note, actor, now).id


def _add_events(routes: Routes, context: Context, payments: Payments) -> None:
    @routes.get("/admin/payments/events", visible="admin")
    async def list_events(
        state: EventState | None = None,
        order: Annotated[
            Literal["-received_at", "received_at"], Query(description="`-`: the newest first.")
        ] = "-received_at",
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> EventList:
        """What the processor told, and what came of it."""
        rows, after, total = await context.db.read(events.list_events, state, order, cursor, limit)
        return EventList(items=[event_view(row) for row in rows], next=after, total=total)

    @routes.post(
        "/admin/payments/events/{event_id}/replay",
        name="replay_event",
        visible="admin",
        errors=[NoSuchPaymentEvent, NoProcessor],
    )
    async def replay(event_id: str, caller: Caller) -> ProcessorEvent:
        """Look into one again. Money that moved is not moved twice."""
        row = await context.db.run(events.replay_event, event_id, context.now(), caller.user_id)
        payments.wake()
        return event_view(row)

    @routes.get("/admin/payments/requests", visible="admin")
    async def list_requests(
        state: RequestState | None = None,
        kind: RequestKind | None = None,
        owner_id: Annotated[str | None, Query(max_length=40)] = None,
        order: ByCreation = "-created_at",
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> RequestList:
        """What the hub asked the processor for. `kind=refund`: refunds to cards."""
        rows, after, total = await context.db.read(
            outgoing.list_requests, state, order, cursor, limit, kind=kind, owner_id=owner_id
        )
        return RequestList(items=[request_view(row) for row in rows], next=after, total=total)


def _add_differences(routes: Routes, context: Context, payments: Payments) -> None:
    @routes.get("/admin/payments/differences", visible="admin")
    async def list_differences(
        everything: bool = False,
        kind: DifferenceKind | None = None,
        order: Annotated[Literal["-found_at", "found_at"], Query(description="`-`: the newest first.")] = "-found_at",
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> DifferenceList:
        """Where the processor and the ledger disagree about money. `everything`: settled ones too."""
        return await context.db.read(_differences, not everything, kind, order, cursor, limit)

    @routes.post(
        "/admin/payments/differences/{difference_id}/settle",
        name="settle_difference",
        visible="admin",
        errors=[NoSuchDifference],
    )
    async def settle(difference_id: StorableInt, caller: Caller) -> DifferenceList:
        """An operator looked into it, and nothing more is to be done."""
        await context.db.run(_settle, difference_id, caller.user_id, context.now())
        return await context.db.read(_differences, True)

    @routes.post("/admin/payments/reconcile", name="reconcile", visible="admin", errors=[NoProcessor, ProcessorAway])
    async def reconcile_now(days: Annotated[int, Query(ge=1, le=400)] = 2) -> DifferenceList:
        """Compare the last days now, without waiting for the night."""
        if payments.provider.moves_money:
            now = context.now()
            await payments.reconcile(PaymentPeriod(now - reconcile.EVERY * days, now))
        return await context.db.read(_differences, True)


def _differences(
    session: Session,
    is_open: bool,
    kind: str | None = None,
    order: str = "-found_at",
    cursor: str | None = None,
    limit: int = LIST_LIMIT,
) -> DifferenceList:
    rows, after, total = reconcile.list_differences(session, is_open, kind, order, cursor, limit)
    last = reconciliation_view(reconcile.last_reconciliation(session))
    return DifferenceList(items=[difference_view(row) for row in rows], next=after, total=total, last=last)


def _settle(session: Session, difference_id: int, actor: str, now: datetime) -> None:
    row = session.get(DifferenceRow, difference_id)
    if row is None:
        raise NoSuchDifference(difference_id)
    reconcile.settle_difference(session, row.movement_id, row.kind, now, actor=actor)
