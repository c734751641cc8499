"""Credits for money: on the processor's page, with the saved card, or back to the card."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.records import record
from computepool.hub.payments import moving, outgoing
from computepool.hub.payments.amounts import BadAmount, Units
from computepool.hub.payments.errors import NoCard, NoTopUp, NotPaidByCard
from computepool.hub.payments.profiles import profile_of
from computepool.hub.payments.provider import RequestKind
from computepool.hub.payments.states import TopUpState
from computepool.hub.payments.tables import RequestRow, TopUpRow
from computepool.protocol.units import format_credits, spell_credits

Way = Literal["checkout", "card", "automatic", "per_job"]
ALONE: frozenset[Way] = frozenset({"automatic", "per_job"})
"""Nobody is there to confirm anything."""


@dataclass(frozen=True)
class Wish:
    top_up_id: str
    owner_id: str
    micros: int
    way: Way
    return_url: str
    save_card: bool = False
    actor: str = "hub"


def start_top_up(session: Session, context: Context, units: Units, wish: Wish, now: datetime) -> RequestRow:
    """The top-up and the request for it. Nothing is sent before both are durable."""
    minor = units.minor_of(wish.micros)
    profile = profile_of(session, wish.owner_id)
    customer_id = profile.customer_id if profile else None
    method_id = profile.method_id if profile else None
    if wish.way != "checkout" and method_id is None:
        raise NoCard
    session.add(
        TopUpRow(
            id=wish.top_up_id,
            owner_id=wish.owner_id,
            way=wish.way,
            micros=wish.micros,
            minor=minor,
            currency=units.currency,
            state=TopUpState.PENDING,
            url=None,
            payment_id=None,
            words="",
            created_at=now,
            ended_at=None,
        )
    )
    params = {
        "minor": minor,
        "currency": units.currency,
        "title": f"{format_credits(wish.micros)} ComputePool credits",
        "return_url": wish.return_url,
        "customer_id": customer_id,
    }
    if wish.way == "checkout":
        kind = RequestKind.CHECKOUT
        params |= {"save_card": wish.save_card}
    else:
        kind = RequestKind.CHARGE
        params |= {"method_id": method_id, "is_alone": wish.way in ALONE}
    record(session, "top_up.asked", wish.owner_id, now, actor=wish.actor, top_up=wish.top_up_id, micros=wish.micros)
    return outgoing.ask(session, context, kind, f"top-up/{wish.top_up_id}", wish.owner_id, params, now)


def own_top_up(session: Session, owner_ids: frozenset[str], top_up_id: str) -> TopUpRow:
    row = session.get(TopUpRow, top_up_id)
    if row is None or row.owner_id not in owner_ids:
        raise NoTopUp(top_up_id)
    return row


def ask_for_card(
    session: Session, context: Context, units: Units, owner_id: str, card_id: str, return_url: str, now: datetime
) -> RequestRow:
    """A page on which a card is left with the processor, for later."""
    profile = profile_of(session, owner_id)
    customer_id = profile.customer_id if profile else None
    params = {"currency": units.currency, "customer_id": customer_id, "return_url": return_url}
    return outgoing.ask(session, context, RequestKind.CARD, f"card/{card_id}", owner_id, params, now)


def ask_refund(
    session: Session,
    context: Context,
    top_up_id: str,
    refund_id: str,
    micros: int,
    note: str,
    actor: str,
    now: datetime,
) -> RequestRow:
    """Unspent credits of a top-up go back to the card that paid for them. They are set aside until they arrived."""
    top_up = session.get(TopUpRow, top_up_id)
    if top_up is None:
        raise NoTopUp(top_up_id)
    if top_up.state != TopUpState.PAID or top_up.payment_id is None:
        raise NotPaidByCard(top_up_id)
    key = f"refund/{refund_id}"
    params = {
        "refund_id": refund_id,
        "payment_id": top_up.payment_id,
        "micros": micros,
        "minor": _part_of(top_up, micros),
    }
    owner_id = top_up.owner_id
    moving.set_aside(session, f"{key}/asked", owner_id, micros, now, actor=actor, note=note)
    record(session, "refund.asked", owner_id, now, actor=actor, top_up=top_up_id, micros=micros, note=note)
    return outgoing.ask(session, context, RequestKind.REFUND, key, owner_id, params, now)


def _part_of(top_up: TopUpRow, micros: int) -> int:
    """At what a credit was worth when it was bought."""
    minor, rest = divmod(micros * top_up.minor, top_up.micros)
    if rest or minor == 0:
        raise BadAmount(f"{spell_credits(micros)} is not a whole number of the currency's smallest unit.")
    return minor


def charged_since(session: Session, owner_id: str, since: datetime) -> int:
    """What was charged without the person being there, or is about to be."""
    live = [state for state in TopUpState if state not in (TopUpState.FAILED, TopUpState.EXPIRED)]
    query = select(func.sum(TopUpRow.micros)).where(
        TopUpRow.owner_id == owner_id,
        TopUpRow.way.in_(ALONE),
        TopUpRow.state.in_(live),
        TopUpRow.created_at >= since,
    )
    return int(session.scalar(query) or 0)
