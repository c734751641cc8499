from datetime import datetime
from enum import StrEnum
from typing import Literal

from sqlalchemy import BigInteger, ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.core.tables import Base, Id

_OPEN = text("state = 'open'")
_DONE = text("state = 'done'")


CheckKind = Literal["replicas", "audit", "canary", "known"]
CheckState = Literal["open", "valid", "accused", "guilty", "dismissed", "nondeterm", "abandoned"]


class Check(Base):
    """A result that others compute again: that of a replicated slice, or one that was drawn for an audit."""

    __tablename__ = "checks"
    __table_args__ = (
        Index("ix_checks_slice", "job_id", "slice_index"),
        Index("ix_checks_open", "id", sqlite_where=_OPEN, postgresql_where=_OPEN),
    )

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    subject: Mapped[str] = mapped_column(String(80), unique=True)
    """What is checked: the attempt of an audit, `job/slice` of a replicated one. There is one check of it."""
    kind: Mapped[str] = mapped_column(String(12))
    """replicas, audit or canary; or known: a result that an operator vouches for."""
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id"))
    """Whose result it is: never one of the hidden jobs that run it again."""
    slice_index: Mapped[int]
    state: Mapped[str] = mapped_column(String(12))
    """A finding; or `abandoned`, if nobody can say any more."""
    spec_digest: Mapped[str] = mapped_column(String(80), index=True)
    asked: Mapped[int]
    """How many were asked: replicas, or reruns of an audit."""
    attempt_id: Mapped[str | None] = mapped_column(Id)
    """Of an audit: the one that is accused."""
    node_id: Mapped[str | None] = mapped_column(Id, index=True)
    owner_id: Mapped[str | None] = mapped_column(Id)
    digest: Mapped[str | None] = mapped_column(String(80))
    """Of an audit: what the accused delivered."""
    expected: Mapped[str | None] = mapped_column(String(80))
    """Of a canary, and of what an operator vouches for: what is right."""
    given_at: Mapped[datetime | None]
    real_micros: Mapped[int] = mapped_column(BigInteger, server_default="0")
    """What the platform pays at most for all that it asks, in credit that can be cashed out ..."""
    promotional_micros: Mapped[int] = mapped_column(BigInteger, server_default="0")
    """... and in promotional credit."""
    detail: Mapped[str | None] = mapped_column(String(500))
    created_at: Mapped[datetime]
    decided_at: Mapped[datetime | None]


class CheckBudget(Base):
    """What the checks that began on one day may cost the platform together. Changed by a guarded update alone."""

    __tablename__ = "check_budgets"

    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    """Of UTC, such as 2026-01-31."""
    micros: Mapped[int] = mapped_column(BigInteger)


class CheckResult(Base):
    """What one node answered: a replica, or a rerun of an audit."""

    __tablename__ = "check_results"

    check_id: Mapped[str] = mapped_column(ForeignKey("checks.id"), primary_key=True)
    attempt_id: Mapped[str] = mapped_column(Id, primary_key=True)
    job_id: Mapped[str] = mapped_column(Id)
    """Of the job that it was an attempt of, which may be a hidden one."""
    node_id: Mapped[str] = mapped_column(Id)
    owner_id: Mapped[str] = mapped_column(Id)
    """Of the node."""
    digest: Mapped[str] = mapped_column(String(80))
    exit_code: Mapped[int]
    may_judge: Mapped[bool]
    gpu_class: Mapped[str | None] = mapped_column(String(200))
    at: Mapped[datetime]


class AuditRecordRow(Base):
    """What became of a node's audits. Beside its reliability, never added to it."""

    __tablename__ = "audit_records"

    id: Mapped[str] = mapped_column(ForeignKey("nodes.id"), primary_key=True)
    """Of the first node whose record it is, as with reputations."""
    valid_in_a_row: Mapped[int]
    guilty: Mapped[int]
    last_valid_at: Mapped[datetime | None]


class AccusationState(StrEnum):
    OPEN = "open"
    CONFIRMED = "confirmed"
    DISMISSED = "dismissed"


class Accusation(Base):
    """Other nodes found an attempt's result wrong. An admin decides whether its node loses anything by it.

    While it is open, the node's owner cannot cash out what a confirmation would take back.
    """

    __tablename__ = "accusations"
    __table_args__ = (
        Index("ix_accusations_attempt", "check_id", "attempt_id", unique=True),
        Index("ix_accusations_open", "record_id", sqlite_where=_OPEN, postgresql_where=_OPEN),
    )

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    check_id: Mapped[str] = mapped_column(ForeignKey("checks.id"))
    attempt_id: Mapped[str] = mapped_column(Id)
    node_id: Mapped[str] = mapped_column(ForeignKey("nodes.id"), index=True)
    record_id: Mapped[str] = mapped_column(Id)
    """Of the node whose audit record it concerns, as with reputations."""
    owner_id: Mapped[str] = mapped_column(Id)
    proven: Mapped[bool]
    """By nodes that may judge. Else the attempt was outvoted by replicas, and only its own pay is at stake."""
    state: Mapped[str] = mapped_column(String(12))
    """An AccusationState."""
    note: Mapped[str | None] = mapped_column(String(500))
    created_at: Mapped[datetime]
    decided_at: Mapped[datetime | None]
    decided_by: Mapped[str | None] = mapped_column(Id)


class ClawbackState(StrEnum):
    PENDING = "pending"
    """Until the ledger has moved it."""
    DONE = "done"
    BESIDE = "beside"
    """Another finding had it given back before: this one takes its place if that does not last."""
    OVERTURNED = "overturned"
    """The finding did not last."""


class Clawback(Base):
    """What a guilty node has to give back, by one finding, for the ledger to carry out.

    Several findings may each take the same back. It moves once, and stays where it went as long as one of them lasts.
    """

    __tablename__ = "clawbacks"
    __table_args__ = (
        Index("ix_clawbacks_done", "attempt_id", unique=True, sqlite_where=_DONE, postgresql_where=_DONE),
    )

    attempt_id: Mapped[str] = mapped_column(Id, primary_key=True)
    check_id: Mapped[str] = mapped_column(ForeignKey("checks.id"), primary_key=True, index=True)
    node_id: Mapped[str] = mapped_column(Id, index=True)
    host_id: Mapped[str] = mapped_column(Id)
    """The node's owner, who gives it back."""
    renter_id: Mapped[str] = mapped_column(Id)
    """Who gets it."""
    micros: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(String(12))
    """A ClawbackState."""
    created_at: Mapped[datetime]
