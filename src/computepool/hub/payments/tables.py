from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.core.tables import Base, BigId, Id

OBJECT_LIMIT = 120
"""Of the name of something at the processor, which may be longer than ours."""
WORDS_LIMIT = 500
_WAITING = text("state = 'waiting'")
_RECEIVED = text("state = 'received'")


class RequestRow(Base):
    """Everything that the hub asks the processor for, written before it is sent. This record decides, not the
    processor's memory of keys."""

    __tablename__ = "provider_requests"
    __table_args__ = (
        Index("ix_provider_requests_due", "next_try_at", sqlite_where=_WAITING, postgresql_where=_WAITING),
    )

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    key: Mapped[str] = mapped_column(String(OBJECT_LIMIT), unique=True)
    kind: Mapped[str] = mapped_column(String(12))
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    params: Mapped[dict[str, Any]]
    params_digest: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(8))
    generation: Mapped[int]
    """How many keys it had at the processor, which forgets one after a day."""
    tries: Mapped[int]
    first_sent_at: Mapped[datetime | None]
    """Under its present key."""
    is_doubtful: Mapped[bool]
    """The processor failed, and may give that same answer to this key from now on."""
    next_try_at: Mapped[datetime]
    object_id: Mapped[str | None] = mapped_column(String(OBJECT_LIMIT), index=True)
    words: Mapped[str] = mapped_column(String(WORDS_LIMIT))
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class EventRow(Base):
    """What the processor told, kept before anything is made of it."""

    __tablename__ = "payment_events"
    __table_args__ = (
        Index("ix_payment_events_due", "next_try_at", sqlite_where=_RECEIVED, postgresql_where=_RECEIVED),
    )

    id: Mapped[str] = mapped_column(String(OBJECT_LIMIT), primary_key=True)
    type: Mapped[str] = mapped_column(String(80))
    subject_kind: Mapped[str | None] = mapped_column(String(12))
    subject_id: Mapped[str | None] = mapped_column(String(OBJECT_LIMIT), index=True)
    payload: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(String(8), index=True)
    tries: Mapped[int]
    next_try_at: Mapped[datetime]
    words: Mapped[str] = mapped_column(String(WORDS_LIMIT))
    received_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class TopUpRow(Base):
    __tablename__ = "top_ups"
    __table_args__ = (Index("ix_top_ups_owner", "owner_id", "id"),)

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    way: Mapped[str] = mapped_column(String(10))
    """checkout, card (the person is there), automatic or per_job (nobody is)."""
    micros: Mapped[int] = mapped_column(BigInteger)
    minor: Mapped[int] = mapped_column(BigInteger)
    currency: Mapped[str] = mapped_column(String(3))
    state: Mapped[str] = mapped_column(String(16))
    url: Mapped[str | None]
    payment_id: Mapped[str | None] = mapped_column(String(OBJECT_LIMIT), index=True)
    words: Mapped[str] = mapped_column(String(WORDS_LIMIT))
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class ProfileRow(Base):
    """What an owner arranged with the processor: a card to pay with, an account to be paid to."""

    __tablename__ = "payment_profiles"

    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), primary_key=True)
    customer_id: Mapped[str | None] = mapped_column(String(OBJECT_LIMIT))
    method_id: Mapped[str | None] = mapped_column(String(OBJECT_LIMIT))
    card: Mapped[str | None] = mapped_column(String(60))
    plan: Mapped[str] = mapped_column(String(10), index=True)
    below_micros: Mapped[int] = mapped_column(BigInteger)
    amount_micros: Mapped[int] = mapped_column(BigInteger)
    monthly_micros: Mapped[int] = mapped_column(BigInteger)
    """The most that is charged by itself in a month of UTC."""
    stopped: Mapped[str | None] = mapped_column(String(WORDS_LIMIT))
    """Why nothing is charged by itself any more, until its owner says so."""
    account_id: Mapped[str | None] = mapped_column(String(OBJECT_LIMIT), index=True)
    account_state: Mapped[str | None] = mapped_column(String(12))
    account_words: Mapped[str] = mapped_column(String(WORDS_LIMIT))
    changed_at: Mapped[datetime]


class MovementRow(Base):
    """Money that moved at the processor, and that the ledger knows. Its name there is what makes it count once."""

    __tablename__ = "payment_movements"

    id: Mapped[str] = mapped_column(String(OBJECT_LIMIT), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    subject_id: Mapped[str] = mapped_column(String(OBJECT_LIMIT), index=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    minor: Mapped[int] = mapped_column(BigInteger)
    """More than zero: to the pool. Zero: it was said to move, and in the end did not."""
    micros: Mapped[int] = mapped_column(BigInteger)
    """Of the ledger; never below zero."""
    currency: Mapped[str] = mapped_column(String(3))
    happened_at: Mapped[datetime] = mapped_column(index=True)
    noted_at: Mapped[datetime]


class ReconciliationRow(Base):
    __tablename__ = "payment_reconciliations"

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    since: Mapped[datetime]
    until: Mapped[datetime] = mapped_column(index=True)
    compared: Mapped[int]
    differences: Mapped[int]
    made_at: Mapped[datetime]


class DifferenceRow(Base):
    """The processor says one thing about money, the ledger another."""

    __tablename__ = "payment_differences"
    __table_args__ = (UniqueConstraint("movement_id", "kind"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    movement_id: Mapped[str] = mapped_column(String(OBJECT_LIMIT))
    kind: Mapped[str] = mapped_column(String(16))
    """missing_here, missing_there, amount, currency, stuck"""
    here_minor: Mapped[int | None] = mapped_column(BigInteger)
    there_minor: Mapped[int | None] = mapped_column(BigInteger)
    words: Mapped[str] = mapped_column(String(WORDS_LIMIT))
    found_at: Mapped[datetime]
    settled_at: Mapped[datetime | None] = mapped_column(index=True)
