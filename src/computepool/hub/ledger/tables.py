from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.core.tables import Base, BigId, Id
from computepool.hub.ledger.accounts import NAME_LIMIT
from computepool.hub.ledger.entries import KEY_LIMIT, NOTE_LIMIT

MOST_BALANCE = 2**62
"""SQLite would go on in floats beyond 2⁶³. Nothing comes near: this stops it if something does."""


class EntryRow(Base):
    """Written once. The database itself refuses to change or delete one."""

    __tablename__ = "ledger_entries"
    __table_args__ = (
        Index("ix_ledger_entries_job", "job_id", "id"),
        Index("ix_ledger_entries_newest", "created_at"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    key: Mapped[str] = mapped_column(String(KEY_LIMIT), unique=True)
    kind: Mapped[str] = mapped_column(String(24))
    actor: Mapped[str] = mapped_column(Id)
    job_id: Mapped[str | None] = mapped_column(Id)
    attempt_id: Mapped[str | None] = mapped_column(Id, index=True)
    note: Mapped[str] = mapped_column(String(NOTE_LIMIT))
    details: Mapped[dict[str, Any]]
    reverses: Mapped[int | None] = mapped_column(BigId, ForeignKey("ledger_entries.id"), index=True)
    created_at: Mapped[datetime]


class PostingRow(Base):
    """As immutable as its entry."""

    __tablename__ = "ledger_postings"
    __table_args__ = (
        CheckConstraint("micros > 0", name="moves_something"),
        CheckConstraint("source <> destination", name="between_two"),
        Index("ix_ledger_postings_source", "source", "entry_id"),
        Index("ix_ledger_postings_destination", "destination", "entry_id"),
    )

    entry_id: Mapped[int] = mapped_column(BigId, ForeignKey("ledger_entries.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """From 0, within its entry."""
    source: Mapped[str] = mapped_column(String(NAME_LIMIT))
    destination: Mapped[str] = mapped_column(String(NAME_LIMIT))
    micros: Mapped[int] = mapped_column(BigInteger)


class BalanceRow(Base):
    """What the postings of an account sum to, kept up to date by each entry. A projection: `check` sums them again."""

    __tablename__ = "ledger_balances"
    __table_args__ = (CheckConstraint(f"micros BETWEEN {-MOST_BALANCE} AND {MOST_BALANCE}", name="counts_exactly"),)

    account: Mapped[str] = mapped_column(String(NAME_LIMIT), primary_key=True)
    shard: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Every settlement pays the platform's fee: its accounts are several rows, so that settlements need not queue."""
    micros: Mapped[int] = mapped_column(BigInteger)
