"""Cash-outs: hosts ask, operators decide."""

from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy.orm import Session

from computepool.hub.accounts.repository import emails_of
from computepool.hub.api.cash_out_views import (
    AdminCashOutList,
    AdminCashOutView,
    CashableActions,
    CashableView,
    CashOutActions,
    CashOutDecision,
    CashOutList,
    CashOutRequest,
    CashOutView,
    LaterView,
    PaidByHand,
    Rejection,
    ReversalRequest,
    ReversalView,
)
from computepool.hub.api.payments import AWAY, own_wallet
from computepool.hub.core.actions import ALLOWED, ActionView, refused, unless
from computepool.hub.core.context import Context
from computepool.hub.core.http import ActingFor, Caller, IdempotencyKey, Principal, Routes, Scope
from computepool.hub.core.idempotency import claim, digest_of_fields
from computepool.hub.core.money import money_routes
from computepool.hub.core.paging import ByCreation, Cursor
from computepool.hub.engine import Engine
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.freezing import is_frozen
from computepool.hub.ledger.journal import named_balances
from computepool.hub.payments import cash_outs
from computepool.hub.payments.amounts import BadAmount, Units, parse_amount
from computepool.hub.payments.background import Payments
from computepool.hub.payments.cash_out_actions import admin_cash_out_actions
from computepool.hub.payments.cash_out_errors import (
    Frozen,
    NoCashOut,
    NotCashable,
    NotInThisState,
    NotPaid,
    NotThatMuchLeft,
    Owes,
    PaidByHandOnly,
    PaidByProcessor,
    TooLittle,
)
from computepool.hub.payments.cash_out_reversals import reverse_cash_out
from computepool.hub.payments.cash_out_rows import (
    WORDS,
    CashOutRow,
    CashOutState,
    find_cash_out,
    list_cash_outs,
)
from computepool.hub.payments.errors import NoPayoutAccount, NoProcessor, ProcessorAway
from computepool.hub.payments.outgoing import find_request
from computepool.hub.payments.profiles import profile_of
from computepool.hub.payments.safe_earnings import cashable
from computepool.hub.payments.states import RequestState
from computepool.hub.payments.tables import RequestRow
from computepool.protocol.units import MICROS_PER_CREDIT, format_credits, spell_credits

ROUTE = "POST wallet/cash-outs"
REVERSE_ROUTE = "POST admin/cash-outs/reverse"
LIST_LIMIT = 100
ADMIN_LIMIT = 500
LATER_SHOWN = 100


def router(engine: Engine) -> APIRouter:
    context, payments = engine.context, engine.payments
    routes = money_routes(engine.directory.authenticate, context.settings, tags=["cash-outs"])
    _add_own(routes, context, payments)
    _add_admins(routes, context, payments)
    return routes.router


def _add_own(routes: Routes, context: Context, payments: Payments) -> None:
    @routes.post(
        "/wallet/cash-outs",
        visible="own",
        scope=Scope.WALLET_PAYOUT,
        status_code=201,
        errors=[BadAmount, TooLittle, NotCashable, NoPayoutAccount, Frozen],
    )
    async def request(
        body: CashOutRequest, caller: Caller, owner: ActingFor, key: IdempotencyKey = None
    ) -> CashOutView:
        """Ask for earnings to be paid out. They are set aside at once, and come back if it is rejected."""
        return cash_out_view(await context.db.run(_request, payments, caller, owner, body, key), payments.units)

    @routes.get("/wallet/cash-outs", name="list", visible="own", scope=Scope.WALLET_READ)
    async def list_own(
        caller: Caller,
        acting_for: ActingFor,
        state: Annotated[list[CashOutState] | None, Query()] = None,
        owner_id: Annotated[str | None, Query(max_length=40)] = None,
        order: ByCreation = "-created_at",
        limit: Annotated[int, Query(ge=1, le=ADMIN_LIMIT)] = LIST_LIMIT,
        cursor: Cursor = None,
    ) -> CashOutList:
        """One's own; what can be cashed out now, and when the rest can."""
        owner = own_wallet(caller, owner_id, acting_for)
        return await context.db.read(_list_own, payments, owner, state or [], order, cursor, limit)

    @routes.get("/wallet/cash-outs/{cash_out_id}", visible="own", scope=Scope.WALLET_READ, errors=[NoCashOut])
    async def show(cash_out_id: str, caller: Caller) -> CashOutView:
        """One of one's own."""
        row = await context.db.read(cash_outs.own_cash_out, caller.owner_ids, cash_out_id)
        return cash_out_view(row, payments.units)

    @routes.post(
        "/wallet/cash-outs/{cash_out_id}/cancel",
        visible="own",
        scope=Scope.WALLET_PAYOUT,
        errors=[NoCashOut, NotInThisState],
    )
    async def cancel(cash_out_id: str, caller: Caller) -> CashOutView:
        """Take it back before an operator has decided. The credits go back to the earnings, or fill a debt."""
        row = await context.db.run(cash_outs.cancel, caller.owner_ids, cash_out_id, caller.user_id, context.now())
        return cash_out_view(row, payments.units)


