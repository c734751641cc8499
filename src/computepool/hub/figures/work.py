"""What nodes did for others than their owners, by day and owner."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import Select, String, cast, func, select
from sqlalchemy.orm import Session

from computepool.hub.core.sql_time import MICROSECONDS, day_number
from computepool.hub.figures.daily import EPOCH, RUNNING_MICROSECONDS, span_of, within
from computepool.hub.figures.tables import WorkDay
from computepool.hub.jobs.tables import Attempt
from computepool.hub.market.rates import MILLI
from computepool.hub.nodes.tables import Node
from computepool.protocol.states import Verdict

OWNERS_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class WorkSum:
    """See `WorkDay`."""

    attempts: int = 0
    slices: int = 0
    gpu_seconds: int = 0
    core_seconds: int = 0
    earned_micros: int = 0

    def __add__(self, other: "WorkSum") -> "WorkSum":
        return WorkSum(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: "WorkSum") -> "WorkSum":
        return WorkSum(*(mine - theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


Doer = tuple[str, bool]
"""An owner, and whether it was on simulated nodes."""


def added(*parts: dict[Doer, WorkSum]) -> dict[Doer, WorkSum]:
    found: defaultdict[Doer, WorkSum] = defaultdict(WorkSum)
    for part in parts:
        for doer, work in part.items():
            found[doer] += work
    return dict(found)


def total(work: Iterable[WorkSum]) -> WorkSum:
    return sum(work, WorkSum())


def _work_by_node() -> Select[Any]:
    seconds = (RUNNING_MICROSECONDS + MICROSECONDS // 2) // MICROSECONDS
    gpus = func.coalesce(Attempt.price["gpus"].as_integer(), 0)
    cpu_millis = func.coalesce(Attempt.price["cpu_millis"].as_integer(), 0)
    is_ok = Attempt.verdict == Verdict.OK
    slice_id = Attempt.job_id + "/" + cast(Attempt.slice_index, String)
    day = day_number(Attempt.finished_at).label("day")
    by_node = (
        select(
            Attempt.node_id,
            day,
            func.count().filter(is_ok).label("attempts"),
            func.count(slice_id.distinct()).filter(is_ok).label("slices"),
            func.sum(seconds * gpus).filter(is_ok).label("gpu_seconds"),
            func.sum(seconds * cpu_millis).filter(is_ok).label("core_millis"),
            func.sum(Attempt.earned_micros).label("earned_micros"),
        )
        .where(Attempt.own.is_(False), within(Attempt.finished_at))
        .group_by(Attempt.node_id, day)
        .subquery()
    )
    simulated = func.coalesce(Node.capacity["simulated"].as_boolean(), False)
    return select(Node.owner_id, simulated, by_node).join(Node, Node.id == by_node.c.node_id)


_WORK = _work_by_node()


def count_work(session: Session, begin: datetime, end: datetime) -> dict[date, dict[Doer, WorkSum]]:
    """From the attempts that ended in this time: a piece of an index."""
    found: defaultdict[date, defaultdict[Doer, WorkSum]] = defaultdict(lambda: defaultdict(WorkSum))
    for owner_id, is_simulated, _, number, attempts, slices, gpu_seconds, core_millis, earned in session.execute(
        _WORK, span_of(begin, end)
    ):
        work = WorkSum(attempts, slices, int(gpu_seconds or 0), int(core_millis or 0) // MILLI, int(earned or 0))
        found[EPOCH + timedelta(days=number)][(owner_id, bool(is_simulated))] += work
    return {day: dict(work) for day, work in found.items()}


def sum_work(session: Session, since: date | None, before: date | None) -> dict[Doer, WorkSum]:
    """Of the days from `since` on, up to the day before `before`; None: without that bound."""
    columns = [func.sum(getattr(WorkDay, name)) for name in WorkSum.__dataclass_fields__]
    query = select(WorkDay.owner_id, WorkDay.simulated, *columns)
    if since is not None:
        query = query.where(WorkDay.day >= since.isoformat())
    if before is not None:
        query = query.where(WorkDay.day < before.isoformat())
    rows = session.execute(query.group_by(WorkDay.owner_id, WorkDay.simulated).limit(OWNERS_LIMIT))
    return {(owner_id, simulated): WorkSum(*(int(value) for value in sums)) for owner_id, simulated, *sums in rows}
