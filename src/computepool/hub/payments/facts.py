"""What the processor says is so becomes so here: once, however often it is said, and in any order.

Every movement of money has a name at the processor, and its row (`MovementRow`) is written by whoever posts it. A fact
that is older than what is known adds nothing, as money that moved stays moved.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.notices import mail_topic
from computepool.hub.core.owners import Owner
from computepool.hub.core.records import record
from computepool.hub.ledger.tables import EntryRow
from computepool.hub.payments import moving, outgoing
from computepool.hub.payments.amounts import Units
from computepool.hub.payments.hooks import Chargeback, Hooks, PayOutResult, ReversalResult
from computepool.hub.payments.profiles import save_account, save_card, stop_plan
from computepool.hub.payments.provider import (
    About,
    Checkout,
    Fact,
    Payment,
    PaymentState,
    PayoutAccount,
    Refund,
    RequestKind,
    TakenBack,
    Transfer,
    Withdrawal,
)
from computepool.hub.payments.states import RequestState, TopUpState
from computepool.hub.payments.tables import MovementRow, ProfileRow, RequestRow, TopUpRow
from computepool.hub.payments.top_up_rows import find_top_up, move_top_up
from computepool.hub.payments.top_ups import ALONE

_AT_PROCESSOR = {
    PaymentState.PROCESSING: TopUpState.PROCESSING,
    PaymentState.NEEDS_CONFIRMATION: TopUpState.PROCESSING,
    PaymentState.NEEDS_ACTION: TopUpState.REQUIRES_ACTION,
    PaymentState.FAILED: TopUpState.FAILED,
    PaymentState.CANCELED: TopUpState.EXPIRED,
}
_DECIDED_BY_ITS_PAGE = {PaymentState.FAILED, PaymentState.NEEDS_ACTION, PaymentState.NEEDS_CONFIRMATION}
"""On the processor's page a person may try another card: what counts is how the page ends."""


@dataclass(frozen=True)
class Desk:
    """What it takes to make something of a fact."""

    context: Context
    units: Units
    hooks: Hooks


def apply(session: Session, desk: Desk, fact: Fact, now: datetime) -> bool:
    """False: this hub did not ask for it, so nothing was done."""
    if fact.about.hub_id != desk.context.hub_id:
        return False
    if isinstance(fact, Payment):
        return _apply_payment(session, desk, fact, now)
    if isinstance(fact, Checkout):
        return _apply_checkout(session, fact, now)
    if isinstance(fact, PayoutAccount):
        return _apply_account(session, fact, now)
    return _apply_transfer(session, desk, fact, now)


# ── money in ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _apply_payment(session: Session, desk: Desk, fact: Payment, now: datetime) -> bool:
    top_up = find_top_up(session, fact.about.request)
    owner_id = _owner_of(session, top_up.owner_id if top_up else fact.about.owner_id)
    if owner_id is None or fact.currency != (top_up.currency if top_up else desk.units.currency):
        return False
    _end_request(session, fact.about.request, fact.id, now)
    if top_up is not None:
        _follow(session, desk, fact, top_up, now)
    if fact.card is not None:
        save_card(session, owner_id, fact.card, now)
    if fact.state is PaymentState.PAID:
        _credit(session, desk, fact, owner_id, top_up, now)
        for refund in fact.refunds:
            _apply_refund(session, desk, fact, refund, owner_id, top_up, now)
        for withdrawal in fact.withdrawals:
            _apply_withdrawal(session, desk, fact, withdrawal, owner_id, top_up, now)
    return True


def _follow(session: Session, desk: Desk, fact: Payment, top_up: TopUpRow, now: datetime) -> None:
    if fact.state is PaymentState.PAID:
        move_top_up(session, top_up.id, TopUpState.PAID, now, payment_id=fact.id)
        return
    if fact.state not in _AT_PROCESSOR or (top_up.way == "checkout" and fact.state in _DECIDED_BY_ITS_PAGE):
        return
    before = top_up.state
    changed = move_top_up(
        session, top_up.id, _AT_PROCESSOR[fact.state], now, payment_id=fact.id, url=fact.url, words=fact.words
    )
    if changed:
        _tell_absent(session, fact, top_up, before, now)
    if fact.state is PaymentState.NEEDS_CONFIRMATION and top_up.state not in (TopUpState.FAILED, TopUpState.PAID):
        _ask_to_confirm(session, desk, fact, top_up, now)
    if changed and fact.state is PaymentState.FAILED and top_up.way != "card":
        stop_plan(session, top_up.owner_id, fact.words or "The card was declined.", now)


def _tell_absent(session: Session, fact: Payment, top_up: TopUpRow, before: str, now: datetime) -> None:
    """Whoever does not wait for the answer: their bank asks something, or what was under way failed in the end."""
    if fact.state is PaymentState.NEEDS_ACTION and top_up.way in ALONE:
        action = "top_up.requires_action"
    elif fact.state is PaymentState.FAILED and top_up.way not in ALONE and before == TopUpState.PROCESSING:
        action = "top_up.failed"
    else:
        return
    about: dict[str, Any] = {"top_up": top_up.id, "micros": top_up.micros, "words": fact.words}
    topics = (f"wallet/{top_up.owner_id}", mail_topic(top_up.owner_id))
    record(session, action, top_up.owner_id, now, topics=topics, **about)


