"""What a day of the pool sums up to, counted from its rows in a few statements however many days are asked for.

Which day a row belongs to: a job by its submission, and by its end once more; an attempt by its end, with its running
time and the time until it started; the wait of a slice by its first lease; money by the entry's instant.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Float, and_, bindparam, case, cast, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from computepool.hub.accounts.tables import User
from computepool.hub.artifacts.charges import STORAGE
from computepool.hub.core.ids import SLACK, first_id
from computepool.hub.core.owners import PLATFORM
from computepool.hub.core.sql_time import MICROSECONDS, day_number, epoch_microseconds
from computepool.hub.disputes.refunding import REFUNDED
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.ledger.accounts import Kind, Platform, platform
from computepool.hub.ledger.claims import PAID as RESTITUTION_PAID
from computepool.hub.ledger.tables import EntryRow, PostingRow
from computepool.hub.ledger.write_offs import RETURNED, WRITE_OFF, WRITTEN_OFF
from computepool.protocol.states import JobState, Verdict

VERSION = 2
"""Raised when what is counted changes: every day is then counted anew."""
EPOCH = date(1970, 1, 1)

GIVEN_BACK = (REFUNDED, "give_back", "clawback", RESTITUTION_PAID)
MONEY_IN = ("top_up", "grant")
TO_HOSTS = ("cash_out", "cash_out_returned", "pay_out")
BY_HAND = ("withdrawal",)
TO_CARDS = ("refund", "refund_failed", "chargeback", "chargeback_won")
_HELD = f"/{Kind.HELD}"


@dataclass(frozen=True, slots=True)
class DayTotals:
    """Jobs are counted without those that the platform runs to check others; attempts with them."""

    jobs: int = 0
    simulated_jobs: int = 0
    """Of these, those that ask for simulated nodes."""
    slices: int = 0
    renters: int = 0
    """Who submitted something."""
    ended: dict[str, int] = field(default_factory=dict)
    """Jobs that ended, by state."""
    simulated_succeeded: int = 0
    """Of those that succeeded, those that ask for simulated nodes."""
    ended_by_verdict: dict[str, int] = field(default_factory=dict)
    attempts: int = 0
    """That ended."""
    attempts_by_verdict: dict[str, int] = field(default_factory=dict)
    running_seconds: int = 0
    """Of attempts that ended, from their start to the end of their command, without suspension."""
    gpu_seconds: int = 0
    """The same, times the GPUs of each."""
    waits: int = 0
    """Slices that got their first lease."""
    wait_seconds: int = 0
    wait_most_seconds: int = 0
    starts: int = 0
    """Attempts that ended and had started."""
    start_seconds: int = 0
    """From lease to start."""
    start_most_seconds: int = 0
    users: int = 0
    """New ones."""
    nodes: int = 0
    """On which an attempt ended."""
    spent_micros: int = 0
    fees_micros: int = 0
    refunded_micros: int = 0
    paid_in_micros: int = 0
    paid_out_micros: int = 0
    withdrawn_micros: int = 0
    returned_micros: int = 0
    written_off_micros: int = 0
    storage_micros: int = 0

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value}


NOTHING = DayTotals()
_NAMES = {one.name for one in fields(DayTotals)}


def totals_of(stored: dict[str, Any]) -> DayTotals:
    return DayTotals(**{name: value for name, value in stored.items() if name in _NAMES})


def added(days: Iterable[DayTotals]) -> DayTotals:
    """Of several days. `renters` and `nodes` are the most of one day: the same may be there on several."""
    found: dict[str, Any] = {}
    for day in days:
        for name in _NAMES:
            value = getattr(day, name)
            if isinstance(value, dict):
                known = found.setdefault(name, {})
                for key, count in value.items():
                    known[key] = known.get(key, 0) + count
            elif name.endswith("_most_seconds") or name in ("renters", "nodes"):
                found[name] = max(found.get(name, 0), value)
            else:
                found[name] = found.get(name, 0) + value
    return DayTotals(**found)


def start_of(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def count_days(session: Session, first: date, beyond: date) -> dict[date, DayTotals]:
    """Every day from `first` on and before `beyond`, in the same few statements for one as for many."""
    counted: Counted = defaultdict(dict)
    span = span_of(start_of(first), start_of(beyond))
    for part in (_submitted, _ended, _attempts, _waits, _users, _money):
        part(session, span, counted)
    days = (first + timedelta(days=number) for number in range((beyond - first).days))
    return {day: DayTotals(**counted[(day - EPOCH).days]) for day in days}


# The statements are constants, run with the parameters of `span_of`: to build one takes longer than to run it.
Counted = defaultdict[int, dict[str, Any]]
Span = dict[str, Any]


def span_of(begin: datetime, end: datetime) -> Span:
    """The parameters of a statement about the rows of a time."""
    span: Span = {"begin": begin, "end": end}
    for kind in ("job", "attempt"):
        span[f"first_{kind}"], span[f"beyond_{kind}"] = first_id(kind, begin, -SLACK), first_id(kind, end, SLACK)
    return span


def within(column: InstrumentedAttribute[Any]) -> ColumnElement[bool]:
    return and_(column >= bindparam("begin"), column < bindparam("end"))


def _by_id(column: InstrumentedAttribute[str], kind: str) -> ColumnElement[bool]:
    """Ids sort by age: the rows of a time are a piece of the primary key."""
    return and_(column >= bindparam(f"first_{kind}"), column < bindparam(f"beyond_{kind}"))


def _running_microseconds() -> ColumnElement[int]:
    rested = cast(func.round(Attempt.rested_seconds * cast(MICROSECONDS, Float)), BigInteger)
    stopped = func.coalesce(Attempt.exited_at, Attempt.finished_at)
    ran = epoch_microseconds(stopped) - epoch_microseconds(Attempt.started_at) - rested
    return case((ran > 0, ran), else_=0)


RUNNING_MICROSECONDS = _running_microseconds()
"""Of an attempt that ended: from its start to the end of its command, without suspension; 0 if it never started."""


_CREATED_DAY = day_number(Job.created_at)
_SUBMITTED = (
    select(
        _CREATED_DAY,
        func.count(),
        func.count().filter(Job.simulated),
        func.sum(Job.slice_count),
        func.count(Job.owner_id.distinct()),
    )
    .where(_by_id(Job.id, "job"), within(Job.created_at), Job.rerun_of.is_(None))
    .group_by(_CREATED_DAY)
)


def _submitted(session: Session, span: Span, counted: Counted) -> None:
    for number, jobs, simulated_jobs, slices, owners in session.execute(_SUBMITTED, span):
        figures = {"jobs": jobs, "simulated_jobs": simulated_jobs, "slices": int(slices), "renters": owners}
        counted[number] |= figures


_FINISHED_DAY = day_number(Job.finished_at)
_ENDED = (
    select(_FINISHED_DAY, Job.state, Job.verdict, func.count(), func.count().filter(Job.simulated))
    .where(within(Job.finished_at), Job.rerun_of.is_(None))
    .group_by(_FINISHED_DAY, Job.state, Job.verdict)
)


def _ended(session: Session, span: Span, counted: Counted) -> None:
    for number, state, verdict, jobs, simulated in session.execute(_ENDED, span):
        if state == JobState.SUCCEEDED:
            counted[number]["simulated_succeeded"] = counted[number].get("simulated_succeeded", 0) + simulated
        for name, key in (("ended", JobState(state)), ("ended_by_verdict", Verdict(verdict) if verdict else None)):
            if key is not None:
                known = counted[number].setdefault(name, {})
                known[key.value] = known.get(key.value, 0) + jobs


_ATTEMPT_DAY = day_number(Attempt.finished_at)
_STARTING = epoch_microseconds(Attempt.started_at) - epoch_microseconds(Attempt.leased_at)
_ATTEMPTS = (
    select(
        _ATTEMPT_DAY,
        Attempt.verdict,
        func.count(),
        func.sum(RUNNING_MICROSECONDS),
        func.sum(RUNNING_MICROSECONDS * func.coalesce(Job.spec["resources"]["gpu"]["count"].as_integer(), 0)),
        func.count(Attempt.started_at),
        func.sum(_STARTING),
        func.max(_STARTING),
    )
    .join(Job, Job.id == Attempt.job_id)
    .where(within(Attempt.finished_at))
    .group_by(_ATTEMPT_DAY, Attempt.verdict)
)
_NODES = (
    select(_ATTEMPT_DAY, func.count(Attempt.node_id.distinct()))
    .where(within(Attempt.finished_at))
    .group_by(_ATTEMPT_DAY)
)


def _attempts(session: Session, span: Span, counted: Counted) -> None:
    sums: defaultdict[int, list[int]] = defaultdict(lambda: [0] * 6)
    for number, verdict, count, *times in session.execute(_ATTEMPTS, span):
        ran_for, on_gpus, starts, start, most = (int(value or 0) for value in times)
        day_sums = sums[number]
        for place, value in enumerate((count, ran_for, on_gpus, starts, start)):
            day_sums[place] += value
        day_sums[5] = max(day_sums[5], most)
        if verdict is not None:
            counted[number].setdefault("attempts_by_verdict", {})[verdict] = count
    for number, (count, ran_for, on_gpus, starts, start, most) in sums.items():
        counted[number] |= {
            "attempts": count,
            "running_seconds": ran_for // MICROSECONDS,
            "gpu_seconds": on_gpus // MICROSECONDS,
            "starts": starts,
            "start_seconds": start // MICROSECONDS,
            "start_most_seconds": most // MICROSECONDS,
        }
    for number, count in session.execute(_NODES, span):
        counted[number]["nodes"] = count


_LEASED_DAY = day_number(Attempt.leased_at)
_WAITED = epoch_microseconds(Attempt.leased_at) - epoch_microseconds(Job.created_at)
_WAITS = (
    select(_LEASED_DAY, func.count(), func.sum(_WAITED), func.max(_WAITED))
    .join(Job, Job.id == Attempt.job_id)
    .where(_by_id(Attempt.id, "attempt"), within(Attempt.leased_at), Attempt.number == 1, Job.rerun_of.is_(None))
    .group_by(_LEASED_DAY)
)


def _waits(session: Session, span: Span, counted: Counted) -> None:
    for number, count, total, most in session.execute(_WAITS, span):
        counted[number] |= {
            "waits": count,
            "wait_seconds": int(total) // MICROSECONDS,
            "wait_most_seconds": int(most) // MICROSECONDS,
        }


_USER_DAY = day_number(User.created_at)
_USERS = select(_USER_DAY, func.count()).where(within(User.created_at)).group_by(_USER_DAY)


def _users(session: Session, span: Span, counted: Counted) -> None:
    for number, count in session.execute(_USERS, span):
        counted[number]["users"] = count


def _money_sums() -> dict[str, ColumnElement[Any]]:
    fees, clearing = platform(Platform.FEES), platform(Platform.CLEARING)
    source, destination, kind = PostingRow.source, PostingRow.destination, EntryRow.kind
    to_others = destination.not_like(func.replace(source, _HELD, "/%"))

    def total(*conditions: ColumnElement[bool]) -> Any:
        return func.sum(case((and_(*conditions), PostingRow.micros), else_=0))

    def money(*kinds: str) -> Any:
        """What went out of the pool, less what came."""
        of_kinds = kind.in_(kinds)
        return total(destination == clearing, of_kinds) - total(source == clearing, of_kinds)

    return {
        "spent_micros": total(kind == "settle", source.endswith(_HELD, autoescape=True), to_others),
        "fees_micros": total(destination == fees) - total(source == fees),
        "refunded_micros": total(kind.in_(GIVEN_BACK), destination.not_like(f"{PLATFORM}/%")),
        "paid_in_micros": -money(*MONEY_IN),
        "paid_out_micros": money(*TO_HOSTS),
        "withdrawn_micros": money(*BY_HAND),
        "returned_micros": money(*TO_CARDS),
        "written_off_micros": total(source == WRITE_OFF, kind == WRITTEN_OFF)
        - total(destination == WRITE_OFF, kind == RETURNED),
        "storage_micros": total(kind == STORAGE),
    }


_SUMS = _money_sums()
_ENTRY_DAY = day_number(EntryRow.created_at)
_MONEY = (
    select(_ENTRY_DAY, *_SUMS.values())
    .join(EntryRow, EntryRow.id == PostingRow.entry_id)
    .where(within(EntryRow.created_at))
    .group_by(_ENTRY_DAY)
)


def _money(session: Session, span: Span, counted: Counted) -> None:
    for number, *values in session.execute(_MONEY, span):
        counted[number] |= {name: int(value) for name, value in zip(_SUMS, values, strict=True)}
