from datetime import datetime

from sqlalchemy import Index, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.core.tables import Base, Id


class HistoryChunk(Base):
    """Consecutive buckets of one subject: an hour or a day of a node or the pool, or all of an attempt."""

    __tablename__ = "history"
    __table_args__ = (Index("ix_history_age", "kind", "start_at"),)

    kind: Mapped[str] = mapped_column(String(12), primary_key=True)
    """A `repository.HistoryKind`."""
    subject: Mapped[str] = mapped_column(Id, primary_key=True)
    """The id of a node or an attempt, or `pool`."""
    start_at: Mapped[datetime] = mapped_column(primary_key=True)
    """When the hour or the day begins; for an attempt, its first sample when the row was made."""
    step_seconds: Mapped[int]
    data: Mapped[bytes] = mapped_column(LargeBinary)
    """As `series.encode` writes it."""
