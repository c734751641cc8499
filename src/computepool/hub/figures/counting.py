"""The roll-ups of one day, from the rows. What a day says equals the sum of its rows when it was last counted."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import BigInteger, String, case, cast, delete, func, insert, select
from sqlalchemy.orm import Session

from computepool.hub.core.ids import new_id
from computepool.hub.core.sql import seconds_between
from computepool.hub.figures.tables import JobDay, WorkDay
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.market.rates import MILLI
from computepool.hub.nodes.tables import Node
from computepool.hub.payments.cash_out_rows import CashOutRow, CashOutState
from computepool.protocol.capacity import SIMULATED
from computepool.protocol.states import JobState, Verdict

OWNERS_LIMIT = 1_000_000
ROWS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class WorkSum:
    """What was done for others; see `WorkDay`."""

    attempts: int = 0
    slices: int = 0
    gpu_seconds: int = 0
    core_seconds: int = 0
    earned_micros: int = 0

    def __add__(self, other: "WorkSum") -> "WorkSum":
        return WorkSum(
            self.attempts + other.attempts,
            self.slices + other.slices,
            self.gpu_seconds + other.gpu_seconds,
            self.core_seconds + other.core_seconds,
            self.earned_micros + other.earned_micros,
        )

    def __sub__(self, other: "WorkSum") -> "WorkSum":
        return WorkSum(
            self.attempts - other.attempts,
            self.slices - other.slices,
            self.gpu_seconds - other.gpu_seconds,
            self.core_seconds - other.core_seconds,
            self.earned_micros - other.earned_micros,
        )


Doer = tuple[str, bool]
"""An owner, and whether it was on simulated nodes."""


@dataclass(frozen=True, slots=True)
class JobCounts:
    submitted: int = 0
    succeeded: int = 0


@dataclass(frozen=True, slots=True)
class DayCount:
    day: date
    counted_at: datetime
    jobs: dict[bool, JobCounts]
    """By whether they are simulated."""
    work: dict[Doer, WorkSum]

    def differs(self, other: "DayCount") -> bool:
        return (self.jobs, self.work) != (other.jobs, other.work)


def count_day(session: Session, day: date, now: datetime) -> DayCount:
    """Reads the day's jobs and attempts: each is a piece of an index."""
    begin, end = _midnight(day), _midnight(day + timedelta(days=1))
    return DayCount(day, now, _jobs(session, begin, end), _work(session, begin, end))


def store_day(session: Session, count: DayCount) -> None:
    """In place of what was stored of this day."""
    day = count.day.isoformat()
    session.execute(delete(JobDay).where(JobDay.day == day))
    session.execute(delete(WorkDay).where(WorkDay.day == day))
    days = [
        {"day": day, "simulated": simulated, "counted_at": count.counted_at, **asdict(jobs)}
        for simulated, jobs in count.jobs.items()
    ]
    session.execute(insert(JobDay), days)
    rows = [
        {"day": day, "owner_id": owner_id, "simulated": simulated, **asdict(work)}
        for (owner_id, simulated), work in count.work.items()
    ]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        session.execute(insert(WorkDay), rows[start : start + ROWS_AT_ONCE])


def first_day(session: Session) -> date | None:
    """The day of the first job."""
    found = session.scalar(select(Job.created_at).order_by(Job.id).limit(1))
    return found.astimezone(UTC).date() if found is not None else None


def list_counted(session: Session, since: date) -> set[date]:
    rows = session.scalars(select(JobDay.day).where(JobDay.day >= since.isoformat()).distinct())
    return {date.fromisoformat(day) for day in rows}


def sum_work(session: Session, since: date | None, before: date) -> dict[Doer, WorkSum]:
    """Of the days from `since` on (None: of all), up to the day before `before`."""
    columns = [func.sum(getattr(WorkDay, name)) for name in WorkSum.__dataclass_fields__]
    query = select(WorkDay.owner_id, WorkDay.simulated, *columns).where(WorkDay.day < before.isoformat())
    if since is not None:
        query = query.where(WorkDay.day >= since.isoformat())
    rows = session.execute(query.group_by(WorkDay.owner_id, WorkDay.simulated).limit(OWNERS_LIMIT))
    return {(owner_id, simulated): WorkSum(*(int(value) for value in sums)) for owner_id, simulated, *sums in rows}


