"""Jobs, slices and attempts in the database. Every write of a state is guarded by the states it may come from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, cast

from sqlalchemy import Row, Table, Update, bindparam, case, func, select, text
from sqlalchemy.orm import Session

from computepool.hub.jobs.errors import StaleLease
from computepool.hub.jobs.policy import IDLE_REASONS
from computepool.hub.jobs.tables import Attempt, Job, Slice
from computepool.hub.nodes.tables import Node
from computepool.protocol.states import (
    ATTEMPT_ENDED,
    ATTEMPT_LIVE,
    ATTEMPT_NEXT,
    JOB_FINAL,
    JOB_NEXT,
    AttemptState,
    JobState,
    Verdict,
    sources_of,
)
from computepool.protocol.states import Table as StateTable

OPEN_SLICES_LIMIT = 2_000_000
SLICE_ENDS_LIMIT = 1_000
"""Exit codes, reasons and verdicts do not make more."""
NODE_ATTEMPTS_LIMIT = 5_000
INSERT_BATCH = 1_000

# The statements of the hot path are built once: building one anew costs more than the database takes to run it.
_ATTEMPTS, _SLICES, _JOBS = (cast(Table, table.__table__) for table in (Attempt, Slice, Job))


def _guarded(table: Table, keys: Sequence[str], states: StateTable[Any], target: Any) -> Update:
    """`UPDATE … WHERE keys match AND state IN (those that may become the target)`."""
    sources = ", ".join(f"'{state}'" for state in sorted(sources_of(states, target))) or "NULL"  # that is none
    conditions = [table.c[key] == bindparam(f"for_{key}") for key in keys]
    return table.update().where(*conditions, text(f"{table.name}.state IN ({sources})"))


_MOVE_ATTEMPT = {state: _guarded(_ATTEMPTS, ("id", "fence"), ATTEMPT_NEXT, state) for state in AttemptState}
_MOVE_SLICE = {state: _guarded(_SLICES, ("job_id", "index", "fence"), JOB_NEXT, state) for state in JobState}
_MOVE_JOB = {state: _guarded(_JOBS, ("id",), JOB_NEXT, state) for state in JobState}
_TAKE_SLICES_OFF = (
    _JOBS.update()
    .where(_JOBS.c.id == bindparam("for_id"))
    .values(slices_left=_JOBS.c.slices_left - bindparam("count"))
    .returning(_JOBS.c.slices_left)
)
_START_JOB = (
    _JOBS.update()
    .where(_JOBS.c.id == bindparam("for_id"), _JOBS.c.started_at.is_(None))
    .values(started_at=bindparam("now"))
)
_PIN_IMAGE = (
    _JOBS.update()
    .where(_JOBS.c.id == bindparam("for_id"), _JOBS.c.image_digest.is_(None))
    .values(image_digest=bindparam("digest"))
)
_ASK_TO_LEAVE = (
    _ATTEMPTS.update()
    .where(
        _ATTEMPTS.c.id == bindparam("for_id"),
        _ATTEMPTS.c.fence == bindparam("for_fence"),
        _ATTEMPTS.c.leave_asked_at.is_(None),
        _ATTEMPTS.c.state.in_(sorted(ATTEMPT_LIVE)),
    )
    .values(leave_asked_at=bindparam("now"), leave_for=bindparam("for_what"))
)
_NOTE_SETTLED = _ATTEMPTS.update().where(_ATTEMPTS.c.id == bindparam("for_id"))
_NOTIFIED = select(_JOBS.c.spec["notify"]).where(_JOBS.c.id == bindparam("for_id"), _JOBS.c.rerun_of.is_(None))
_ADD_JOB, _ADD_SLICES, _ADD_ATTEMPTS = _JOBS.insert(), _SLICES.insert(), _ATTEMPTS.insert()


@dataclass(frozen=True, slots=True)
class AttemptView:
    """An attempt with what decides its end: its slice's and its job's side of the story."""

    attempt_id: str
    state: AttemptState
    fence: int
    node_id: str
    job_id: str
    slice_index: int
    slice_state: JobState
    slice_fence: int
    failures: int
    losses: int
    avoid: list[str]
    retries_allowed: int
    cancel_requested: bool
    owner_id: str
    own: bool
    """The node belongs to whom the job belongs to."""
    price_micros: int | None
    started_at: datetime | None
    asked_to_leave: bool
    leave_for: str | None
    """The verdict of its end, if it was asked to leave."""
    root: str
    """The job whose result it is."""
    leased_at: datetime
    exited_at: datetime | None
    rested_since: datetime | None
    rested_seconds: float
    settled_seconds: int
    billed_seconds: int
    cost_micros: int
    earned_micros: int
    price: dict[str, Any] | None
    terms: dict[str, Any] | None
    log_bytes: int = 0
    """What is counted of its log so far."""
    host_id: str | None = None
    """Who owns the node, if not the owner of the job."""

    @property
    def is_current(self) -> bool:
        """Its slice was not given to another."""
        return self.slice_fence == self.fence and self.slice_state not in JOB_FINAL


def move_attempt(
    session: Session,
    attempt_id: str,
    fence: int,
    target: AttemptState,
    now: datetime,
    values: Mapping[str, Any] | None = None,
) -> None:
    """The only write of an attempt's state. Nothing updated means that the caller no longer holds the lease."""
    finished_at = now if target in ATTEMPT_ENDED else None
    moved = _write(
        session,
        _MOVE_ATTEMPT[target],
        {"for_id": attempt_id, "for_fence": fence, "state": target, "finished_at": finished_at, **(values or {})},
    )
    if moved != 1:
        raise StaleLease(attempt_id, fence, target)


