"""What an owner arranged: a card to pay with, what may be charged by itself, and where their money goes."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy.orm import Session

from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.notices import mail_topic
from computepool.hub.core.records import record
from computepool.hub.payments.provider import Card, PayoutAccount
from computepool.hub.payments.tables import WORDS_LIMIT, ProfileRow


class Plan(StrEnum):
    NONE = "none"
    AUTOMATIC = "automatic"
    """Below a threshold, a fixed amount is charged."""
    PER_JOB = "per_job"
    """What a job lacks is charged, when it lacks it."""


def profile_of(session: Session, owner_id: str) -> ProfileRow | None:
    return session.get(ProfileRow, owner_id)


def own_profile(session: Session, owner_id: str, now: datetime) -> ProfileRow:
    """Made if there is none; whoever has it may change it."""
    insert_if_absent(
        session,
        ProfileRow,
        ["owner_id"],
        owner_id=owner_id,
        plan=Plan.NONE,
        below_micros=0,
        amount_micros=0,
        monthly_micros=0,
        account_words="",
        changed_at=now,
    )
    return session.get_one(ProfileRow, owner_id, with_for_update=True, populate_existing=True)


def save_card(session: Session, owner_id: str, card: Card, now: datetime) -> None:
    profile = own_profile(session, owner_id, now)
    if profile.method_id == card.method_id:
        return
    profile.customer_id, profile.method_id, profile.card = card.customer_id, card.method_id, card.words
    profile.stopped = None
    profile.changed_at = now
    record(session, "card.saved", owner_id, now, topics=(f"wallet/{owner_id}",), card=card.words)


def forget_card(session: Session, owner_id: str, now: datetime, actor: str) -> None:
    profile = own_profile(session, owner_id, now)
    profile.customer_id = profile.method_id = profile.card = None
    profile.plan, profile.stopped, profile.changed_at = Plan.NONE, None, now
    record(session, "card.forgotten", owner_id, now, actor=actor, topics=(f"wallet/{owner_id}",))


def set_plan(
    session: Session,
    owner_id: str,
    plan: Plan,
    below_micros: int,
    amount_micros: int,
    monthly_micros: int,
    now: datetime,
    actor: str,
) -> None:
    profile = own_profile(session, owner_id, now)
    profile.plan, profile.below_micros, profile.amount_micros = plan, below_micros, amount_micros
    profile.monthly_micros, profile.stopped, profile.changed_at = monthly_micros, None, now
    about = {"plan": plan, "below": below_micros, "monthly": monthly_micros}
    record(session, "card.plan", owner_id, now, actor=actor, topics=(f"wallet/{owner_id}",), **about)


def stop_plan(session: Session, owner_id: str, words: str, now: datetime) -> None:
    """A card that was declined is not tried again and again: its owner has to look at it."""
    profile = own_profile(session, owner_id, now)
    profile.stopped, profile.changed_at = words[:WORDS_LIMIT], now
    topics = (f"wallet/{owner_id}", mail_topic(owner_id))
    record(session, "card.stopped", owner_id, now, topics=topics, words=words[:WORDS_LIMIT])


def save_account(session: Session, owner_id: str, account: PayoutAccount, now: datetime) -> None:
    profile = own_profile(session, owner_id, now)
    if profile.account_id not in (None, account.id) and profile.account_state != "gone":
        return  # one that was replaced
    if (profile.account_id, profile.account_state) != (account.id, account.state):
        topics = (f"wallet/{owner_id}",)
        record(session, "payout_account.changed", owner_id, now, topics=topics, account=account.id, state=account.state)
    profile.account_id, profile.account_state = account.id, account.state
    profile.account_words, profile.changed_at = account.words[:WORDS_LIMIT], now
