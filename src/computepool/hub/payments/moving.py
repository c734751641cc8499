"""Postings of money that comes and goes at the processor. Nobody ends below zero: what is not there becomes debt."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting, moved
from computepool.hub.ledger.journal import balances, post
from computepool.hub.ledger.write_offs import return_to_pool
from computepool.hub.payments.tables import MovementRow

CLEARING = platform(Platform.CLEARING)


def is_new(
    session: Session,
    movement_id: str,
    kind: str,
    subject_id: str,
    owner_id: str,
    minor: int,
    micros: int,
    currency: str,
    happened_at: datetime,
    now: datetime,
) -> bool:
    """Note that money moved at the processor. Only whoever is told True posts it to the ledger."""
    return insert_if_absent(
        session,
        MovementRow,
        ["id"],
        id=movement_id,
        kind=kind,
        subject_id=subject_id,
        owner_id=owner_id,
        minor=minor,
        micros=micros,
        currency=currency,
        happened_at=happened_at,
        noted_at=now,
    )


def paid_in(session: Session, owner_id: str, micros: int) -> tuple[Posting, ...]:
    """Whoever owes the pool pays that first."""
    owed = min(-balances(session, owner_id, lock=True)[Kind.DEBT], micros)
    filled = moved(CLEARING, account(owner_id, Kind.DEBT), owed)
    return filled + moved(CLEARING, account(owner_id, Kind.AVAILABLE), micros - owed)


def credit(session: Session, key: str, kind: str, owner_id: str, micros: int, now: datetime, **details: Any) -> None:
    """Money came in."""
    _post(session, key, kind, paid_in(session, owner_id, micros), now, details)


def take(session: Session, key: str, kind: str, owner_id: str, micros: int, now: datetime, **details: Any) -> None:
    """Money went back: out of what was paid in, then out of earnings, and the rest is owed."""
    has = balances(session, owner_id, lock=True)
    available = min(has[Kind.AVAILABLE], micros)
    earnings = min(has[Kind.EARNINGS], micros - available)
    parts = {Kind.AVAILABLE: available, Kind.EARNINGS: earnings, Kind.DEBT: micros - available - earnings}
    postings = tuple(p for part, amount in parts.items() for p in moved(account(owner_id, part), CLEARING, amount))
    _post(session, key, kind, postings, now, details | {"parts": {part.value: parts[part] for part in parts}})


def give_back(
    session: Session, key: str, kind: str, owner_id: str, micros: int, earnings: int, now: datetime, **details: Any
) -> None:
    """What was taken comes back: what is still owed first, then as much to earnings as came from there. If the pool has
    borne a debt of theirs since, it gets that back."""
    owed = min(-balances(session, owner_id, lock=True)[Kind.DEBT], micros)
    earnings = min(earnings, micros - owed)
    postings = moved(CLEARING, account(owner_id, Kind.DEBT), owed)
    postings += moved(CLEARING, account(owner_id, Kind.EARNINGS), earnings)
    postings += moved(CLEARING, account(owner_id, Kind.AVAILABLE), micros - owed - earnings)
    _post(session, key, kind, postings, now, details)
    return_to_pool(session, f"{key}/written_off", owner_id, micros - owed, now)


def set_aside(session: Session, key: str, owner_id: str, micros: int, now: datetime, **about: Any) -> None:
    """On its way back to a card: it cannot be spent meanwhile. Raises NotEnough."""
    posting = Posting(account(owner_id, Kind.AVAILABLE), account(owner_id, Kind.CASHING_OUT), micros)
    post(session, Entry(key, "refund_asked", (posting,), **about), now)


def end_set_aside(session: Session, key: str, kind: str, owner_id: str, micros: int, gone: bool, now: datetime) -> None:
    """It arrived at the card, or it could not be sent and is there again."""
    to = CLEARING if gone else account(owner_id, Kind.AVAILABLE)
    post(session, Entry(key, kind, (Posting(account(owner_id, Kind.CASHING_OUT), to, micros),)), now)


def _post(
    session: Session, key: str, kind: str, postings: tuple[Posting, ...], now: datetime, details: Mapping[str, Any]
) -> None:
    if postings:
        post(session, Entry(key, kind, postings, details=dict(details)), now)