def move_slice(
    session: Session,
    job_id: str,
    index: int,
    fence: int,
    target: JobState,
    now: datetime,
    values: Mapping[str, Any] | None = None,
) -> bool:
    """The only write of a slice's state. False when it moved on meanwhile, or was leased anew."""
    key = {"for_job_id": job_id, "for_index": index, "for_fence": fence}
    finished_at = now if target in JOB_FINAL else None
    return _write(
        session, _MOVE_SLICE[target], {**key, "state": target, "finished_at": finished_at, **(values or {})}
    ) == 1  # fmt: skip


def move_job(
    session: Session, job_id: str, target: JobState, now: datetime, values: Mapping[str, Any] | None = None
) -> bool:
    """The only write of a job's state."""
    finished_at = now if target in JOB_FINAL else None
    return _write(
        session, _MOVE_JOB[target], {"for_id": job_id, "state": target, "finished_at": finished_at, **(values or {})}
    ) == 1  # fmt: skip


def list_notified(session: Session, job_id: str) -> Sequence[str]:
    """Who wants to hear of its end. Of a hidden job nobody does, though it has the spec of the job that it checks."""
    return session.connection().execute(_NOTIFIED, {"for_id": job_id}).scalar() or ()


def start_job(session: Session, job_id: str, now: datetime) -> None:
    """Its first command runs; later ones change nothing."""
    _write(session, _START_JOB, {"for_id": job_id, "now": now})


def pin_image(session: Session, job_id: str, digest: str) -> None:
    """What the image's name meant to the first attempt that ran; later ones change nothing."""
    _write(session, _PIN_IMAGE, {"for_id": job_id, "digest": digest})


def ask_to_leave(session: Session, attempt_id: str, fence: int, now: datetime, verdict: Verdict) -> bool:
    """False if it has ended, or was asked before. `verdict`: of the end that follows."""
    asked = {"for_id": attempt_id, "for_fence": fence, "now": now, "for_what": verdict}
    return _write(session, _ASK_TO_LEAVE, asked) == 1


def note_settled(session: Session, attempt_id: str, values: Mapping[str, Any]) -> None:
    """What is settled of an attempt that goes on."""
    _write(session, _NOTE_SETTLED, {"for_id": attempt_id, **values})


def count_nodes_that_failed_alike(
    session: Session, job_id: str, index: int, reason: str, exit_code: int | None, node_id: str
) -> int:
    """On how many nodes, this one too, an attempt of the slice ended in the same way, told by the node itself."""
    same = Attempt.exit_code.is_(None) if exit_code is None else Attempt.exit_code == exit_code
    query = (
        select(func.count(Attempt.node_id.distinct()))
        .where(Attempt.job_id == job_id, Attempt.slice_index == index, Attempt.reason == reason, same)
        .where(Attempt.state == AttemptState.FAILED, Attempt.node_id != node_id)
    )
    return 1 + (session.scalar(query) or 0)


def add_job(session: Session, job: Mapping[str, Any], slices: Sequence[Mapping[str, Any]]) -> None:
    connection = session.connection()
    connection.execute(_ADD_JOB, job)
    for start in range(0, len(slices), INSERT_BATCH):
        connection.execute(_ADD_SLICES, slices[start : start + INSERT_BATCH])


def add_attempts(session: Session, attempts: Sequence[Mapping[str, Any]]) -> None:
    session.connection().execute(_ADD_ATTEMPTS, attempts)


def _write(session: Session, statement: Update, parameters: Mapping[str, Any]) -> int:
    """How many rows it changed. Objects that the session holds are not looked through: hot paths hold none."""
    return session.connection().execute(statement, parameters).rowcount


