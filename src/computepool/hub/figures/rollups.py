"""Keeps the totals of every day, and corrects them when rows of that day come late.

Every change of a job or an attempt leaves an audit record with its instant, in its own transaction; every movement of
credits is a ledger entry. Both are numbered. What came since the last time tells which days changed, and these are
counted anew as a whole. So nothing is added twice, and an old day changes as easily as today.

What everybody sees (the landing page, the leaderboard) is kept in memory: it costs no scan of jobs or attempts.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Literal

from sqlalchemy import BigInteger, ColumnElement, cast, delete, func, insert, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from computepool.hub.accounts.tables import User
from computepool.hub.core.context import Context
from computepool.hub.core.records import Event
from computepool.hub.core.sql_time import day_number
from computepool.hub.core.tables import AuditRow, HubFact
from computepool.hub.figures.daily import EPOCH, NOTHING, VERSION, DayTotals, count_days, start_of, totals_of
from computepool.hub.figures.tables import DailyTotals, WorkDay
from computepool.hub.figures.work import Doer, WorkSum, added, count_work, sum_work, total
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.ledger.tables import EntryRow
from computepool.protocol.states import JobState

LOOK_SECONDS = 15.0
"""How often the hub looks whether there is something to count."""
COUNT_SECONDS = 600.0
"""How often it counts what no event tells of, such as new users."""
SHARE = 0.02
"""Of the time, counting may take at most so much: a busy day is counted less often."""
REST = 10
"""Who reads does not count anew before so many times as long as counting took."""
COMMIT_SLACK = timedelta(minutes=15)
"""A number is given before its transaction commits: what is newer than this is looked at again."""
NUMBERS_SLACK = 10_000
"""The same for the first time, when nobody knows which numbers are how old."""
DAYS_AT_ONCE = 31
"""Counted in one transaction."""
ROWS_AT_ONCE = 1_000
OPEN_DAYS = 3
"""Today and the days before it: their work is summed up each time, that of older days when one of them changed."""
SEEN = "daily_totals_seen"
"""The hub fact with the numbers up to which everything is counted: `AUDIT ENTRY`."""
TAKEN_BACK = "attempt.taken_back"
TELLS = ("job.", "attempt.", "cash_out.")

Period = Literal["7d", "30d", "all"]
PERIOD_DAYS: Mapping[Period, int | None] = {"7d": 7, "30d": 30, "all": None}


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


@dataclass(frozen=True, slots=True)
class Done:
    """Of all days."""

    jobs: int = 0
    simulated_jobs: int = 0
    paid_out_micros: int = 0


@dataclass(frozen=True, slots=True)
class PoolFigures:
    """What was counted last."""

    counted_at: datetime | None = None
    today: DayTotals = NOTHING
    done: Done = Done()
    work: Mapping[Period, Mapping[Doer, WorkSum]] = field(default_factory=dict)
    totals: Mapping[bool, WorkSum] = field(default_factory=dict)
    """Of all time, by whether it was on simulated nodes."""


DaysCounted = Mapping[date, DayTotals]
DaysWorked = Mapping[date, Mapping[Doer, WorkSum]]


class DailyFigures:
    def __init__(self, context: Context) -> None:
        self._context = context
        self.now = PoolFigures()
        self._lock = asyncio.Lock()
        self._newest: Seen | None = None
        self._recent: deque[tuple[datetime, Seen]] = deque()
        self._closed: dict[Period, dict[Doer, WorkSum]] = {}
        """Of the days before the open ones."""
        self._closed_to: date | None = None
        self._counted = self._tick_from = self._rest_until = float("-inf")
        self._has_news = True

    def hear(self, events: Iterable[Event]) -> None:
        """What commits told."""
        if not self._has_news:
            self._has_news = any(str(event.payload.get("action", "")).startswith(TELLS) for event in events)

    async def tick(self) -> None:
        """Count, if something happened since the last time, a day is over, or it was long ago."""
        began, counted_at = self._context.clock.monotonic(), self.now.counted_at
        is_new_day = counted_at is None or counted_at.date() != self._context.now().date()
        if began >= self._tick_from and (self._has_news or is_new_day or began - self._counted >= COUNT_SECONDS):
            await self.refresh(for_reader=False)

    async def refresh(self, *, for_reader: bool = True) -> None:
        """Count what changed. For a reader not if that was done a moment ago, or is under way."""
        clock = self._context.clock
        if for_reader and (self._lock.locked() or clock.monotonic() < self._rest_until):
            return
        async with self._lock:
            began = clock.monotonic()
            await self._refresh()
            self._counted = clock.monotonic()
            took = self._counted - began
            self._rest_until, self._tick_from = self._counted + REST * took, self._counted + took / SHARE

    async def _refresh(self) -> None:
        context, now = self._context, self._context.now()
        self._has_news = False
        changed = await context.db.read(find_changed, now, self._newest)
        for first, beyond in _stretches(changed.days):
            # Counted beside the writer, who would keep all others waiting. What is committed meanwhile is not in
            # `changed.seen`: it is counted the next time.
            counted = await context.db.read(count_again, first, beyond)
            await context.db.run(store_days, first, beyond, *counted, now)
        self._newest = changed.seen
        self._recent.append((now, changed.seen))
        settled = changed.settled
        while self._recent and self._recent[0][0] <= now - COMMIT_SLACK:
            settled = self._recent.popleft()[1]
        if settled is not None:
            await context.db.run(_keep_seen, settled)
        await self._show(now, changed.days)

    async def _show(self, now: datetime, changed: frozenset[date]) -> None:
        read, today = self._context.db.read, now.date()
        opened = today - timedelta(days=OPEN_DAYS - 1)
        if self._closed_to != opened or any(day < opened for day in changed):
            for period, days in PERIOD_DAYS.items():
                since = today - timedelta(days=days - 1) if days is not None else None
                self._closed[period] = await read(sum_work, since, opened)
            self._closed_to = opened
        elif not changed and self.now.counted_at is not None:
            self.now = replace(self.now, counted_at=now)
            return
        recent = await read(sum_work, opened, None)
        work = {period: added(closed, recent) for period, closed in self._closed.items()}
        found, _ = await read(read_days, today, today + timedelta(days=1))
        self.now = PoolFigures(
            counted_at=now,
            today=found.get(today, NOTHING),
            done=await read(sum_done),
            work=work,
            totals={
                kind: total(done for (_, simulated), done in work["all"].items() if simulated is kind)
                for kind in (False, True)
            },
        )


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


def count_again(session: Session, first: date, beyond: date) -> tuple[DaysCounted, DaysWorked]:
    return count_days(session, first, beyond), count_work(session, start_of(first), start_of(beyond))


def store_days(
    session: Session, first: date, beyond: date, counted: DaysCounted, worked: DaysWorked, now: datetime
) -> None:
    """In place of what was stored of these days."""
    session.execute(delete(DailyTotals).where(*_between(DailyTotals.day, first, beyond)))
    session.execute(delete(WorkDay).where(*_between(WorkDay.day, first, beyond)))
    session.add_all(
        DailyTotals(day=day.isoformat(), version=VERSION, totals=totals.to_json(), counted_at=now)
        for day, totals in counted.items()
    )
    session.flush()
    rows = [
        {"day": day.isoformat(), "owner_id": owner_id, "simulated": simulated, **asdict(work)}
        for day, doers in worked.items()
        for (owner_id, simulated), work in doers.items()
    ]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        session.execute(insert(WorkDay), rows[start : start + ROWS_AT_ONCE])


def _keep_seen(session: Session, seen: Seen) -> None:
    session.merge(HubFact(name=SEEN, value=f"{seen.audit_id} {seen.entry_id}"))


def read_days(session: Session, first: date, beyond: date) -> tuple[dict[date, DayTotals], datetime | None]:
    """By day, those that are there; and when the newest of them was counted."""
    rows = session.scalars(
        select(DailyTotals).where(*_between(DailyTotals.day, first, beyond)).order_by(DailyTotals.day)
    ).all()
    found = {date.fromisoformat(row.day): totals_of(row.totals) for row in rows}
    return found, max((row.counted_at for row in rows), default=None)


def sum_done(session: Session) -> Done:
    """Of all days: jobs that succeeded, and money that went to hosts."""
    totals = DailyTotals.totals
    succeeded, simulated, paid_out = session.execute(
        select(
            func.sum(totals["ended"][JobState.SUCCEEDED.value].as_integer()),
            func.sum(totals["simulated_succeeded"].as_integer()),
            func.sum(cast(totals["paid_out_micros"].as_string(), BigInteger)),
        )
    ).one()
    return Done(int(succeeded or 0) - int(simulated or 0), int(simulated or 0), int(paid_out or 0))


def _between(column: InstrumentedAttribute[str], first: date, beyond: date) -> tuple[ColumnElement[bool], ...]:
    return column >= first.isoformat(), column < beyond.isoformat()
