"""Credits by hand: an operator took money elsewhere, gives a present, or takes credits back."""

from datetime import datetime

from sqlalchemy.orm import Session

from computepool.hub.core.records import record
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import Posted, post


def grant(
    session: Session,
    *,
    grant_id: str,
    owner_id: str,
    micros: int,
    note: str,
    actor: str,
    now: datetime,
    promotional: bool = False,
) -> Posted:
    """Paid for, or promotional: a present, which can be spent and never cashed out."""
    source = platform(Platform.SUBSIDY if promotional else Platform.CLEARING)
    pocket = account(owner_id, Kind.PROMOTIONAL if promotional else Kind.AVAILABLE)
    entry = Entry(f"grant/{grant_id}", "grant", (Posting(source, pocket, micros),), actor=actor, note=note)
    posted = post(session, entry, now)
    if posted.is_new:
        about = {"grant": grant_id, "micros": micros, "note": note, "promotional": promotional}
        record(session, "credits.granted", owner_id, now, actor=actor, topics=(f"wallet/{owner_id}",), **about)
    return posted


def withdraw(
    session: Session,
    *,
    grant_id: str,
    owner_id: str,
    micros: int,
    note: str,
    actor: str,
    now: datetime,
    promotional: bool = False,
) -> Posted:
    """The other way round. Raises NotEnough if they are spent."""
    target = platform(Platform.SUBSIDY if promotional else Platform.CLEARING)
    pocket = account(owner_id, Kind.PROMOTIONAL if promotional else Kind.AVAILABLE)
    entry = Entry(f"withdrawal/{grant_id}", "withdrawal", (Posting(pocket, target, micros),), actor=actor, note=note)
    posted = post(session, entry, now)
    if posted.is_new:
        about = {"withdrawal": grant_id, "micros": micros, "note": note, "promotional": promotional}
        record(session, "credits.withdrawn", owner_id, now, actor=actor, topics=(f"wallet/{owner_id}",), **about)
    return posted
