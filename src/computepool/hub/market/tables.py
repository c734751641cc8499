from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.core.tables import Base, BigId, Id


class MarketSetting(Base):
    """One version of one of the pool's tables. The newest of a name is true; all are kept."""

    __tablename__ = "market_settings"
    __table_args__ = (Index("ix_market_settings_name", "name", "id"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    name: Mapped[str] = mapped_column(String(20))
    """tiers, regions or rates."""
    value: Mapped[dict[str, Any]]
    changed_by: Mapped[str] = mapped_column(Id)
    changed_at: Mapped[datetime]


class SpotPoint(Base):
    """How much of a kind of card in a region was in use, and the spot factor that came of it."""

    __tablename__ = "spot_points"
    __table_args__ = (Index("ix_spot_points_segment", "tier", "region", "at"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    at: Mapped[datetime] = mapped_column(index=True)
    tier: Mapped[str] = mapped_column(String(12))
    """`cpu`, or a multiplier such as `3.0`."""
    region: Mapped[str] = mapped_column(String(40))
    simulated: Mapped[bool]
    spot_millis: Mapped[int]
    """As published: what asks were made with."""
    level_millis: Mapped[int]
    use_millis: Mapped[int]
    """Smoothed."""
    busy: Mapped[int] = mapped_column(BigInteger)
    total: Mapped[int] = mapped_column(BigInteger)
    """GPUs; for `cpu`, thousandths of a core."""
    hourly: Mapped[bool]
    """The first of its hour: kept longer than the others."""