def take_slices_off(session: Session, job_id: str, count: int) -> int:
    """Count slices that have become final; returns how many are left."""
    row = session.connection().execute(_TAKE_SLICES_OFF, {"for_id": job_id, "count": count}).first()
    if row is None or row[0] < 0:
        raise AssertionError(f"{job_id} ended more slices than it has")
    return int(row[0])


def cancel_queued_slices(session: Session, job_id: str, now: datetime) -> int:
    """Whatever an earlier attempt ended with: that they end now is the renter's doing."""
    canceled = _SLICES.update().where(_SLICES.c.job_id == job_id, _SLICES.c.state == JobState.QUEUED)
    end = {"verdict": Verdict.RENTER, "reason": "canceled", "exit_code": None}
    return _write(session, canceled, {"state": JobState.CANCELED, "finished_at": now, **end})


def lock_jobs(session: Session, job_ids: Iterable[str]) -> None:
    """Nobody else decides on these jobs until the end of this transaction. SQLite has one writer anyway.

    Every transaction that decides takes its locks in the same order, job, slice, attempt, so that none waits for
    another in a ring.
    """
    if session.get_bind().dialect.name != "sqlite":
        session.execute(select(Job.id).where(Job.id.in_(sorted(set(job_ids)))).order_by(Job.id).with_for_update())


_VIEW = (
    select(
        Attempt.id,
        Attempt.state,
        Attempt.fence,
        Attempt.node_id,
        Attempt.job_id,
        Attempt.slice_index,
        Slice.state,
        Slice.fence,
        Slice.failures,
        Slice.losses,
        Slice.avoid,
        Job.retries_allowed,
        Job.cancel_requested_at,
        Job.owner_id,
        Attempt.own,
        Attempt.price_micros,
        Attempt.started_at,
        Attempt.leave_asked_at,
        Attempt.leave_for,
        func.coalesce(Job.rerun_of, Job.id),
        Attempt.leased_at,
        Attempt.exited_at,
        Attempt.rested_since,
        Attempt.rested_seconds,
        Attempt.settled_seconds,
        Attempt.billed_seconds,
        Attempt.cost_micros,
        Attempt.earned_micros,
        Attempt.price,
        Attempt.terms,
        Attempt.log_bytes,
        case((Attempt.own, None), else_=select(Node.owner_id).where(Node.id == Attempt.node_id).scalar_subquery()),
    )
    .join(Slice, (Slice.job_id == Attempt.job_id) & (Slice.index == Attempt.slice_index))
    .join(Job, Job.id == Attempt.job_id)
)


_VIEW_ONE = _VIEW.where(Attempt.id == bindparam("for_id")).with_for_update(of=[Job, Slice, Attempt])
_VIEW_OF_ALL = _VIEW.where(Attempt.id.in_(bindparam("for_ids", expanding=True))).order_by(
    Job.id, Slice.index, Attempt.id
)
_VIEW_MANY = _VIEW_OF_ALL.with_for_update(of=[Job, Slice, Attempt])
_VIEW_FREE = _VIEW_OF_ALL.with_for_update(of=[Job, Slice, Attempt], skip_locked=True)


def find_attempt(session: Session, attempt_id: str) -> AttemptView | None:
    """Locks all three where the database can, so that what is decided on them still holds when it is written.

    All of them: what is not locked would be as old as the question, if the answer had to wait for another's commit.
    """
    row = session.connection().execute(_VIEW_ONE, {"for_id": attempt_id}).first()
    return _view_of(row) if row is not None else None


def find_attempts(session: Session, attempt_ids: Iterable[str], *, skip_locked: bool = False) -> dict[str, AttemptView]:
    """The same for several, by id. Locked in one order, job by job, whoever asks for which. `skip_locked`: without
    those that another is deciding on."""
    query = _VIEW_FREE if skip_locked else _VIEW_MANY
    rows = session.connection().execute(query, {"for_ids": list(attempt_ids)})
    return {view.attempt_id: view for view in map(_view_of, rows)}


def list_live_attempts_on(session: Session, node_id: str) -> list[AttemptView]:
    query = _VIEW.where(Attempt.node_id == node_id, Attempt.state.in_(ATTEMPT_LIVE)).limit(NODE_ATTEMPTS_LIMIT)
    return [_view_of(row) for row in session.execute(query)]


def count_strangers_attempts_on(session: Session, node_id: str) -> int:
    """Of those that hold a lease."""
    live = (Attempt.node_id == node_id, Attempt.state.in_(ATTEMPT_LIVE), Attempt.own.is_(False))
    return session.scalar(select(func.count()).where(*live)) or 0