def _ask_to_confirm(session: Session, desk: Desk, fact: Payment, top_up: TopUpRow, now: datetime) -> None:
    charge = outgoing.find_request(session, f"top-up/{top_up.id}")
    if charge is not None:
        params = {
            "payment_id": fact.id,
            "method_id": charge.params["method_id"],
            "return_url": charge.params["return_url"],
        }
        outgoing.ask(session, desk.context, RequestKind.CONFIRM, f"confirm/{top_up.id}", top_up.owner_id, params, now)


def _credit(session: Session, desk: Desk, fact: Payment, owner_id: str, top_up: TopUpRow | None, now: datetime) -> None:
    micros = _worth(desk, fact.minor, top_up)
    if not micros or not moving.is_new(
        session, fact.id, "payment", fact.id, owner_id, fact.minor, micros, fact.currency, fact.at, now
    ):
        return
    paid: dict[str, Any] = {"payment": fact.id, "minor": fact.minor, "currency": fact.currency}
    moving.credit(session, f"payment/{fact.id}", "top_up", owner_id, micros, now, **paid)
    record(session, "payment.credited", owner_id, now, topics=(f"wallet/{owner_id}",), micros=micros, **paid)


def _worth(desk: Desk, minor: int, top_up: TopUpRow | None) -> int:
    """A part of a top-up is worth that part of its credits, whatever a credit is worth today."""
    return top_up.micros * minor // top_up.minor if top_up is not None else desk.units.micros_of(minor)


# ── money that goes back to who paid ─────────────────────────────────────────────────────────────────────────────────


def _apply_refund(
    session: Session, desk: Desk, fact: Payment, refund: Refund, owner_id: str, top_up: TopUpRow | None, now: datetime
) -> None:
    asked = _own_request(session, refund.about, RequestKind.REFUND)
    micros = asked.params["micros"] if asked is not None else _worth(desk, refund.minor, top_up)
    minor = 0 if refund.is_failed else -refund.minor  # one that failed before it was heard of never moved anything
    came = (owner_id, minor, micros, fact.currency, refund.at, now)
    if moving.is_new(session, refund.id, "refund", fact.id, *came):
        if asked is not None:
            outgoing.end(session, asked.id, RequestState.DONE, now, object_id=refund.id)
            kind = "refund_failed" if refund.is_failed else "refund"
            moving.end_set_aside(session, f"refund/{refund.id}", kind, owner_id, micros, not refund.is_failed, now)
        elif not refund.is_failed:
            moving.take(session, f"refund/{refund.id}", "refund", owner_id, micros, now, payment=fact.id)
        record(
            session,
            "payment.refunded",
            owner_id,
            now,
            topics=(f"wallet/{owner_id}",),
            refund=refund.id,
            micros=micros,
            failed=refund.is_failed,
        )
        return
    failed_id = f"{refund.id}/failed"
    if not refund.is_failed or session.get_one(MovementRow, refund.id).minor == 0:
        return
    came = (owner_id, refund.minor, micros, fact.currency, refund.at, now)
    if moving.is_new(session, failed_id, "refund_failed", fact.id, *came):
        earnings = _taken_from_earnings(session, f"refund/{refund.id}")
        moving.give_back(session, f"refund/{failed_id}", "refund_failed", owner_id, micros, earnings, now)
        record(session, "payment.refund_failed", owner_id, now, refund=refund.id, micros=micros)


def _apply_withdrawal(
    session: Session,
    desk: Desk,
    fact: Payment,
    one: Withdrawal,
    owner_id: str,
    top_up: TopUpRow | None,
    now: datetime,
) -> None:
    micros = _worth(desk, one.minor, top_up)
    news = []
    if one.withdrawn_at is not None and moving.is_new(
        session,
        f"{one.id}/withdrawn",
        "chargeback",
        fact.id,
        owner_id,
        -one.minor,
        micros,
        fact.currency,
        one.withdrawn_at,
        now,
    ):
        moving.take(session, f"chargeback/{one.id}", "chargeback", owner_id, micros, now, payment=fact.id)
        news.append(Chargeback(one.id, owner_id, fact.id, micros, one.reason, "opened"))
    if one.reinstated_at is not None and moving.is_new(
        session,
        f"{one.id}/reinstated",
        "chargeback_won",
        fact.id,
        owner_id,
        one.minor,
        micros,
        fact.currency,
        one.reinstated_at,
        now,
    ):
        earnings = _taken_from_earnings(session, f"chargeback/{one.id}")
        key = f"chargeback/{one.id}/won"
        moving.give_back(session, key, "chargeback_won", owner_id, micros, earnings, now, payment=fact.id)
        news.append(Chargeback(one.id, owner_id, fact.id, micros, one.reason, "won"))
    lost = (owner_id, 0, micros, fact.currency, fact.at, now)
    if one.is_lost and moving.is_new(session, f"{one.id}/lost", "chargeback_lost", fact.id, *lost):
        news.append(Chargeback(one.id, owner_id, fact.id, micros, one.reason, "lost"))
    for each in news:
        about: dict[str, Any] = {
            "chargeback": each.object_id,
            "payment": fact.id,
            "micros": micros,
            "reason": each.reason,
        }
        record(session, f"payment.chargeback_{each.state}", owner_id, now, topics=(f"wallet/{owner_id}",), **about)
        desk.hooks.on_chargeback(session, each, now)


