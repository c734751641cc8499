"""What renters and hosts do about money that comes and goes, and where the processor tells what happened."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from sqlalchemy.orm import Session

from computepool.hub.accounts.repository import find_user
from computepool.hub.api.payment_views import (
    AccountRequest,
    CardView,
    PaymentActions,
    PaymentsView,
    PayoutAccountActions,
    PayoutAccountView,
    PlanRequest,
    PlanView,
    TopUpList,
    TopUpQuote,
    TopUpQuoteActions,
    TopUpRequest,
    TopUpView,
    WebhookReceived,
    plan_view,
    top_up_view,
)
from computepool.hub.core.actions import ALLOWED, ActionView, refused
from computepool.hub.core.context import Context
from computepool.hub.core.errors import Forbidden, Invalid, NotFound
from computepool.hub.core.http import ActingFor, Caller, IdempotencyKey, Principal, Routes, Scope
from computepool.hub.core.idempotency import claim, digest_of_fields
from computepool.hub.core.money import money_routes
from computepool.hub.core.paging import ByCreation, Cursor
from computepool.hub.engine import Engine
from computepool.hub.payments import events, outgoing, profiles, top_ups
from computepool.hub.payments.amounts import BadAmount, parse_amount
from computepool.hub.payments.background import Payments
from computepool.hub.payments.errors import (
    BadSignature,
    NoCard,
    NoProcessor,
    NoTopUp,
    NoWebhooks,
    PaysByHand,
    ProcessorAway,
)
from computepool.hub.payments.manual import HOW_TO_BE_PAID, HOW_TO_TOP_UP
from computepool.hub.payments.pay_outs import ask_account
from computepool.hub.payments.profiles import Plan
from computepool.hub.payments.provider import NoSuchObject, ProviderUnreachable, Refused, Subject
from computepool.hub.payments.signatures import check_signature
from computepool.hub.payments.states import RequestState, TopUpState
from computepool.hub.payments.tables import ProfileRow, RequestRow, TopUpRow
from computepool.hub.payments.top_up_rows import list_top_ups
from computepool.protocol.units import format_credits, spell_credits

TOP_UP_ROUTE = "POST wallet/top-ups"
LIST_LIMIT = 100
Limit = Annotated[int, Query(ge=1, le=500)]
WEBHOOK_LIMIT_BYTES = 1024**2
"""The processor's events are signed as a whole, so they are read before it is known who sent them."""
AWAY = "The payment processor does not answer now. Nothing is lost: it is asked again by itself."


def router(engine: Engine) -> APIRouter:
    context, payments = engine.context, engine.payments
    routes = money_routes(engine.directory.authenticate, context.settings, tags=["payments"])
    _add_top_ups(routes, context, payments)
    _add_card(routes, context, payments)
    _add_payout_account(routes, context, payments)
    _add_webhook(routes, context, payments)
    return routes.router


