from datetime import datetime
from typing import Any

from sqlalchemy import Double, ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.core.tables import Base, BigId, Id

_OPEN_CONTEST = text("contested_at IS NOT NULL AND resolution IS NULL")


class Reputation(Base):
    """One record. A node that joined with `--replace` goes on with the one of the node that it replaced."""

    __tablename__ = "reputations"

    id: Mapped[str] = mapped_column(ForeignKey("nodes.id"), primary_key=True)
    """Of the first node whose record it is."""
    good: Mapped[float] = mapped_column(Double)
    """What speaks for it beyond the prior, as it was worth at `as_of`."""
    bad: Mapped[float] = mapped_column(Double)
    as_of: Mapped[datetime]
    ok_count: Mapped[int]
    """Strangers' attempts that were ok, ever."""
    streak: Mapped[int]
    clean: Mapped[int]
    level: Mapped[int]
    quarantined_until: Mapped[datetime | None]
    slots: Mapped[int | None]
    """Strangers' slices that it gets at once, if the hub does not believe its claim."""
    slots_peak: Mapped[int]
    slots_strikes: Mapped[int]
    slots_clean: Mapped[int]
    declines: Mapped[int] = mapped_column(server_default="0")
    """Offers that it declined, since the last attempt that was ok."""
    declined_until: Mapped[datetime | None]
    """It is offered no stranger's slice before that."""
    marked_by: Mapped[str | None] = mapped_column(Id)
    """The operator who checked its owner; None without such a mark."""
    marked_at: Mapped[datetime | None]
    proven: Mapped[bool]
    """Its hardware was measured to be what it claims, and it isolates jobs in containers or better."""
    audited_ok: Mapped[int]
    audited_wrong: Mapped[int]
    """Correctness is counted apart: however reliably, a wrong result is worth nothing."""
    first_seen: Mapped[datetime]
    online_since: Mapped[datetime | None]
    online_days: Mapped[dict[str, Any]]
    """Seconds of each of the last 30 days, up to `online_since`."""


class ReputationEvent(Base):
    """Something that moved a record."""

    __tablename__ = "reputation_events"
    __table_args__ = (
        Index("ix_reputation_events_newest", "record_id", "id"),
        Index("ix_reputation_events_contests", "id", sqlite_where=_OPEN_CONTEST, postgresql_where=_OPEN_CONTEST),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    record_id: Mapped[str] = mapped_column(ForeignKey("reputations.id"))
    node_id: Mapped[str] = mapped_column(Id)
    attempt_id: Mapped[str] = mapped_column(Id, index=True)
    verdict: Mapped[str] = mapped_column(String(12))
    reason: Mapped[str] = mapped_column(String(24))
    weight: Mapped[float] = mapped_column(Double)
    crowd: Mapped[int]
    """How many strangers' slices there were at once, if it broke for want of room; else 0."""
    at: Mapped[datetime]
    contested_at: Mapped[datetime | None]
    contest_reason: Mapped[str | None] = mapped_column(String(1000))
    resolution: Mapped[str | None] = mapped_column(String(12))
    """taken_back: the attempt came back. upheld, dismissed: what became of a contest. The first two undo it."""
    resolved_at: Mapped[datetime | None]
    resolved_by: Mapped[str | None] = mapped_column(Id)
    resolution_note: Mapped[str | None] = mapped_column(String(1000))