def _taken_from_earnings(session: Session, key: str) -> int:
    details = session.scalar(select(EntryRow.details).where(EntryRow.key == key))
    return int((details or {}).get("parts", {}).get("earnings", 0))


# ── pages, accounts, money out ───────────────────────────────────────────────────────────────────────────────────────


def _apply_checkout(session: Session, fact: Checkout, now: datetime) -> bool:
    owner_id = _owner_of(session, fact.about.owner_id)
    if owner_id is None:
        return False
    _end_request(session, fact.about.request, fact.id, now)
    top_up = find_top_up(session, fact.about.request)
    if top_up is not None and fact.state == "open":
        move_top_up(session, top_up.id, TopUpState.OPEN, now, url=fact.url)
    if top_up is not None and fact.state == "expired":
        move_top_up(session, top_up.id, TopUpState.EXPIRED, now)
    if fact.state == "complete" and fact.card is not None:
        save_card(session, owner_id, fact.card, now)
    return True


def _apply_account(session: Session, fact: PayoutAccount, now: datetime) -> bool:
    owner_id = _owner_of(session, fact.about.owner_id)
    if owner_id is None:
        return False
    _end_request(session, fact.about.request, fact.id, now)
    save_account(session, owner_id, fact, now)
    return True


def account_gone(session: Session, account_id: str, now: datetime) -> bool:
    """Its owner, or the processor, closed it. Whether it was one of ours."""
    profile = session.scalars(select(ProfileRow).where(ProfileRow.account_id == account_id)).one_or_none()
    if profile is None:
        return False
    about = About(owner_id=profile.owner_id)
    save_account(session, profile.owner_id, PayoutAccount(account_id, about, "gone", "The account was closed."), now)
    return True


def _apply_transfer(session: Session, desk: Desk, fact: Transfer, now: datetime) -> bool:
    request = _own_request(session, fact.about, RequestKind.PAY_OUT)
    if request is None:
        return False
    cash_out_id, micros = request.params["cash_out_id"], request.params["micros"]
    owner_id = request.owner_id
    came = (fact.id, owner_id, -fact.minor, micros, fact.currency, fact.at, now)
    if moving.is_new(session, fact.id, "pay_out", *came):
        if outgoing.end(session, request.id, RequestState.DONE, now, object_id=fact.id):
            desk.hooks.on_pay_out(session, PayOutResult(cash_out_id, owner_id, micros, "paid", fact.id), now)
        elif request.object_id != fact.id:  # taken for refused, and given back: the money is gone all the same
            moving.take(session, f"pay-out/{fact.id}", "pay_out", owner_id, micros, now, transfer=fact.id)
        record(session, "payment.paid_out", owner_id, now, transfer=fact.id, cash_out=cash_out_id, micros=micros)
    for taken in fact.reversals:
        _apply_reversal(session, desk, fact, taken, request, now)
    return True


def _apply_reversal(
    session: Session, desk: Desk, fact: Transfer, taken: TakenBack, request: RequestRow, now: datetime
) -> None:
    asked = _own_request(session, taken.about, RequestKind.REVERSAL)
    micros = request.params["micros"] * taken.minor // fact.minor
    came = (request.owner_id, taken.minor, micros, fact.currency, taken.at, now)
    if not moving.is_new(session, taken.id, "reversal", fact.id, *came):
        return
    if asked is not None:
        outgoing.end(session, asked.id, RequestState.DONE, now, object_id=taken.id)
    reversal_id = asked.params["reversal_id"] if asked is not None else None
    cash_out_id = request.params["cash_out_id"]
    result = ReversalResult(cash_out_id, reversal_id, request.owner_id, micros, "done", taken.id)
    record(session, "payment.taken_back", request.owner_id, now, transfer=fact.id, reversal=taken.id, micros=micros)
    desk.hooks.on_reversal(session, result, now)


# ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _owner_of(session: Session, owner_id: str | None) -> str | None:
    return owner_id if owner_id is not None and session.get(Owner, owner_id) is not None else None


def _own_request(session: Session, about: About, kind: RequestKind) -> RequestRow | None:
    row = outgoing.find_request(session, about.request) if about.request else None
    return row if row is not None and row.kind == kind else None


def _end_request(session: Session, key: str | None, object_id: str, now: datetime) -> None:
    """An event may tell what came of a request before its answer does."""
    row = outgoing.find_request(session, key) if key else None
    if row is not None and row.state == RequestState.WAITING:
        outgoing.end(session, row.id, RequestState.DONE, now, object_id=object_id)
