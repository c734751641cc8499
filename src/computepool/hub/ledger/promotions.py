"""Promotional credit: the platform gives it; it can be spent, and cannot be cashed out."""

from datetime import datetime

from sqlalchemy.orm import Session

from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, moved
from computepool.hub.ledger.journal import post
from computepool.protocol.units import MICROS_PER_CREDIT


def grant_welcome(session: Session, owner_id: str, credits: int, now: datetime) -> bool:
    """Once for each owner, in the transaction that makes the account. False if there is nothing to give."""
    postings = moved(platform(Platform.SUBSIDY), account(owner_id, Kind.PROMOTIONAL), credits * MICROS_PER_CREDIT)
    if not postings:
        return False
    return post(session, Entry(f"welcome/{owner_id}", "welcome", postings, note="Welcome."), now).is_new