# ── top-ups ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _add_top_ups(routes: Routes, context: Context, payments: Payments) -> None:
    def view(row: TopUpRow) -> TopUpView:
        return top_up_view(row, payments.units.spelled(row.minor))

    @routes.post(
        "/wallet/top-ups",
        visible="own",
        scope=Scope.WALLET_WRITE,
        status_code=201,
        errors=[BadAmount, NoProcessor, NoCard, ProcessorAway],
    )
    async def top_up(
        request: Request, body: TopUpRequest, caller: Caller, owner: ActingFor, key: IdempotencyKey = None
    ) -> TopUpView:
        """Buy credits. The answer says where to pay; without a processor, whom to ask."""
        micros = parse_amount(body.credits)
        if not payments.provider.moves_money:
            message = HOW_TO_TOP_UP.format(who=owner, credits=format_credits(micros))
            raise NoProcessor(message, "Or it sets up a processor: docs/guides/stripe.md")
        wish = top_ups.Wish(
            top_up_id=context.new_id("topup"),
            owner_id=own_wallet(caller, body.owner_id, owner),
            micros=micros,
            way="checkout" if body.card == "new" else "card",
            return_url=_wallet_page(context, request),
            save_card=body.save_card,
            actor=caller.user_id,
        )
        top_up_id, request_id = await context.db.run(_start, payments, caller, wish, key)
        await payments.send(request_id)
        return view(await context.db.read(top_ups.own_top_up, caller.owner_ids, top_up_id))

    @routes.get(
        "/wallet/top-ups/quote",
        name="quote_top_up",
        visible="own",
        scope=Scope.WALLET_READ,
        errors=[BadAmount],
    )
    async def quote(
        credits: Annotated[str | None, Query(max_length=40)] = None,
        amount: Annotated[str | None, Query(max_length=40)] = None,
    ) -> TopUpQuote:
        """What so many credits cost, or how many credits so much money buys: one of the two. Nothing is charged."""
        if (credits is None) == (amount is None):
            raise BadAmount("Say `credits` or `amount`, one of them.", hint="Such as ?credits=100 or ?amount=50.00.")
        return _quote(payments, parse_amount(credits) if amount is None else payments.units.micros_for(amount))

    @routes.get("/wallet/top-ups", name="list_top_ups", visible="own", scope=Scope.WALLET_READ)
    async def list_all(
        caller: Caller,
        state: TopUpState | None = None,
        order: ByCreation = "-created_at",
        limit: Limit = LIST_LIMIT,
        cursor: Cursor = None,
    ) -> TopUpList:
        """The caller's top-ups."""
        rows, after, total = await context.db.read(list_top_ups, caller.owner_ids, state, order, cursor, limit)
        return TopUpList(items=[view(row) for row in rows], next=after, total=total)

    @routes.get(
        "/wallet/top-ups/{top_up_id}", name="show_top_up", visible="own", scope=Scope.WALLET_READ, errors=[NoTopUp]
    )
    async def show(top_up_id: str, caller: Caller) -> TopUpView:
        """One top-up, and where it is."""
        return view(await context.db.read(top_ups.own_top_up, caller.owner_ids, top_up_id))


def _quote(payments: Payments, asked: int) -> TopUpQuote:
    units = payments.units
    micros = units.rounded_up(asked)
    minor = units.minor_of(micros)
    return TopUpQuote(
        credits=format_credits(micros),
        micros=micros,
        amount=units.spelled(minor),
        currency=units.currency.upper(),
        amount_minor=minor,
        is_exact=micros == asked,
        message=f"{spell_credits(micros)} = {units.spelled(minor)}",
        actions=TopUpQuoteActions(top_up=_with_processor(payments)),
    )


def _with_processor(payments: Payments) -> ActionView:
    return (
        ALLOWED if payments.provider.moves_money else refused("This pool takes no cards: its operator grants credits.")
    )


def _start(
    session: Session, payments: Payments, caller: Principal, wish: top_ups.Wish, key: str | None
) -> tuple[str, str]:
    """The ids of the top-up and of its request; of the earlier ones if this is a repetition."""
    context, now = payments.context, payments.context.now()
    if key is not None:
        asked = digest_of_fields(owner=wish.owner_id, micros=wish.micros, way=wish.way, save=wish.save_card)
        earlier = claim(session, caller.user_id, key, TOP_UP_ROUTE, asked, wish.top_up_id, now)
        if earlier is not None:
            return earlier, _request_of(session, f"top-up/{earlier}")
    return wish.top_up_id, top_ups.start_top_up(session, context, payments.units, wish, now).id


def _request_of(session: Session, key: str) -> str:
    row = outgoing.find_request(session, key)
    if row is None:
        raise NotFound("The request that this one repeats is gone.")
    return row.id


# ── the saved card ───────────────────────────────────────────────────────────────────────────────────────────────────


