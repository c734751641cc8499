"""What each renter spent on other people's nodes, day by day: what their limits are measured against.

A bill it is not: that is the ledger's. An attempt is counted when it ends, at its locked price.
"""

from datetime import date, datetime

from sqlalchemy import BigInteger, ForeignKey, String, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, mapped_column

from computepool.hub.core.tables import Base
from computepool.protocol.states import Verdict

SECONDS_PER_HOUR = 3600
PAID = frozenset({Verdict.OK, Verdict.RENTER, Verdict.BUDGET})
PAID_IF_SAVED = frozenset({Verdict.OWNER, Verdict.PREEMPTED})
DAYS_LIMIT = 1_000_000


class Spending(Base):
    __tablename__ = "spending"

    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    """Of UTC, such as 2026-01-31."""
    micros: Mapped[int] = mapped_column(BigInteger)


def cost_micros(
    price_micros: int | None, started_at: datetime | None, now: datetime, verdict: Verdict, *, saved: bool
) -> int:
    """Of an attempt that ends now. A part of a micro counts as a whole one."""
    if not price_micros or started_at is None:
        return 0
    if verdict not in PAID and not (saved and verdict in PAID_IF_SAVED):
        return 0
    seconds = max(0, round((now - started_at).total_seconds()))
    return -(-price_micros * seconds // SECONDS_PER_HOUR)


def count(session: Session, owner_id: str, day: date, micros: int) -> None:
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = insert(Spending).values(owner_id=owner_id, day=day.isoformat(), micros=micros)
    added = row.on_conflict_do_update(
        index_elements=[Spending.owner_id, Spending.day], set_={"micros": Spending.micros + row.excluded.micros}
    )
    session.connection().execute(added)


def list_since(session: Session, first: date) -> list[tuple[str, date, int]]:
    query = select(Spending.owner_id, Spending.day, Spending.micros)
    rows = session.execute(query.where(Spending.day >= first.isoformat()).limit(DAYS_LIMIT))
    return [(owner_id, date.fromisoformat(day), micros) for owner_id, day, micros in rows]
