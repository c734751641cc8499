"""The pool at a glance, for operators: today, and every day of up to a year, from the daily totals."""

from datetime import date, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query
from sqlalchemy.orm import Session

from computepool.hub.core.money import Micros, priced_routes
from computepool.hub.engine import Engine
from computepool.hub.figures.daily import NOTHING, DayTotals, added
from computepool.hub.figures.rollups import read_days
from computepool.protocol.model import Documented
from computepool.protocol.states import JobState, Verdict

DAYS_LIMIT = 365


class OverviewFigures(Documented):
    """What was counted. Jobs are counted without those that the platform runs to check others; attempts with them."""

    jobs: int
    """Jobs that were submitted."""
    slices: int
    """Slices of these jobs."""
    renters: int
    """Owners who submitted a job. Over several days: the most of one day."""
    ended: dict[JobState, int]
    """Jobs that ended, by final state; states without any are left out."""
    ended_by_verdict: dict[Verdict, int]
    """Jobs that ended, by verdict."""
    attempts: int
    """Attempts that ended."""
    attempts_by_verdict: dict[Verdict, int]
    """Attempts that ended, by verdict."""
    running_seconds: int
    """What these attempts ran, without suspension."""
    gpu_seconds: int
    """The same, times the GPUs of each attempt."""
    waits: int
    """Slices that got their first lease."""
    wait_average_seconds: float | None
    """How long they had waited since the submission; null where there was none."""
    wait_most_seconds: int
    """The longest of these waits."""
    starts: int
    """Attempts that ended and had started."""
    start_average_seconds: float | None
    """How long they took from the lease to the start of the command; null where there was none."""
    start_most_seconds: int
    """The longest of these."""
    users: int
    """Accounts that were opened."""
    nodes: int
    """Nodes on which an attempt ended. Over several days: the most of one day."""
    spent_micros: Micros
    """What renters paid for attempts."""
    fees_micros: Micros
    """The platform's share of that, without what was given back."""
    refunded_micros: Micros
    """What renters got back: after disputes, checks, and attempts that came to nothing."""
    paid_in_micros: Micros
    """Money that came in: top-ups, and credits granted for money."""
    paid_out_micros: Micros
    """Money that went to hosts: cash-outs, without what was taken back."""
    withdrawn_micros: Micros
    """Money that renters got back by hand."""
    returned_micros: Micros
    """Money that went back to cards: refunds and chargebacks."""
    written_off_micros: Micros
    """Debts that the pool bore."""
    storage_micros: Micros
    """What owners paid for storage."""


class OverviewDay(OverviewFigures):
    day: date
    """A day of UTC."""


class Overview(Documented):
    counted_at: datetime | None
    """When the newest of these days was counted; null where nothing was counted yet."""
    today: OverviewDay
    """The day of UTC that is not over yet."""
    totals: OverviewFigures
    """All of `days` together."""
    before: OverviewFigures
    """As many days before these, to compare with."""
    days: list[OverviewDay]
    """Oldest first, today last. Every day is there."""


def router(engine: Engine) -> APIRouter:
    context = engine.context
    routes = priced_routes(engine.directory.authenticate, context.settings, tags=["admin"])

    @routes.get("/admin/overview", visible="admin")
    async def show_overview(days: Annotated[int, Query(ge=1, le=DAYS_LIMIT)] = 30) -> Overview:
        """Jobs, work, waiting times, people and money by day of UTC: today, and the last days with today.

        Queue length, nodes online and utilisation over time are at `admin/series`; what needs a person, at
        `admin/queue`.
        """
        await engine.figures.refresh()
        return await context.db.read(_overview, context.now().date(), days)

    return routes.router


def _overview(session: Session, today: date, count: int) -> Overview:
    first = today - timedelta(days=count - 1)
    found, counted_at = read_days(session, first - timedelta(days=count), today + timedelta(days=1))
    shown = [first + timedelta(days=number) for number in range(count)]
    views = [OverviewDay(day=day, **_figures(found.get(day, NOTHING))) for day in shown]
    return Overview(
        counted_at=counted_at,
        today=views[-1],
        totals=OverviewFigures(**_figures(added(totals for day, totals in found.items() if day >= first))),
        before=OverviewFigures(**_figures(added(totals for day, totals in found.items() if day < first))),
        days=views,
    )


def _figures(totals: DayTotals) -> dict[str, Any]:
    averages = {
        "wait_average_seconds": round(totals.wait_seconds / totals.waits, 1) if totals.waits else None,
        "start_average_seconds": round(totals.start_seconds / totals.starts, 1) if totals.starts else None,
    }
    names = (name for name in OverviewFigures.model_fields if name not in averages)
    return {name: getattr(totals, name) for name in names} | averages