def _add_card(routes: Routes, context: Context, payments: Payments) -> None:
    @routes.get("/wallet/payments", visible="own", scope=Scope.WALLET_READ)
    async def show(owner: ActingFor) -> PaymentsView:
        """How credits are bought and paid out here, and what the caller arranged."""
        row = await context.db.read(profiles.profile_of, owner)
        by_hand = not payments.provider.moves_money
        return PaymentsView(
            provider=payments.provider.name,
            currency=payments.units.currency,
            credit_value=str(payments.units.credit_value),
            card=row.card if row else None,
            plan=plan_view(row),
            payout_account=_account_view(row, by_hand=by_hand),
            message=HOW_TO_TOP_UP.format(who=owner, credits="N")
            if by_hand
            else "Cards are taken. Card numbers are typed on the processor's own page and never come here.",
            actions=_payment_actions(payments, has_card=row is not None and row.method_id is not None),
        )

    @routes.post(
        "/wallet/card",
        name="save_card",
        visible="own",
        scope=Scope.WALLET_WRITE,
        status_code=201,
        errors=[NoProcessor, ProcessorAway],
    )
    async def save(request: Request, owner: ActingFor) -> CardView:
        """A page of the processor's on which to leave a card for later."""
        _need_processor(payments)
        page, card_id = _wallet_page(context, request), context.new_id("card")
        row = await context.db.run(top_ups.ask_for_card, context, payments.units, owner, card_id, page, context.now())
        await payments.send(row.id)
        row = await context.db.read(lambda session: session.get_one(RequestRow, row.id))
        if row.state != RequestState.DONE or row.object_id is None:
            waits = row.state == RequestState.WAITING
            return CardView(state="pending" if waits else "failed", url=None, message=AWAY if waits else row.words)
        fact = await _asked(context, payments, Subject("checkout", row.object_id))
        return CardView(state="open", url=getattr(fact, "url", None), message="Leave your card on this page.")

    @routes.delete(
        "/wallet/card",
        name="forget_card",
        visible="own",
        scope=Scope.WALLET_WRITE,
        status_code=204,
        errors=[NoProcessor, ProcessorAway],
    )
    async def forget(caller: Caller, owner: ActingFor) -> None:
        """Forget the saved card: nothing is charged to it any more."""
        await context.db.run(profiles.forget_card, owner, context.now(), caller.user_id)

    @routes.put(
        "/wallet/plan",
        name="set_plan",
        visible="own",
        scope=Scope.WALLET_WRITE,
        errors=[BadAmount, NoCard, NoProcessor],
    )
    async def plan(body: PlanRequest, caller: Caller, owner: ActingFor) -> PlanView:
        """What may be charged to the saved card without asking each time."""
        if body.plan is not Plan.NONE:
            _need_processor(payments)
        return await context.db.run(_set_plan, payments, caller, owner, body)


def _payment_actions(payments: Payments, *, has_card: bool) -> PaymentActions:
    cards = _with_processor(payments)
    with_card = cards if not cards.allowed or has_card else refused("There is no saved card.")
    return PaymentActions(
        top_up=cards,
        save_card=cards,
        forget_card=ALLOWED if has_card else refused("There is no saved card."),
        set_plan=with_card,
        redeem_voucher=ALLOWED,
    )


def _set_plan(session: Session, payments: Payments, caller: Principal, owner_id: str, body: PlanRequest) -> PlanView:
    below = amount = monthly = 0
    if body.plan is not Plan.NONE:
        profile = profiles.profile_of(session, owner_id)
        if profile is None or profile.method_id is None:
            raise NoCard
        monthly = parse_amount(body.monthly)
    if body.plan is Plan.AUTOMATIC:
        below, amount = parse_amount(body.below), parse_amount(body.amount)
    elif body.plan is Plan.PER_JOB and body.amount:
        amount = parse_amount(body.amount)
    if amount:
        payments.units.minor_of(amount)
    if amount > monthly:
        raise Invalid("One charge would be more than the monthly limit.", hint="Raise `monthly`, or lower `amount`.")
    now = payments.context.now()
    profiles.set_plan(session, owner_id, body.plan, below, amount, monthly, now, caller.user_id)
    return plan_view(profiles.profile_of(session, owner_id))


# ── where a host's money goes ────────────────────────────────────────────────────────────────────────────────────────


