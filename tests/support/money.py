"""Credits for those who rent in tests."""

from datetime import datetime

from sqlalchemy.orm import Session

from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import post
from computepool.protocol.units import MICROS_PER_CREDIT

PLENTY = 1_000_000
"""Credits: more than any test spends."""


def give_credits(
    session: Session,
    owner_id: str,
    now: datetime,
    credits: float = PLENTY,
    *,
    kind: Kind = Kind.AVAILABLE,
    key: str = "first",
) -> None:
    """As an operator grants them; given once for each key."""
    source = platform(Platform.SUBSIDY if kind is Kind.PROMOTIONAL else Platform.CLEARING)
    posting = Posting(source, account(owner_id, kind), round(credits * MICROS_PER_CREDIT))
    post(session, Entry(f"test/{owner_id}/{kind}/{key}", "grant", (posting,), note="for a test"), now)