def sum_jobs(session: Session, before: date) -> dict[bool, JobCounts]:
    query = select(JobDay.simulated, func.sum(JobDay.submitted), func.sum(JobDay.succeeded))
    rows = session.execute(query.where(JobDay.day < before.isoformat()).group_by(JobDay.simulated))
    return {simulated: JobCounts(int(submitted), int(succeeded)) for simulated, submitted, succeeded in rows}


def sum_paid_out(session: Session) -> int:
    """Money that hosts got for their earnings, without what was taken back."""
    paid = select(func.sum(CashOutRow.micros - CashOutRow.returned_micros))
    return int(session.scalar(paid.where(CashOutRow.state == CashOutState.PAID)) or 0)


def added(*parts: dict[Doer, WorkSum]) -> dict[Doer, WorkSum]:
    found: dict[Doer, WorkSum] = {}
    for part in parts:
        for doer, work in part.items():
            found[doer] = found.get(doer, WorkSum()) + work
    return found


def total(work: Iterable[WorkSum]) -> WorkSum:
    found = WorkSum()
    for one in work:
        found += one
    return found


# ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _jobs(session: Session, begin: datetime, end: datetime) -> dict[bool, JobCounts]:
    # By what it asks for, as `jobs.views.is_simulated` has it.
    simulated = func.coalesce(Job.spec["where"]["tags"].as_string().like(f'%"{SIMULATED}"%'), False)
    submitted: Counter[bool] = Counter()
    succeeded: Counter[bool] = Counter()
    created = (Job.id >= _least_id(begin), Job.id < _least_id(end))  # ids sort by age
    ended = (Job.finished_at >= begin, Job.finished_at < end, Job.state == JobState.SUCCEEDED)
    for conditions, found in ((created, submitted), (ended, succeeded)):
        query = select(simulated, func.count()).where(*conditions, Job.rerun_of.is_(None)).group_by(simulated)
        found.update({bool(kind): count for kind, count in session.execute(query)})
    return {kind: JobCounts(submitted[kind], succeeded[kind]) for kind in (False, True)}


def _work(session: Session, begin: datetime, end: datetime) -> dict[Doer, WorkSum]:
    elapsed = seconds_between(Attempt.started_at, func.coalesce(Attempt.exited_at, Attempt.finished_at))
    ran = elapsed - Attempt.rested_seconds
    seconds = cast(func.round(case((ran > 0, ran), else_=0.0)), BigInteger)
    gpus = func.coalesce(Attempt.price["gpus"].as_integer(), 0)
    cpu_millis = func.coalesce(Attempt.price["cpu_millis"].as_integer(), 0)
    is_ok = Attempt.verdict == Verdict.OK
    slice_id = Attempt.job_id + "/" + cast(Attempt.slice_index, String)
    by_node = (
        select(
            Attempt.node_id,
            func.count().filter(is_ok).label("attempts"),
            func.count(slice_id.distinct()).filter(is_ok).label("slices"),
            func.sum(seconds * gpus).filter(is_ok).label("gpu_seconds"),
            func.sum(seconds * cpu_millis).filter(is_ok).label("core_millis"),
            func.sum(Attempt.earned_micros).label("earned_micros"),
        )
        .where(Attempt.own.is_(False), Attempt.finished_at >= begin, Attempt.finished_at < end)
        .group_by(Attempt.node_id)
        .subquery()
    )
    simulated = func.coalesce(Node.capacity["simulated"].as_boolean(), False)
    query = select(Node.owner_id, simulated, by_node).join(Node, Node.id == by_node.c.node_id)
    found: dict[Doer, WorkSum] = {}
    for owner_id, is_simulated, _, attempts, slices, gpu_seconds, core_millis, earned in session.execute(query):
        doer = (owner_id, bool(is_simulated))
        work = WorkSum(attempts, slices, int(gpu_seconds or 0), int(core_millis or 0) // MILLI, int(earned or 0))
        found[doer] = found.get(doer, WorkSum()) + work
    return found


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def _least_id(instant: datetime) -> str:
    return new_id("job", instant, lambda bits: 0)