def _add_payout_account(routes: Routes, context: Context, payments: Payments) -> None:
    @routes.get(
        "/wallet/payout-account",
        name="show_payout_account",
        visible="own",
        scope=Scope.WALLET_READ,
        errors=[ProcessorAway],
    )
    async def show(owner: ActingFor) -> PayoutAccountView:
        """Where cash-outs are paid to, and what is still missing for it."""
        row = await context.db.read(profiles.profile_of, owner)
        return _account_view(row, by_hand=not payments.provider.moves_money)

    @routes.post(
        "/wallet/payout-account",
        name="begin_payout_account",
        visible="own",
        scope=Scope.WALLET_PAYOUT,
        errors=[NoProcessor, ProcessorAway],
    )
    async def begin(request: Request, body: AccountRequest, caller: Caller, owner: ActingFor) -> PayoutAccountView:
        """Say where money goes, on the processor's own page."""
        if not payments.provider.moves_money:
            raise PaysByHand
        request_id = await context.db.run(_ask_account, context, caller, owner, body)
        if request_id is not None:
            await payments.send(request_id)
        row = await context.db.read(profiles.profile_of, owner)
        if request_id is not None and (row is None or row.account_id is None or row.account_state == "gone"):
            asked = await context.db.read(lambda session: session.get_one(RequestRow, request_id))
            waits = asked.state == RequestState.WAITING
            return PayoutAccountView(
                state="pending" if waits else "none",
                message=AWAY if waits else asked.words,
                actions=PayoutAccountActions(begin=ALLOWED),
            )
        if row is None or row.account_id is None:
            raise ProcessorAway("it has not made an account yet")
        await _asked(context, payments, Subject("account", row.account_id), learn=True)
        page = _wallet_page(context, request)
        url = await _told(context, payments.provider.onboarding_url, row.account_id, page)
        row = await context.db.read(profiles.profile_of, owner)
        return _account_view(row, by_hand=False).model_copy(update={"url": url})


def _ask_account(
    session: Session, context: Context, caller: Principal, owner_id: str, body: AccountRequest
) -> str | None:
    user = find_user(session, caller.user_id)
    country = body.country or (user.country if user else None)
    asked = ask_account(session, context, owner_id, country, context.now())
    return None if asked is None else asked.id


def _account_view(row: ProfileRow | None, *, by_hand: bool) -> PayoutAccountView:
    if by_hand:
        by_operator = refused("An operator pays by hand here: tell them where to.")
        return PayoutAccountView(
            state="by_hand", message=HOW_TO_BE_PAID, actions=PayoutAccountActions(begin=by_operator)
        )
    actions = PayoutAccountActions(begin=ALLOWED)
    if row is None or row.account_state is None:
        return PayoutAccountView(state="none", message="Nobody knows where to send your money yet.", actions=actions)
    ready = "Money can be sent to you."
    state: Any = row.account_state
    message = ready if row.account_state == "ready" else row.account_words
    return PayoutAccountView(state=state, message=message, actions=actions)


# ── what the processor tells ─────────────────────────────────────────────────────────────────────────────────────────


def _add_webhook(routes: Routes, context: Context, payments: Payments) -> None:
    @routes.post(
        "/payments/stripe/webhook",
        name="receive_webhook",
        visible="signed",
        body_limit_bytes=WEBHOOK_LIMIT_BYTES,
        errors=[BadSignature, NoWebhooks, Invalid],
    )
    async def hear(request: Request) -> WebhookReceived:
        """Stored before it is answered; looked into afterwards."""
        secrets = context.settings.stripe_webhook_secret
        if secrets is None or not payments.provider.moves_money:
            raise NoWebhooks
        body = await request.body()
        check_signature(body, request.headers.get("stripe-signature"), secrets, context.now())
        try:
            event = json.loads(body)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            raise Invalid("The body is not a JSON object.")
        is_live = bool(getattr(payments.provider, "is_live", False))
        await context.db.run(events.store_event, event, is_live, context.now())
        payments.wake()
        return WebhookReceived()


# ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _need_processor(payments: Payments) -> None:
    if not payments.provider.moves_money:
        raise NoProcessor("This pool takes no cards.")


def own_wallet(caller: Principal, owner_id: str | None, acting_for: str) -> str:
    """Whose wallet is meant. `owner_id` is an older way to say `team`."""
    if owner_id is None:
        return acting_for
    if not caller.owns(owner_id):
        raise Forbidden("That wallet is not yours.")
    return owner_id


def _wallet_page(context: Context, request: Request) -> str:
    return f"{(context.settings.public_url or str(request.base_url)).rstrip('/')}/wallet"


async def _asked(context: Context, payments: Payments, subject: Subject, *, learn: bool = False) -> Any:
    if learn:
        try:
            return await payments.look_at(subject)
        except ProviderUnreachable as away:
            raise ProcessorAway(away.words) from away
    return await _told(context, payments.provider.look, subject)


async def _told(context: Context, ask: Any, *args: Any) -> Any:
    try:
        return await context.offload(ask, *args)
    except (ProviderUnreachable, Refused) as away:
        raise ProcessorAway(away.words) from away
    except NoSuchObject as gone:
        raise NotFound("The processor does not know it any more.") from gone
