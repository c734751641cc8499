from datetime import datetime
from enum import StrEnum

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.core.tables import Base, Id
from computepool.hub.payments.tables import OBJECT_LIMIT

REASON_LIMIT = 2000
NOTE_LIMIT = 400
_OPEN = text("state = 'open'")


class DisputeKind(StrEnum):
    JOB = "job"
    """Of a renter, about a job."""
    CHARGEBACK = "chargeback"
    """Of a payer's bank, about a payment."""


class DisputeState(StrEnum):
    OPEN = "open"
    RESOLVED = "resolved"


class Outcome(StrEnum):
    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"


NEXT: dict[DisputeState, frozenset[DisputeState]] = {
    DisputeState.OPEN: frozenset({DisputeState.RESOLVED}),
    DisputeState.RESOLVED: frozenset(),
}


class Dispute(Base):
    __tablename__ = "disputes"
    __table_args__ = (
        CheckConstraint("refunded_micros >= 0 AND owed_micros >= 0", name="nothing_below_zero"),
        CheckConstraint("(resolved_at IS NOT NULL) = (state = 'resolved')", name="resolved_iff_over"),
        CheckConstraint("(outcome IS NOT NULL) = (state = 'resolved')", name="outcome_iff_over"),
        Index("ix_disputes_owner", "owner_id", "id"),
        Index("ix_disputes_open", "id", sqlite_where=_OPEN, postgresql_where=_OPEN),
    )

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    kind: Mapped[str] = mapped_column(String(10))
    subject: Mapped[str] = mapped_column(String(OBJECT_LIMIT), unique=True)
    """The job, or the chargeback's name at the processor: each is disputed once."""
    job_id: Mapped[str | None] = mapped_column(ForeignKey("jobs.id"))
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    """Who paid."""
    opened_by: Mapped[str] = mapped_column(Id)
    reason: Mapped[str] = mapped_column(String(REASON_LIMIT))
    state: Mapped[str] = mapped_column(String(10))
    outcome: Mapped[str | None] = mapped_column(String(10))
    bank: Mapped[str | None] = mapped_column(String(10))
    """Of a chargeback: opened, won or lost, as the processor says."""
    micros: Mapped[int] = mapped_column(BigInteger)
    """What it is about: what the job cost when it was disputed, or what the bank took."""
    refunded_micros: Mapped[int] = mapped_column(BigInteger)
    owed_micros: Mapped[int] = mapped_column(BigInteger)
    """Of that, what hosts had spent already, and owe now."""
    note: Mapped[str] = mapped_column(String(NOTE_LIMIT))
    resolved_by: Mapped[str | None] = mapped_column(Id)
    opened_at: Mapped[datetime]
    resolved_at: Mapped[datetime | None]
