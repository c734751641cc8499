"""Keeps a row of totals for every day, and corrects it when rows of that day come late.

Every change of a job or an attempt leaves an audit record with its instant, in its own transaction; every movement of
credits is a ledger entry. Both are numbered. What came since the last time tells which days changed, and these are
counted anew as a whole. So nothing is added twice, and an old day changes as easily as today.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from computepool.hub.accounts.tables import User
from computepool.hub.admin.daily import EPOCH, VERSION, DayTotals, count_days, totals_of
from computepool.hub.admin.tables import DailyTotals
from computepool.hub.core.context import Context
from computepool.hub.core.sql_time import day_number
from computepool.hub.core.tables import AuditRow, HubFact
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.ledger.tables import EntryRow

ROLL_UP_SECONDS = 600.0
COMMIT_SLACK = timedelta(minutes=15)
"""A number is given before its transaction commits: what is newer than this is looked at again."""
NUMBERS_SLACK = 10_000
"""The same for the first time, when nobody knows which numbers are how old."""
DAYS_AT_ONCE = 31
"""Counted in one transaction."""
REST = 10
"""Nobody counts anew before so many times as long as counting took: pages may be read again and again."""
SEEN = "daily_totals_seen"
"""The hub fact with the numbers up to which everything is counted: `AUDIT ENTRY`."""
TAKEN_BACK = "attempt.taken_back"


@dataclass(frozen=True, slots=True)
class Seen:
    audit_id: int
    entry_id: int


@dataclass(frozen=True, slots=True)
class Changed:
    seen: Seen
    """The newest there were, before the days were looked for."""
    days: frozenset[date]
    settled: Seen | None = None
    """Once everything was counted for the first time: what need not be looked at again."""


class RollUps:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = asyncio.Lock()
        self._newest: Seen | None = None
        self._recent: deque[tuple[datetime, Seen]] = deque()
        self._rest_until = float("-inf")

    async def refresh(self, *, for_reader: bool = True) -> None:
        """Count what changed. For a reader not if that was done a moment ago, or is under way."""
        clock = self._context.clock
        if for_reader and (self._lock.locked() or clock.monotonic() < self._rest_until):
            return
        async with self._lock:
            began = clock.monotonic()
            await self._refresh()
            self._rest_until = clock.monotonic() + REST * (clock.monotonic() - began)

    async def tick(self) -> None:
        await self.refresh(for_reader=False)

    async def _refresh(self) -> None:
        context, now = self._context, self._context.now()
        changed = await context.db.read(find_changed, now, self._newest)
        for first, beyond in _stretches(changed.days):
            await context.db.run(store_days, first, beyond, now)
        self._newest = changed.seen
        self._recent.append((now, changed.seen))
        settled = changed.settled
        while self._recent and self._recent[0][0] <= now - COMMIT_SLACK:
            settled = self._recent.popleft()[1]
        if settled is not None:
            await context.db.run(_keep_seen, settled)


def find_changed(session: Session, now: datetime, newest: Seen | None) -> Changed:
    """`newest`: as of the last time; None after a start. Nothing new means that no day changed, but for the first
    time today."""
    seen = Seen(_newest_id(session, AuditRow), _newest_id(session, EntryRow))
    today = now.date()
    known = session.get(DailyTotals, today.isoformat())
    is_current = known is not None and known.version == VERSION
    if seen == newest and is_current:
        return Changed(seen, frozenset())
    fact = session.get(HubFact, SEEN)
    outdated = map(date.fromisoformat, session.scalars(select(DailyTotals.day).where(DailyTotals.version != VERSION)))
    if fact is None:
        settled = Seen(max(0, seen.audit_id - NUMBERS_SLACK), max(0, seen.entry_id - NUMBERS_SLACK))
        return Changed(seen, frozenset(_all_days(session, today)) | {today, *outdated}, settled)
    audit_id, entry_id = map(int, fact.value.split())
    numbers = set(session.scalars(select(day_number(AuditRow.at)).where(AuditRow.id > audit_id).distinct()))
    numbers |= set(session.scalars(select(day_number(EntryRow.created_at)).where(EntryRow.id > entry_id).distinct()))
    # An attempt that was lost and came back has not ended on the day on which it was lost.
    again = select(AuditRow.subject).where(AuditRow.id > audit_id, AuditRow.action == TAKEN_BACK)
    numbers |= set(session.scalars(select(day_number(AuditRow.at)).where(AuditRow.subject.in_(again)).distinct()))
    return Changed(seen, frozenset({today, *outdated, *(EPOCH + timedelta(days=number) for number in numbers)}))


def _newest_id(session: Session, table: type[AuditRow] | type[EntryRow]) -> int:
    return session.scalar(select(func.max(table.id))) or 0


def _all_days(session: Session, today: date) -> Iterator[date]:
    """From the first of anything that is counted."""
    begins = [
        session.scalar(select(column).order_by(key).limit(1))
        for column, key in (
            (Job.created_at, Job.id),
            (Attempt.leased_at, Attempt.id),
            (EntryRow.created_at, EntryRow.id),
            (User.created_at, User.id),
        )
    ]
    first = min((at.date() for at in begins if at is not None), default=today)
    yield from (first + timedelta(days=number) for number in range((today - first).days))


def _stretches(days: Iterable[date]) -> Iterator[tuple[date, date]]:
    """Days that follow one another, together; the newest first, as they are looked at most."""
    first = beyond = None
    for day in sorted(days, reverse=True):
        if first is not None and beyond is not None:
            if day == first - timedelta(days=1) and (beyond - day).days <= DAYS_AT_ONCE:
                first = day
                continue
            yield first, beyond
        first, beyond = day, day + timedelta(days=1)
    if first is not None and beyond is not None:
        yield first, beyond


def store_days(session: Session, first: date, beyond: date, now: datetime) -> None:
    counted = count_days(session, first, beyond)
    session.execute(delete(DailyTotals).where(*_between(first, beyond)))
    session.add_all(
        DailyTotals(day=day.isoformat(), version=VERSION, totals=totals.to_json(), counted_at=now)
        for day, totals in counted.items()
    )
    session.flush()


def _keep_seen(session: Session, seen: Seen) -> None:
    session.merge(HubFact(name=SEEN, value=f"{seen.audit_id} {seen.entry_id}"))


def read_days(session: Session, first: date, beyond: date) -> tuple[dict[date, DayTotals], datetime | None]:
    """By day, those that are there; and when the newest of them was counted."""
    rows = session.scalars(select(DailyTotals).where(*_between(first, beyond)).order_by(DailyTotals.day)).all()
    found = {date.fromisoformat(row.day): totals_of(row.totals) for row in rows}
    return found, max((row.counted_at for row in rows), default=None)


def _between(first: date, beyond: date) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return DailyTotals.day >= first.isoformat(), DailyTotals.day < beyond.isoformat()