def _request(
    session: Session, payments: Payments, caller: Principal, acting_for: str, body: CashOutRequest, key: str | None
) -> CashOutRow:
    context, now = payments.context, payments.context.now()
    owner_id, micros = own_wallet(caller, body.owner_id, acting_for), parse_amount(body.credits)
    cash_out_id = context.new_id("cashout")
    if key is not None:
        asked = digest_of_fields(owner=owner_id, micros=micros)
        earlier = claim(session, caller.user_id, key, ROUTE, asked, cash_out_id, now)
        if earlier is not None:
            return cash_outs.own_cash_out(session, caller.owner_ids, earlier)
    provider, units = payments.provider, payments.units
    return cash_outs.request_cash_out(
        session, context.settings, provider, units, cash_out_id, owner_id, micros, caller.user_id, now
    )


def _list_own(
    session: Session,
    payments: Payments,
    owner_id: str,
    states: list[CashOutState],
    order: str,
    cursor: str | None,
    limit: int,
) -> CashOutList:
    settings = payments.context.settings
    can = cashable(session, owner_id, payments.context.now(), settings.hold_back)
    frozen = is_frozen(session)
    rows, after, total = list_cash_outs(session, frozenset({owner_id}), states, order, cursor, limit)
    return CashOutList(
        items=[cash_out_view(row, payments.units) for row in rows],
        next=after,
        total=total,
        can=CashableView(
            owner_id=owner_id,
            minimum_micros=settings.cash_out_min * MICROS_PER_CREDIT,
            cashable_micros=can.micros,
            later=[LaterView(at=at, micros=micros) for at, micros in can.later[:LATER_SHOWN]],
            unknown_micros=can.unknown_micros,
            hold_back_days=settings.cash_out_hold_back_days,
            frozen=frozen,
            way=payments.provider.name,
            actions=CashableActions(request=_may_request(session, payments, owner_id, can.micros, frozen=frozen)),
        ),
    )


def _may_request(
    session: Session, payments: Payments, owner_id: str, cashable_micros: int, *, frozen: bool
) -> ActionView:
    """As `cash_outs.request_cash_out` would decide on all that is cashable."""
    least = payments.context.settings.cash_out_min * MICROS_PER_CREDIT
    if frozen:
        return unless(Frozen())
    if cashable_micros < max(least, 1):
        least_shown = spell_credits(max(least, 1))
        return refused(f"A cash-out is at least {least_shown}; you can cash out {spell_credits(cashable_micros)} now.")
    if payments.provider.moves_money:
        profile = profile_of(session, owner_id)
        if profile is None or profile.account_state != "ready":
            return unless(NoPayoutAccount(profile.account_words if profile else ""))
    return ALLOWED


# ── operators ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _add_admins(routes: Routes, context: Context, payments: Payments) -> None:
    @routes.get("/admin/cash-outs", visible="admin")
    async def list_all(
        state: Annotated[list[CashOutState] | None, Query()] = None,
        owner_id: Annotated[str | None, Query(max_length=40)] = None,
        order: ByCreation = "-created_at",
        limit: Annotated[int, Query(ge=1, le=ADMIN_LIMIT)] = 100,
        cursor: Cursor = None,
    ) -> AdminCashOutList:
        """Everybody's."""
        owners = None if owner_id is None else frozenset({owner_id})
        return await context.db.read(_list_all, payments, owners, state or [], order, cursor, limit)

    @routes.get("/admin/cash-outs/{cash_out_id}", name="show_for_admin", visible="admin", errors=[NoCashOut])
    async def show_any(cash_out_id: str) -> AdminCashOutView:
        """One of them."""
        return await context.db.read(_show, payments, cash_out_id)

    @routes.post(
        "/admin/cash-outs/{cash_out_id}/approve",
        visible="admin",
        errors=[NoCashOut, NotInThisState, Owes, NotCashable, Frozen],
    )
    async def approve(cash_out_id: str, body: CashOutDecision, caller: Caller) -> AdminCashOutView:
        """It may be paid: now by the processor, or by an operator, who says so with `paid`."""
        request_id = await context.db.run(
            cash_outs.approve,
            context,
            payments.provider,
            payments.units,
            cash_out_id,
            body.note,
            caller.user_id,
            context.now(),
        )
        if request_id is not None:
            await payments.send(request_id)
        return await context.db.read(_show, payments, cash_out_id)

    @routes.post(
        "/admin/cash-outs/{cash_out_id}/reject", visible="admin", errors=[NoCashOut, NotInThisState, PaidByProcessor]
    )
    async def reject(cash_out_id: str, body: Rejection, caller: Caller) -> AdminCashOutView:
        """The credits go back to the host's earnings."""
        await context.db.run(cash_outs.reject, cash_out_id, body.note, caller.user_id, context.now())
        return await context.db.read(_show, payments, cash_out_id)

    @routes.post(
        "/admin/cash-outs/{cash_out_id}/paid",
        name="mark_paid",
        visible="admin",
        errors=[NoCashOut, NotInThisState, PaidByProcessor, Frozen],
    )
    async def paid(cash_out_id: str, body: PaidByHand, caller: Caller) -> AdminCashOutView:
        """An operator sent the money."""
        actor, now = caller.user_id, context.now()
        await context.db.run(cash_outs.mark_paid, cash_out_id, body.reference, body.note, actor, now)
        return await context.db.read(_show, payments, cash_out_id)

    @routes.post(
        "/admin/cash-outs/{cash_out_id}/reverse",
        visible="admin",
        status_code=201,
        errors=[NoCashOut, BadAmount, NotPaid, PaidByHandOnly, NotThatMuchLeft, NoProcessor, ProcessorAway],
    )
    async def reverse(
        cash_out_id: str, body: ReversalRequest, caller: Caller, key: IdempotencyKey = None
    ) -> ReversalView:
        """The processor takes back what it paid, or a part of it. It pays what the host owes, the rest is earnings."""
        request_id = await context.db.run(_reverse, payments, caller, cash_out_id, body, key)
        await payments.send(request_id)
        return await context.db.read(_show_reversal, payments, request_id)


