"""What can be asked about jobs. Each answers only what the caller may see."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, and_, bindparam, case, func, or_, select, tuple_
from sqlalchemy.orm import Session, defer, load_only

from computepool.hub.accounts.visibility import sees
from computepool.hub.artifacts.tables import Artifact, ArtifactState
from computepool.hub.core.errors import Invalid, NotFound
from computepool.hub.core.http import Principal
from computepool.hub.jobs.errors import NoSuchJob, Removed
from computepool.hub.jobs.metering import hub_seconds
from computepool.hub.jobs.tables import Attempt, Job, Slice
from computepool.hub.jobs.terms import Terms, unbilled_micros
from computepool.hub.jobs.views import SHOWN_SLICES_LIMIT, JobView, RunningCost, find_view
from computepool.hub.ledger.holds import HoldRow
from computepool.hub.nodes.tables import Node, NodeKey
from computepool.protocol.signing import Signed
from computepool.protocol.spec import MAX_SLICES
from computepool.protocol.states import ATTEMPT_ENDED, ATTEMPT_LIVE, JOB_FINAL, AttemptState, JobState

CURSOR_DIGITS = 9
_METERED = (
    Attempt.started_at,
    Attempt.exited_at,
    Attempt.rested_since,
    Attempt.rested_seconds,
    Attempt.settled_seconds,
    Attempt.price_micros,
    Attempt.terms,
)


@dataclass(frozen=True)
class LogPlace:
    """Where to read: one attempt of one slice."""

    attempt_id: str | None
    """None while the slice has no attempt yet, or if it never had one."""
    number: int
    ended: bool
    """Nothing more can come."""


def load_job(session: Session, principal: Principal, job_id: str) -> Job:
    job = session.scalar(select(Job).where(Job.id == job_id, Job.deleted_at.is_(None)))
    if job is None or not sees(principal, job.owner_id):
        raise NoSuchJob(job_id)
    return job


def show_job(
    session: Session, principal: Principal, job_id: str, from_slice: int = 0, slice_limit: int = SHOWN_SLICES_LIMIT
) -> JobView:
    view = find_view(session, job_id, from_slice, slice_limit)
    if view is None or not sees(principal, view.owner_id):
        raise NoSuchJob(job_id)
    return view


def find_running_cost(session: Session, job_id: str, now: datetime) -> RunningCost | None:
    held = HoldRow.promotional + HoldRow.available + HoldRow.earnings
    rows = session.execute(
        select(Attempt, held)
        .join(HoldRow, and_(HoldRow.attempt_id == Attempt.id, HoldRow.resolved_at.is_(None)))
        .where(Attempt.job_id == job_id, Attempt.state.in_(sorted(ATTEMPT_LIVE)))
        .options(load_only(*_METERED))
        .limit(MAX_SLICES)
    ).all()
    if not rows:
        return None
    unbilled = per_hour = 0
    for attempt, _ in rows:
        rested = attempt.rested_since, attempt.rested_seconds
        ran = hub_seconds(attempt.started_at, attempt.exited_at, *rested, now)
        terms = Terms.of(attempt.terms)
        unbilled += unbilled_micros(terms, attempt.price_micros, ran, attempt.settled_seconds)
        runs = attempt.started_at is not None and attempt.exited_at is None and attempt.rested_since is None
        per_hour += (attempt.price_micros or 0) if runs else 0
    held_micros = sum(micros for _, micros in rows)
    return RunningCost(at=now, unbilled_micros=unbilled, per_hour_micros=per_hour, held_micros=held_micros)


def count_suspended(session: Session, job_id: str) -> tuple[int, int]:
    """Of its attempts that have a node: how many are suspended there, and how many there are."""
    live = select(Attempt.state).where(Attempt.job_id == job_id, Attempt.state.in_(sorted(ATTEMPT_LIVE)))
    states = session.scalars(live).all()
    return sum(state == AttemptState.SUSPENDED for state in states), len(states)


def check_slice(job: Job, index: int) -> None:
    if job.slice_indices is not None and index not in job.slice_indices:
        raise NotFound(f"{job.id} runs some slices of another job again, and slice {index} is not one of them.")
    if job.slice_indices is None and index >= job.slice_count:
        raise NotFound(f"{job.id} has {job.slice_count} slice(s), counted from 0: there is no slice {index}.")


def list_unfinished(session: Session, job: Job) -> tuple[int, ...] | None:
    """The slices that a retry has to run; None if it is every slice of the spec."""
    query = select(Slice.index).where(Slice.job_id == job.id, Slice.state != JobState.SUCCEEDED).order_by(Slice.index)
    indices = tuple(session.scalars(query))
    if indices and (job.slice_indices is not None or len(indices) < job.slice_count):
        return indices
    return None if job.slice_indices is None else tuple(job.slice_indices)


def find_log(session: Session, principal: Principal, job_id: str, index: int, attempt: int | None) -> LogPlace:
    """The newest attempt, or the one that was asked for."""
    return find_log_of(session, load_job(session, principal, job_id), index, attempt)


def find_log_of(session: Session, job: Job, index: int, attempt: int | None) -> LogPlace:
    """Whether the caller may see it is not asked here."""
    check_slice(job, index)
    job_id = job.id
    if job.logs_removed_at is not None:
        raise Removed("logs", job_id, job.logs_removed_at)
    query = select(Attempt.id, Attempt.number, Attempt.state).where(
        Attempt.job_id == job_id, Attempt.slice_index == index
    )
    if attempt is not None:
        # Databases have their greatest integer, and no slice is tried that often.
        query = query.where(Attempt.number == min(attempt, 2**31 - 1))
    row = session.execute(query.order_by(Attempt.number.desc()).limit(1)).first()
    if row is None:
        if attempt is not None:
            raise NotFound(f"Slice {index} of {job_id} has no attempt {attempt}.")
        return LogPlace(None, 0, job.state in JOB_FINAL)
    return LogPlace(row.id, row.number, row.state in ATTEMPT_ENDED)


@dataclass(frozen=True)
class AttemptPlace:
    """One attempt of one slice, and when it was."""

    attempt_id: str
    number: int
    leased_at: datetime
    finished_at: datetime | None


def find_attempt(
    session: Session, principal: Principal, job_id: str, index: int, number: int | None
) -> AttemptPlace | None:
    """The newest attempt of a slice, or the one that was asked for; None while the slice has none."""
    job = load_job(session, principal, job_id)
    check_slice(job, index)
    columns = (Attempt.id, Attempt.number, Attempt.leased_at, Attempt.finished_at)
    query = select(*columns).where(Attempt.job_id == job_id, Attempt.slice_index == index)
    if number is not None:
        query = query.where(Attempt.number == number)
    row = session.execute(query.order_by(Attempt.number.desc()).limit(1)).first()
    if row is None and number is not None:
        raise NotFound(f"Slice {index} of {job_id} has no attempt {number}.")
    return AttemptPlace(*row) if row is not None else None


@dataclass(frozen=True, slots=True)
class LiveLog:
    """An attempt whose log a live reader follows."""

    slice_index: int
    number: int
    attempt_id: str
    over: bool
    """Nothing can be added. A lost attempt may still be taken back, so its log is not over."""


_OVER = ATTEMPT_ENDED - {AttemptState.LOST}
_LOGS = select(Attempt.slice_index, Attempt.number, Attempt.id, Attempt.state).order_by(Attempt.slice_index)
_NEWEST_LOGS = _LOGS.join(Slice, (Slice.job_id == Attempt.job_id) & (Slice.index == Attempt.slice_index)).where(
    Attempt.job_id == bindparam("job_id"), Attempt.fence == Slice.fence
)
ASKED_AT_ONCE = 500


def find_live(session: Session, job_id: str) -> tuple[JobView, list[LiveLog]] | None:
    """The job, and the newest attempt of each slice. Whether the caller may see it is not asked here."""
    job = find_view(session, job_id)
    if job is None:
        return None
    rows = session.execute(_NEWEST_LOGS, {"job_id": job_id})
    return job, [_live_log(row) for row in rows]


Logs = Literal["all", "window", "none"]


def find_window(
    session: Session, job_id: str, first: int, limit: int, logs: Logs
) -> tuple[JobView, list[LiveLog]] | None:
    """The same with some of its slices, and the newest attempts of all slices, of these, or none."""
    job = find_view(session, job_id, first, limit)
    if job is None:
        return None
    if logs == "none" or (logs == "window" and not job.slices):
        return job, []
    query = _NEWEST_LOGS
    if logs == "window":
        query = query.where(Attempt.slice_index.between(job.slices[0].index, job.slices[-1].index))
    return job, [_live_log(row) for row in session.execute(query, {"job_id": job_id})]


def find_logs(session: Session, job_id: str, asked: Sequence[tuple[int, int]]) -> list[LiveLog]:
    """Of these attempts, by slice and number. Whether the caller may see them is not asked here."""
    found: list[LiveLog] = []
    for start in range(0, len(asked), ASKED_AT_ONCE):
        some = tuple_(Attempt.slice_index, Attempt.number).in_(asked[start : start + ASKED_AT_ONCE])
        found += [_live_log(row) for row in session.execute(_LOGS.where(Attempt.job_id == job_id, some))]
    return sorted(found, key=lambda log: (log.slice_index, log.number))


def _live_log(row: Any) -> LiveLog:
    return LiveLog(row.slice_index, row.number, row.id, row.state in _OVER)


def find_attempts(session: Session, attempt_ids: Sequence[str]) -> dict[str, Attempt]:
    """By id. Whether the caller may see them is not asked here."""
    query = select(Attempt).options(defer(Attempt.manifest), defer(Attempt.receipt)).where(Attempt.id.in_(attempt_ids))
    rows = session.scalars(query.limit(len(attempt_ids) or 1))
    return {row.id: row for row in rows}


# ── results, a page at a time ────────────────────────────────────────────────────────────────────────────────────────

_DECIDING = (AttemptState.SUCCEEDED, AttemptState.FAILED, AttemptState.CANCELED)


@dataclass(frozen=True, slots=True)
class Output:
    slice_index: int
    number: int
    artifact: Artifact


def page_outputs(
    session: Session, principal: Principal, job_id: str, cursor: str | None, limit: int
) -> tuple[list[Output], str | None]:
    """What the last ended attempt of each slice left behind, or the one that others proved right; by slice and path,
    and where to go on."""
    return page_outputs_of(session, load_job(session, principal, job_id), cursor, limit)


def page_outputs_of(session: Session, job: Job, cursor: str | None, limit: int) -> tuple[list[Output], str | None]:
    """The same, of a job that the caller may see."""
    job_id = job.id
    if job.outputs_removed_at is not None:
        raise Removed("outputs", job_id, job.outputs_removed_at)
    index, path = _read_cursor(cursor) if cursor is not None else (0, "")
    deciding = (
        select(Attempt.slice_index, func.max(Attempt.number).label("number"))
        .where(Attempt.job_id == job_id, Attempt.slice_index >= index, Attempt.state.in_(_DECIDING))
        .group_by(Attempt.slice_index)
        .subquery()
    )
    query = (
        # 0: of another's attempt, which no receipt of this job speaks of
        select(Attempt.slice_index, case((Slice.result_attempt.is_not(None), 0), else_=Attempt.number), Artifact)
        .join(deciding, (Attempt.slice_index == deciding.c.slice_index) & (Attempt.number == deciding.c.number))
        .join(Slice, (Slice.job_id == Attempt.job_id) & (Slice.index == Attempt.slice_index))
        .join(Artifact, Artifact.attempt_id == func.coalesce(Slice.result_attempt, Attempt.id))
        .where(
            Attempt.job_id == job_id,
            Artifact.state == ArtifactState.STORED,
            Artifact.state != ArtifactState.ABANDONED,  # says no more, but lets SQLite use the index that says so
            _comes_after(Attempt.slice_index, index, Artifact.path, path),
        )
        .order_by(Attempt.slice_index, Artifact.path)
        .limit(limit + 1)
    )
    rows = session.execute(query).all()
    shown = [Output(*row) for row in rows[:limit]]
    last = shown[-1] if len(rows) > limit else None
    return shown, f"{last.slice_index}.{last.artifact.path}" if last is not None else None


_PAPERS = select(
    Attempt.job_id,
    Attempt.slice_index,
    Attempt.number,
    Attempt.id,
    Attempt.state,
    Attempt.verdict,
    Attempt.manifest,
    Attempt.receipt,
    Node.id.label("node_id"),
    Node.name,
    Node.sign_key,
).join(Node, Node.id == Attempt.node_id)


def page_receipts(
    session: Session, principal: Principal, job_id: str, cursor: str | None, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Of every attempt that ended on its node, by slice and number; and where to go on. Where others proved a slice's
    last one wrong, it has those of the attempt whose outputs count `instead`."""
    load_job(session, principal, job_id)
    newest = (Slice.job_id == Attempt.job_id) & (Slice.index == Attempt.slice_index) & (Slice.fence == Attempt.fence)
    query = (
        _PAPERS.add_columns(Slice.result_attempt)
        .outerjoin(Slice, newest)
        .where(Attempt.job_id == job_id, Attempt.receipt.is_not(None))
        .order_by(Attempt.slice_index, Attempt.number)
        .limit(limit + 1)
    )
    if cursor is not None:
        index, number = _read_cursor(cursor)
        query = query.where(_comes_after(Attempt.slice_index, index, Attempt.number, _whole(number)))
    rows = [dict(row._mapping) for row in session.execute(query)]
    shown, last = rows[:limit], rows[limit - 1] if len(rows) > limit else None
    counting = [row["result_attempt"] for row in shown if row["result_attempt"] is not None]
    found = {row.id: dict(row._mapping) for row in session.execute(_PAPERS.where(Attempt.id.in_(counting)))}
    _show_keys_of_then(session, [*shown, *found.values()])
    for row in shown:
        row["instead"] = found.get(row["result_attempt"])
    return shown, f"{last['slice_index']}.{last['number']}" if last is not None else None


def _show_keys_of_then(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """A receipt is shown with the key that signed it, also after its node got another."""
    signers = {row["id"]: Signed.model_validate_json(row["receipt"]).key_id for row in rows}
    earlier = {key.id: key for key in session.scalars(select(NodeKey).where(NodeKey.id.in_(set(signers.values()))))}
    for row in rows:
        key = earlier.get(signers[row["id"]])
        is_its = key is not None and key.node_id == row["node_id"]
        row["sign_key"], row["key_ended_at"] = (
            (key.sign_key, key.ended_at) if key and is_its else (row["sign_key"], None)
        )


def _comes_after(first: Any, one: int, second: Any, other: object) -> ColumnElement[bool]:
    return or_(first > one, and_(first == one, second > other))


def _read_cursor(cursor: str) -> tuple[int, str]:
    """`SLICE.REST`: where the page before ended."""
    index, _, rest = cursor.partition(".")
    return _whole(index), rest


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= CURSOR_DIGITS):
        raise Invalid("This cursor does not belong to this list.", hint="Send the `next` of the page before, as it is.")
    return int(text)
