from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.core.tables import Base, Id


class JobDay(Base):
    """Jobs of one day (UTC), without those that only check others."""

    __tablename__ = "job_days"

    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    """Such as 2026-01-31."""
    simulated: Mapped[bool] = mapped_column(primary_key=True)
    """Those that ask for simulated nodes."""
    submitted: Mapped[int]
    succeeded: Mapped[int]
    """Jobs that ended well on this day, whenever they were submitted."""
    counted_at: Mapped[datetime]


class WorkDay(Base):
    """What one owner's nodes did for others on one day (UTC): attempts that ended on it."""

    __tablename__ = "work_days"
    __table_args__ = (Index("ix_work_days_owner", "owner_id", "day"),)

    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    owner_id: Mapped[str] = mapped_column(Id, ForeignKey("owners.id"), primary_key=True)
    simulated: Mapped[bool] = mapped_column(primary_key=True)
    attempts: Mapped[int]
    """That ended well."""
    slices: Mapped[int]
    """Of these attempts, how many different ones."""
    gpu_seconds: Mapped[int] = mapped_column(BigInteger)
    """In these attempts: an attempt with two GPUs counts twice."""
    core_seconds: Mapped[int] = mapped_column(BigInteger)
    """In those of them that asked for no GPU."""
    earned_micros: Mapped[int] = mapped_column(BigInteger)
    """For all attempts that ended, before anything was given back."""