def _reverse(
    session: Session, payments: Payments, caller: Principal, cash_out_id: str, body: ReversalRequest, key: str | None
) -> str:
    context, now = payments.context, payments.context.now()
    micros = parse_amount(body.credits) if body.credits is not None else None
    reversal_id = context.new_id("reversal")
    if key is not None:
        asked = digest_of_fields(cash_out=cash_out_id, micros=micros, note=body.note)
        earlier = claim(session, caller.user_id, key, REVERSE_ROUTE, asked, reversal_id, now)
        if earlier is not None and (row := find_request(session, f"reversal/{earlier}")) is not None:
            return row.id
    actor = caller.user_id
    return reverse_cash_out(
        session, context, payments.provider, cash_out_id, reversal_id, micros, body.note, actor, now
    ).id


def _show_reversal(session: Session, payments: Payments, request_id: str) -> ReversalView:
    row = session.get_one(RequestRow, request_id)
    state, way = RequestState(row.state), payments.provider.name
    messages = {
        RequestState.DONE: "It is back: what the host owed is paid first, and the rest is in their earnings.",
        RequestState.WAITING: AWAY,
    }
    return ReversalView(
        id=row.params["reversal_id"],
        cash_out_id=row.params["cash_out_id"],
        owner_id=row.owner_id,
        credits=format_credits(row.params["micros"]),
        micros=row.params["micros"],
        state=state,
        message=messages.get(state, f"Nothing moved, as {way} refused it: {row.words}"),
    )


def _list_all(
    session: Session,
    payments: Payments,
    owners: frozenset[str] | None,
    states: list[CashOutState],
    order: str,
    cursor: str | None,
    limit: int,
) -> AdminCashOutList:
    rows, after, total = list_cash_outs(session, owners, states, order, cursor, limit)
    return AdminCashOutList(
        items=_admin_views(session, payments, rows),
        next=after,
        total=total,
        frozen=is_frozen(session),
    )


def _show(session: Session, payments: Payments, cash_out_id: str) -> AdminCashOutView:
    row = find_cash_out(session, cash_out_id)
    if row is None:
        raise NoCashOut(cash_out_id)
    return _admin_views(session, payments, [row])[0]


def _admin_views(session: Session, payments: Payments, rows: list[CashOutRow]) -> list[AdminCashOutView]:
    owners = sorted({row.owner_id for row in rows})
    emails = emails_of(session, owners)
    debts = named_balances(session, [account(owner_id, Kind.DEBT) for owner_id in owners])
    frozen = is_frozen(session)
    return [
        AdminCashOutView(
            **cash_out_view(row, payments.units).model_dump(),
            email=emails.get(row.owner_id),
            debt_micros=-debts[account(row.owner_id, Kind.DEBT)],
            admin_actions=admin_cash_out_actions(row, -debts[account(row.owner_id, Kind.DEBT)], is_frozen=frozen),
            asked_by=row.asked_by,
            decided_by=row.decided_by,
            way=row.way,
        )
        for row in rows
    ]


def amount_of(units: Units, micros: int) -> str:
    value = Decimal(micros) * units.credit_value / MICROS_PER_CREDIT
    places = Decimal(1).scaleb(-units.decimals)
    shown = value.quantize(places) if value == value.quantize(places) else value.normalize()
    return f"{shown:f} {units.currency.upper()}"


def cash_out_view(row: CashOutRow, units: Units) -> CashOutView:
    state = CashOutState(row.state)
    return CashOutView(
        id=row.id,
        owner_id=row.owner_id,
        credits=format_credits(row.micros),
        micros=row.micros,
        amount=amount_of(units, row.micros),
        state=state,
        message=WORDS[state],
        note=row.note,
        reference=row.reference,
        returned_micros=row.returned_micros,
        created_at=row.created_at,
        approved_at=row.approved_at,
        ended_at=row.ended_at,
        actions=CashOutActions(
            cancel=ALLOWED
            if state is CashOutState.REQUESTED
            else refused(f"It is {state}: only a request can be taken back.")
        ),
    )
