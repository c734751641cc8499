"""The roll-ups in memory: what the landing page and the leaderboard ask for costs no scan of jobs or attempts.

Today is counted again soon after a job or an attempt ended, and stored when it is over; the two days before it are
counted again every hour, as rows may come late. What an older day says is final.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from computepool.hub.core.context import Context
from computepool.hub.core.records import Event
from computepool.hub.figures.counting import (
    DayCount,
    Doer,
    JobCounts,
    WorkSum,
    added,
    count_day,
    first_day,
    list_counted,
    store_day,
    sum_jobs,
    sum_paid_out,
    sum_work,
    total,
)

COUNT_SECONDS = 15.0
"""How often the board looks whether there is something to count."""
RECOUNT_SECONDS = 3600.0
OPEN_DAYS = 3
"""Today and the days before it that are counted again."""
SHARE = 0.02
"""Of the time, counting may take at most so much: a busy day is counted less often."""
TELLS = ("job.", "attempt.", "cash_out.")

Period = Literal["7d", "30d", "all"]
PERIOD_DAYS: Mapping[Period, int | None] = {"7d": 7, "30d": 30, "all": None}


@dataclass
class PoolFigures:
    """What was counted last."""

    counted_at: datetime | None = None
    jobs_today: Mapping[bool, JobCounts] = field(default_factory=dict)
    """By whether they are simulated."""
    jobs_done: Mapping[bool, int] = field(default_factory=dict)
    work: Mapping[Period, Mapping[Doer, WorkSum]] = field(default_factory=dict)
    totals: Mapping[bool, WorkSum] = field(default_factory=dict)
    """Of all time."""
    paid_out_micros: int = 0


class FiguresBoard:
    def __init__(self, context: Context) -> None:
        self._context = context
        self.now = PoolFigures()
        self._open: dict[date, DayCount] = {}
        self._closed: dict[Period, dict[Doer, WorkSum]] = {}
        """Of the days before the open ones."""
        self._closed_jobs: dict[bool, JobCounts] = {}
        self._closed_to: date | None = None
        self._recounted_at = float("-inf")
        self._wait_until = float("-inf")
        self._has_news = True

    def hear(self, events: Iterable[Event]) -> None:
        """What commits told."""
        if not self._has_news:
            self._has_news = any(str(event.payload.get("action", "")).startswith(TELLS) for event in events)

    async def tick(self) -> None:
        """Count, if something happened since the last time or a day is over."""
        clock = self._context.clock
        began = clock.monotonic()
        today = self._context.now().astimezone(UTC).date()
        if began < self._wait_until or not (self._has_news or today not in self._open):
            return
        await self.count(today, recount=today not in self._open or began - self._recounted_at >= RECOUNT_SECONDS)
        self._wait_until = clock.monotonic() + (clock.monotonic() - began) / SHARE

    async def count(self, today: date, *, recount: bool = True) -> None:
        """Count today; with `recount` also the other open days, and days that nobody counted yet."""
        self._has_news = False
        read, now = self._context.db.read, self._context.now()
        opened = today - timedelta(days=OPEN_DAYS - 1)
        if recount:
            await self._count_missing(opened)
            for number in range(OPEN_DAYS - 1):
                day = opened + timedelta(days=number)
                self._open[day] = await self._count(day, self._open.get(day))
        self._open[today] = await read(count_day, today, now)
        if recount or self._closed_to != opened:
            self._open = {day: count for day, count in self._open.items() if day >= opened}
            for period, days in PERIOD_DAYS.items():
                since = today - timedelta(days=days - 1) if days is not None else None
                self._closed[period] = await read(sum_work, since, opened)
            self._closed_jobs = await read(sum_jobs, opened)
            self._closed_to, self._recounted_at = opened, self._context.clock.monotonic()
        self._show(today, now, await read(sum_paid_out))

    async def _count_missing(self, opened: date) -> None:
        first = await self._context.db.read(first_day)
        if first is None or first >= opened:
            return
        known = await self._context.db.read(list_counted, first)
        for number in range((opened - first).days):
            if (day := first + timedelta(days=number)) not in known:
                await self._count(day)

    async def _count(self, day: date, stored: DayCount | None = None) -> DayCount:
        """A day that is over. Written, unless it is as it was."""
        count = await self._context.db.read(count_day, day, self._context.now())
        if stored is None or stored.counted_at.astimezone(UTC).date() == day or stored.differs(count):
            await self._context.db.run(store_day, count)
        return count

    def _show(self, today: date, now: datetime, paid_out_micros: int) -> None:
        counts = self._open.values()
        work = {period: added(closed, *(count.work for count in counts)) for period, closed in self._closed.items()}
        ever = work["all"]
        self.now = PoolFigures(
            counted_at=now,
            jobs_today=self._open[today].jobs,
            jobs_done={
                kind: self._closed_jobs.get(kind, JobCounts()).succeeded
                + sum(count.jobs[kind].succeeded for count in counts)
                for kind in (False, True)
            },
            work=work,
            totals={
                kind: total(one for (_, simulated), one in ever.items() if simulated is kind) for kind in (False, True)
            },
            paid_out_micros=paid_out_micros,
        )
