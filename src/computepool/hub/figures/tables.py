from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.core.tables import Base, Id


class DailyTotals(Base):
    """One day of UTC, summed up from jobs, attempts, users and ledger entries. It can be counted anew at any time."""

    __tablename__ = "daily_totals"

    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    """Such as 2026-11-18."""
    version: Mapped[int]
    """Of what is counted (`daily.VERSION`). A day with an older one is counted anew."""
    totals: Mapped[dict[str, Any]]
    """A `daily.DayTotals`, without what is 0."""
    counted_at: Mapped[datetime]


class WorkDay(Base):
    """What one owner's nodes did for others on one day (UTC): attempts that ended on it. Counted with `DailyTotals`."""

    __tablename__ = "work_days"

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
