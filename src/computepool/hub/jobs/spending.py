"""What each renter spent on other people's nodes, day by day: what their limits are measured against.

A bill it is not: that is the ledger's. What is counted here is what is charged there, in the same transaction.
"""

from datetime import date
from typing import cast

from sqlalchemy import BigInteger, ForeignKey, String, Table, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, mapped_column

from computepool.hub.core.tables import Base
from computepool.hub.jobs.tables import Job

DAYS_LIMIT = 1_000_000
_JOBS = cast(Table, Job.__table__)
_ADD_COST = (
    _JOBS.update()
    .where(_JOBS.c.id == bindparam("for_id"))
    .values(cost_micros=_JOBS.c.cost_micros + bindparam("micros"))
)


class Spending(Base):
    __tablename__ = "spending"

    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    """Of UTC, such as 2026-01-31."""
    micros: Mapped[int] = mapped_column(BigInteger)


def count(session: Session, owner_id: str, day: date, micros: int) -> None:
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = insert(Spending).values(owner_id=owner_id, day=day.isoformat(), micros=micros)
    added = row.on_conflict_do_update(
        index_elements=[Spending.owner_id, Spending.day], set_={"micros": Spending.micros + row.excluded.micros}
    )
    session.connection().execute(added)


def add_cost(session: Session, job_id: str, micros: int) -> None:
    """To what the job cost so far; below zero, what was given back."""
    session.connection().execute(_ADD_COST, {"for_id": job_id, "micros": micros})


def list_since(session: Session, first: date) -> list[tuple[str, date, int]]:
    query = select(Spending.owner_id, Spending.day, Spending.micros)
    rows = session.execute(query.where(Spending.day >= first.isoformat()).limit(DAYS_LIMIT))
    return [(owner_id, date.fromisoformat(day), micros) for owner_id, day, micros in rows]
