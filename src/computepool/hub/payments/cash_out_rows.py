"""A cash-out's life: `requested → approved → paid | rejected | failed`, or `requested → canceled`; each step once."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, String, select, text, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from computepool.hub.core.paging import read_list
from computepool.hub.core.tables import Base, Id
from computepool.hub.payments.tables import OBJECT_LIMIT, WORDS_LIMIT

_OPEN = text("ended_at IS NULL")


class CashOutState(StrEnum):
    REQUESTED = "requested"
    APPROVED = "approved"
    PAID = "paid"
    REJECTED = "rejected"
    FAILED = "failed"
    CANCELED = "canceled"


_S = CashOutState
NEXT: dict[CashOutState, frozenset[CashOutState]] = {
    _S.REQUESTED: frozenset({_S.APPROVED, _S.REJECTED, _S.CANCELED}),
    _S.APPROVED: frozenset({_S.PAID, _S.REJECTED, _S.FAILED}),
    _S.PAID: frozenset(),
    _S.REJECTED: frozenset(),
    _S.FAILED: frozenset(),
    _S.CANCELED: frozenset(),
}
OPEN = frozenset(state for state, later in NEXT.items() if later)

WORDS = {
    _S.REQUESTED: "An operator will review it.",
    _S.APPROVED: "Approved: the money is on its way.",
    _S.PAID: "Paid.",
    _S.REJECTED: "Rejected: the credits are back in your earnings.",
    _S.FAILED: "The money could not be sent: the credits are back in your earnings.",
    _S.CANCELED: "Canceled: the credits are back in your earnings.",
}


class CashOutRow(Base):
    __tablename__ = "cash_outs"
    __table_args__ = (
        CheckConstraint("micros > 0", name="moves_something"),
        CheckConstraint("returned_micros BETWEEN 0 AND micros", name="returns_what_was_paid"),
        Index("ix_cash_outs_owner", "owner_id", "id"),
        Index("ix_cash_outs_open", "owner_id", sqlite_where=_OPEN, postgresql_where=_OPEN),
    )

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    micros: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(String(10))
    way: Mapped[str | None] = mapped_column(String(10))
    """The provider that pays it, from its approval on."""
    asked_by: Mapped[str] = mapped_column(Id)
    decided_by: Mapped[str | None] = mapped_column(Id)
    note: Mapped[str] = mapped_column(String(WORDS_LIMIT), default="")
    """Of whoever decided; or the provider's words."""
    reference: Mapped[str | None] = mapped_column(String(OBJECT_LIMIT))
    """Of the payment, where it was made."""
    returned_micros: Mapped[int] = mapped_column(BigInteger, default=0)
    """What was taken back after it was paid."""
    created_at: Mapped[datetime]
    approved_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]


class HeldBackRow(Base):
    """A job that somebody disputes: what was earned with it is not paid out meanwhile."""

    __tablename__ = "held_back_jobs"

    dispute_id: Mapped[str] = mapped_column(Id, primary_key=True)
    job_id: Mapped[str] = mapped_column(Id, primary_key=True, index=True)


def find_cash_out(session: Session, cash_out_id: str) -> CashOutRow | None:
    return session.get(CashOutRow, cash_out_id, populate_existing=True)


def move_cash_out(
    session: Session, cash_out_id: str, to: CashOutState, now: datetime, *, seen: str | None = None, **values: Any
) -> bool:
    """Whether it was this call that moved it: of two at once, one. `seen`: only if it is still in that state."""
    earlier = [state for state, later in NEXT.items() if to in later and seen in (None, state)]
    ended = {"ended_at": now} if not NEXT[to] else {}
    moved = (
        update(CashOutRow)
        .where(CashOutRow.id == cash_out_id, CashOutRow.state.in_(earlier))
        .values(state=to, **ended, **values)
        .returning(CashOutRow.id)
    )
    return session.execute(moved).first() is not None


def list_cash_outs(
    session: Session,
    owner_ids: frozenset[str] | None,
    states: Sequence[CashOutState],
    order: str,
    cursor: str | None,
    limit: int,
) -> tuple[list[CashOutRow], str | None, int | None]:
    """A page, the cursor of the next one, and how many there are in all. `owner_ids`: None for everybody's."""
    query = select(CashOutRow)
    if owner_ids is not None:
        query = query.where(CashOutRow.owner_id.in_(sorted(owner_ids)))
    if states:
        query = query.where(CashOutRow.state.in_(states))
    return read_list(session, query, [CashOutRow.id], cursor, limit, order)
