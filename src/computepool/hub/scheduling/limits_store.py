"""Limits that an admin gave to single renters."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from computepool.hub.core.owners import check_owner
from computepool.hub.core.records import record
from computepool.hub.core.tables import Base, Id
from computepool.hub.scheduling.limits import Limits

STORED_LIMIT = 1_000_000


class OwnerLimits(Base):
    """Where a column is empty, the pool's default holds."""

    __tablename__ = "owner_limits"

    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), primary_key=True)
    slices: Mapped[int | None]
    hourly_micros: Mapped[int | None] = mapped_column(BigInteger)
    daily_micros: Mapped[int | None] = mapped_column(BigInteger)
    monthly_micros: Mapped[int | None] = mapped_column(BigInteger)
    changed_by: Mapped[str] = mapped_column(Id)
    changed_at: Mapped[datetime]


def list_limits(session: Session) -> list[tuple[str, Limits]]:
    rows: Sequence[OwnerLimits] = session.scalars(select(OwnerLimits).limit(STORED_LIMIT)).all()
    return [(row.owner_id, Limits(row.slices, row.hourly_micros, row.daily_micros, row.monthly_micros)) for row in rows]


def change_limits(session: Session, owner_id: str, limits: Limits, now: datetime, *, actor: str) -> None:
    """All of them at once: what is left out is the default again."""
    check_owner(session, owner_id)
    row = session.get(OwnerLimits, owner_id)
    if row is None:
        row = OwnerLimits(owner_id=owner_id)
        session.add(row)
    row.slices, row.hourly_micros = limits.slices, limits.hourly_micros
    row.daily_micros, row.monthly_micros = limits.daily_micros, limits.monthly_micros
    row.changed_by, row.changed_at = actor, now
    session.flush()
    record(session, "owner.limits", owner_id, now, actor=actor, topics=(f"owner/{owner_id}",), **asdict(limits))