def list_lost_attempts_on(session: Session, node_id: str, attempt_ids: Sequence[str]) -> set[str]:
    """Which of these the hub gave up on that node because it was silent, or had to be."""
    if not attempt_ids:
        return set()
    lost = select(Attempt.id).where(Attempt.node_id == node_id, Attempt.state == AttemptState.LOST)
    lost = lost.where(Attempt.reason.not_in(IDLE_REASONS))
    return set(session.scalars(lost.where(Attempt.id.in_(attempt_ids))))


def _view_of(row: Row[*tuple[Any, ...]]) -> AttemptView:
    (attempt_id, state, fence, node_id, job_id, index, slice_state, slice_fence, *rest) = tuple(row)
    failures, losses, avoid, retries_allowed, cancel_requested_at, owner_id, own, *rest = rest
    price_micros, started_at, leave_asked_at, *rest = rest
    return AttemptView(
        attempt_id,
        AttemptState(state),
        fence,
        node_id,
        job_id,
        index,
        JobState(slice_state),
        slice_fence,
        failures,
        losses,
        avoid,
        retries_allowed,
        cancel_requested_at is not None,
        owner_id,
        own,
        price_micros,
        started_at,
        leave_asked_at is not None,
        *rest,
    )


def list_live_attempts_of_job(session: Session, job_id: str) -> Sequence[Row[str, int, str]]:
    return session.execute(
        select(Attempt.id, Attempt.fence, Attempt.node_id)
        .where(Attempt.job_id == job_id, Attempt.state.in_(ATTEMPT_LIVE))
        .limit(OPEN_SLICES_LIMIT)
    ).all()


def list_live_attempts(session: Session) -> Sequence[Row[str, str, str]]:
    """(node, state, manifest) of everything that runs, for the fleet's memory after a start."""
    return session.execute(
        select(Attempt.node_id, Attempt.state, Attempt.manifest)
        .where(Attempt.state.in_(ATTEMPT_LIVE))
        .limit(OPEN_SLICES_LIMIT)
    ).all()


def list_queued_slices(
    session: Session,
) -> Sequence[Row[str, int, int, int, list[str], datetime | None, str | None, str | None, int | None]]:
    """Everything that waits, oldest job first, for the queue's memory after a start."""
    return session.execute(
        select(
            Slice.job_id,
            Slice.index,
            Slice.fence,
            Slice.attempts,
            Slice.avoid,
            Slice.retry_at,
            Slice.verdict,
            Slice.reason,
            Slice.exit_code,
        )
        .where(Slice.state == JobState.QUEUED)
        .order_by(Slice.job_id, Slice.index)
        .limit(OPEN_SLICES_LIMIT)
    ).all()


class OpenJob(NamedTuple):
    id: str
    owner_id: str
    name: str
    spec: dict[str, Any]
    spec_digest: str
    bundle: dict[str, Any] | None
    inputs: dict[str, Any] | None
    image_digest: str | None
    ceiling_micros: int | None
    slice_indices: list[int] | None
    role: str | None
    rerun_of: str | None
    rerun: dict[str, Any] | None
    own_job: str | None = None
    submitted_by: str | None = None


def list_open_jobs(session: Session) -> list[OpenJob]:
    """What the scheduler's memory is rebuilt from, and no more: there may be a hundred thousand."""
    open_ids = select(Slice.job_id).where(Slice.state.in_((JobState.QUEUED, JobState.RUNNING))).distinct()
    columns = (getattr(Job, name) for name in OpenJob._fields)
    return [OpenJob(*row) for row in session.execute(select(*columns).where(Job.id.in_(open_ids)))]


def count_slices_by_state(session: Session, job_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {job_id: {} for job_id in job_ids}
    query = (
        select(Slice.job_id, Slice.state, func.count())
        .where(Slice.job_id.in_(job_ids))
        .group_by(Slice.job_id, Slice.state)
    )
    for job_id, state, count in session.execute(query):
        counts[job_id][state] = count
    return counts


_SLICE_ENDS = (
    select(Slice.state, Slice.verdict, Slice.exit_code, Slice.reason)
    .where(Slice.job_id == bindparam("for_id"))
    .distinct()
    .limit(SLICE_ENDS_LIMIT)
)


def list_slice_ends(session: Session, job_id: str) -> Sequence[Row[str, str | None, int | None, str | None]]:
    """The distinct ways in which the slices of a job ended."""
    return session.connection().execute(_SLICE_ENDS, {"for_id": job_id}).all()
