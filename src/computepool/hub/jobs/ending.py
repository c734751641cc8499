"""How attempts, slices and jobs end, one transaction a function.

Whoever says that an attempt is over (the node with its receipt, the hub that lost sight of it, a renter who cancels),
the same few lines decide: the attempt moves, the money follows, the slice is retried or ends, the last slice ends the
job. A rescue can never overwrite a completion, because both write through the same guard.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.core.notices import mail_topic
from computepool.hub.core.records import record
from computepool.hub.jobs import money, repository, repute, spending, storage
from computepool.hub.jobs.deciding import DecidedEnd, End, decide
from computepool.hub.jobs.errors import StaleLease
from computepool.hub.jobs.metering import rest_of
from computepool.hub.jobs.policy import (
    OUT_OF_BUDGET,
    Ending,
    Next,
    Tries,
    job_end,
    may_be_the_jobs_doing,
    next_step,
    why_failed,
)
from computepool.hub.jobs.repository import AttemptView
from computepool.hub.jobs.tables import Job, Slice, attempt_topics, topics_of
from computepool.hub.jobs.verification import (
    NOTHING_ELSE,
    Consequences,
    Role,
    await_others,
    cancel_awaiting,
    is_result,
    list_open_replicas,
)
from computepool.hub.market.standing import Standing
from computepool.hub.reputation.reliability import HALF_LIFE
from computepool.protocol.limits import DETAIL_LIMIT_CHARACTERS
from computepool.protocol.manifest import Saved
from computepool.protocol.spec_support import EMAIL
from computepool.protocol.states import (
    ATTEMPT_ENDED,
    ATTEMPT_LIVE,
    ATTEMPT_NEXT,
    JOB_FINAL,
    AttemptState,
    JobState,
    Verdict,
)


class Applied(StrEnum):
    APPLIED = "applied"
    DUPLICATE = "duplicate"
    """It had ended already, and this changes nothing."""
    SUPERSEDED = "superseded"
    """Too late: its slice was given to another, or is over. Kept, not paid."""


@dataclass(frozen=True, slots=True)
class Requeued:
    """A slice that waits again, as the queue in memory needs to know it."""

    job_id: str
    slice_index: int
    fence: int
    avoid: tuple[str, ...]
    retry_at: datetime | None
    saved: Saved | None = None
    """What its next attempt starts from."""
    held_back: bool = False
    """Until then by any node: it was not the last one's doing."""
    continues: bool = False
    """It asked for that itself, and saved where it is."""
    verdict: Verdict | None = None
    """Of its last attempt, and why it ended: for whoever asks why it waits."""
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    applied: Applied
    attempt_id: str
    job_id: str
    slice_index: int
    requeued: Requeued | None = None
    job_final: bool = False
    owner_id: str = ""
    spent_micros: int = 0
    """On other people's nodes."""
    standing: Standing | None = None
    """Of its node, if that changed with it."""
    answered: bool = False
    """It has a result, which others are to confirm."""
    after: Consequences = NOTHING_ELSE
    """What verification made of it."""


@dataclass(frozen=True, slots=True)
class Canceled:
    state: JobState
    live: list[tuple[str, int, str]] = field(default_factory=list)
    """(attempt, fence, node) that must be told to stop."""
    replicas: list[tuple[str, JobState]] = field(default_factory=list)
    """The hidden jobs that were canceled with it, and where they are then."""


def end_attempt(
    session: Session,
    attempt_id: str,
    fence: int,
    node_id: str,
    ending: Ending,
    now: datetime,
    facts: dict[str, Any] | None = None,
    half_life: timedelta = HALF_LIFE,
    unconfirmed: bool = False,
) -> Ended:
    """Give the attempt its one verdict, and let everything follow from it. `facts`: receipt, log, isolation.

    `unconfirmed`: a result of it does not end its slice before others confirm it.
    """
    view = repository.find_attempt(session, attempt_id)
    if view is None or view.fence != fence or view.node_id != node_id:
        raise StaleLease(attempt_id, fence, ending.attempt_state)
    if view.state in ATTEMPT_ENDED and view.state is not AttemptState.LOST:
        return Ended(Applied.DUPLICATE, attempt_id, view.job_id, view.slice_index)
    if not view.is_current:
        return _too_late(session, view, facts or {}, now)
    is_back = view.state is AttemptState.LOST
    if is_back:
        if ending.lost:
            return Ended(Applied.DUPLICATE, attempt_id, view.job_id, view.slice_index)
        money.hold_again(session, view, now, has_ended=True)
        view = _take_back(session, view, AttemptState.FINISHING, now)
    end = decide(session, view, End(attempt_id, fence, node_id, ending, facts or {}))
    (settled,) = money.settle(session, [end.bill], now)
    if end.alike:
        repute.lock_all(session, [view], end.alike)
    if is_back:
        repute.undo_end(session, view, now, half_life)  # only now: a node's record is locked after everything else
    ended = _carry_out(session, end, settled, now, half_life, unconfirmed=unconfirmed)
    storage.count_logs(session, [(view, end.facts)], now)
    return ended


def end_attempts(session: Session, ends: Sequence[End], now: datetime, half_life: timedelta) -> list[Ended | None]:
    """Many that nobody has to confirm, in one transaction. None for each that has to be ended alone: it is stale, had
    been given up, shares its slice with another of these, or somebody else is deciding on its job."""
    views = repository.find_attempts(session, [end.attempt_id for end in ends], skip_locked=True)
    decided: dict[int, DecidedEnd] = {}
    slices = set()
    for place, end in enumerate(ends):
        view = views.get(end.attempt_id)
        if view is None or (view.fence, view.node_id) != (end.fence, end.node_id):
            continue
        if view.state not in ATTEMPT_LIVE or not view.is_current or (view.job_id, view.slice_index) in slices:
            continue
        slices.add((view.job_id, view.slice_index))
        decided[place] = decide(session, view, end)
    settled = money.settle(session, [one.bill for one in decided.values()], now)
    repute.lock_all(
        session, [one.bill.view for one in decided.values()], [each for one in decided.values() for each in one.alike]
    )
    ended: list[Ended | None] = [None] * len(ends)
    for (place, one), paid in zip(decided.items(), settled, strict=True):
        ended[place] = _carry_out(session, one, paid, now, half_life)
    storage.count_logs(session, [(one.bill.view, one.facts) for one in decided.values()], now)
    return ended


def take_back(
    session: Session,
    attempt_id: str,
    fence: int,
    node_id: str,
    state: AttemptState,
    now: datetime,
    half_life: timedelta = HALF_LIFE,
) -> AttemptView | None:
    """A lost attempt goes on where it is, if no other has its slice and its renter can still pay for it."""
    view = repository.find_attempt(session, attempt_id)
    if view is None or view.fence != fence or view.node_id != node_id:
        return None
    if view.state is not AttemptState.LOST or not view.is_current or view.cancel_requested:
        return None
    if not money.hold_again(session, view, now, has_ended=False):
        return None
    possible = ATTEMPT_NEXT[AttemptState.LOST] & ATTEMPT_LIVE
    back = _take_back(session, view, state if state in possible else AttemptState.RUNNING, now)
    repute.undo_end(session, view, now, half_life)
    return back


def cancel(session: Session, job: Job, now: datetime, *, actor: str) -> Canceled:
    """Nothing of it starts any more. What runs is told to stop, and ends the job when it has."""
    repository.lock_jobs(session, [job.id])
    session.refresh(job)
    if job.finished_at is not None:
        return Canceled(JobState(job.state))
    if job.cancel_requested_at is None:
        job.cancel_requested_at = now
        session.flush()
        topics = topics_of(job.id, job.owner_id, is_hidden=job.rerun_of is not None)
        record(session, "job.cancel_requested", job.id, now, actor=actor, topics=topics)
    ended = repository.cancel_queued_slices(session, job.id, now) + cancel_awaiting(session, job.id, now)
    if ended and repository.take_slices_off(session, job.id, ended) == 0:
        _finish_job(session, job.id, job.owner_id, now, is_hidden=job.rerun_of is not None)
    session.refresh(job)
    live = [(row[0], row[1], row[2]) for row in repository.list_live_attempts_of_job(session, job.id)]
    replicas = []
    for replica in list_open_replicas(session, job.id) if job.role == Role.REPLICATED else ():
        canceled = cancel(session, replica, now, actor=actor)
        live += canceled.live
        replicas.append((replica.id, canceled.state))
    return Canceled(JobState(job.state), live, replicas)


def settle_slice(
    session: Session,
    job: Job,
    index: int,
    target: JobState,
    values: dict[str, Any],
    now: datetime,
    message: str | None = None,
) -> bool:
    """Others have confirmed what a slice came to, or not. True if the job is over with it."""
    fence = session.scalar(select(Slice.fence).where(Slice.job_id == job.id, Slice.index == index))
    values = {**values, "awaits_check": False}
    if fence is None or not repository.move_slice(session, job.id, index, fence, target, now, values):
        raise AssertionError(f"slice {index} of {job.id} was not waiting for others")
    if repository.take_slices_off(session, job.id, 1):
        return False
    last = Ending(Verdict(values["verdict"]), values["reason"], values["exit_code"])
    _finish_job(session, job.id, job.owner_id, now, last, message, is_hidden=job.rerun_of is not None)
    return True


def cancel_slice(session: Session, job: Job, index: int, now: datetime) -> bool | None:
    """One slice that waits need not run any more. None if it does not wait; else whether the job is over with it."""
    values = {"verdict": Verdict.RENTER, "reason": "canceled", "exit_code": None}
    row = session.execute(select(Slice.fence, Slice.state).where(Slice.job_id == job.id, Slice.index == index)).first()
    if row is None or row.state != JobState.QUEUED:
        return None
    if not repository.move_slice(session, job.id, index, row.fence, JobState.CANCELED, now, values):
        return None
    if repository.take_slices_off(session, job.id, 1):
        return False
    _finish_job(session, job.id, job.owner_id, now, is_hidden=job.rerun_of is not None)
    return True


NO_MORE_MONEY = Ending(Verdict.BUDGET, OUT_OF_BUDGET)


def end_unfunded(session: Session, job_id: str, index: int, fence: int, now: datetime, words: str = "") -> Ended | None:
    """A slice that waits, and may not cost more than it did: `words` say why. None if it does not wait any more."""
    repository.lock_jobs(session, [job_id])
    row = session.execute(select(Slice.state, Slice.fence).where(Slice.job_id == job_id, Slice.index == index)).first()
    if row is None or (row.state, row.fence) != (JobState.QUEUED, fence):
        return None
    how = NO_MORE_MONEY
    values = {"verdict": how.verdict, "reason": how.reason, "exit_code": None, "retry_at": None}
    if not repository.move_slice(session, job_id, index, fence, JobState.FAILED, now, values):
        return None
    final = repository.take_slices_off(session, job_id, 1) == 0
    if final:
        owner_id, rerun_of = session.execute(select(Job.owner_id, Job.rerun_of).where(Job.id == job_id)).one()
        message = words or why_failed(how.verdict, how.reason, None)
        _finish_job(session, job_id, owner_id, now, how, message, is_hidden=rerun_of is not None)
    return Ended(Applied.APPLIED, "", job_id, index, job_final=final)


def _carry_out(
    session: Session,
    end: DecidedEnd,
    settled: money.Settled,
    now: datetime,
    half_life: timedelta,
    *,
    unconfirmed: bool = False,
) -> Ended:
    view, ending, newest, progressed = end.bill.view, end.bill.ending, end.newest, end.progressed
    detail = ending.detail
    if progressed and newest is not None:
        detail = f"checkpoint {newest.saved.number} saved; {detail}".rstrip("; ")
    values = {
        "verdict": ending.verdict,
        "reason": ending.reason,
        "exit_code": ending.exit_code,
        "detail": detail[:DETAIL_LIMIT_CHARACTERS] or None,
        **end.facts,
        **settled.values,
    }
    repository.move_attempt(session, view.attempt_id, view.fence, ending.attempt_state, now, values)
    tries = Tries(view.failures, view.losses, view.retries_allowed, progressed=progressed)
    if end.alike:
        nodes = {view.node_id, *(one.node_id for one in end.alike)}
        tries = replace(tries, is_the_jobs=True, alike=len(nodes))
    elif may_be_the_jobs_doing(ending, tries):
        where = (view.job_id, view.slice_index, ending.reason, ending.exit_code, view.node_id)
        tries = replace(tries, alike=repository.count_nodes_that_failed_alike(session, *where))
    step = next_step(ending, tries, cancel_requested=view.cancel_requested)
    record(
        session,
        f"attempt.{ending.attempt_state}",
        view.attempt_id,
        now,
        actor=view.node_id if not ending.lost else "hub",
        topics=attempt_topics(view),
        job=view.job_id,
        slice=view.slice_index,
        node=view.node_id,
        verdict=ending.verdict,
        reason=ending.reason,
    )
    awaits = unconfirmed and step.state in JOB_FINAL and not view.cancel_requested
    if awaits and is_result(ending.reason, ending.exit_code):
        ended = _await_others(session, view, ending, step)
    else:
        told = replace(ending, verdict=Verdict.RENTER) if end.alike else ending
        ended = _move_on(session, view, told, step, newest.saved if newest else None, now)
    if settled.cost_micros:
        spending.add_cost(session, view.job_id, settled.cost_micros)
        spending.count(session, view.owner_id, now.date(), settled.cost_micros)
    standing = repute.count_end(session, view, ending, now, half_life, saved=progressed)
    after = Consequences(standings=repute.excuse(session, end.alike, now, half_life)) if end.alike else NOTHING_ELSE
    return replace(ended, owner_id=view.owner_id, spent_micros=settled.cost_micros, standing=standing, after=after)


def _too_late(session: Session, view: AttemptView, facts: dict[str, Any], now: datetime) -> Ended:
    kept = {key: value for key, value in facts.items() if key in ("receipt", "isolation")}
    repository.move_attempt(session, view.attempt_id, view.fence, AttemptState.SUPERSEDED, now, kept)
    record(session, "attempt.superseded", view.attempt_id, now, topics=attempt_topics(view), **_place(view))
    return Ended(Applied.SUPERSEDED, view.attempt_id, view.job_id, view.slice_index)


def _place(view: AttemptView) -> dict[str, Any]:
    return {"job": view.job_id, "slice": view.slice_index, "node": view.node_id}


def _take_back(session: Session, view: AttemptView, target: AttemptState, now: datetime) -> AttemptView:
    """As if it had never been lost, but for its node's record. Its first hold was settled when it was: the next one is
    set aside already."""
    avoid = [node_id for node_id in view.avoid if node_id != view.node_id]
    blank = {"verdict": None, "reason": None, "exit_code": None}
    values = {"losses": max(0, view.losses - 1), "avoid": avoid, "retry_at": None, **blank}
    if not repository.move_slice(session, view.job_id, view.slice_index, view.fence, JobState.RUNNING, now, values):
        raise StaleLease(view.attempt_id, view.fence, AttemptState.RUNNING)
    rest = rest_of(view.rested_since, view.rested_seconds, now, rests=target is AttemptState.SUSPENDED)
    repository.move_attempt(session, view.attempt_id, view.fence, target, now, {**blank, "detail": None, **rest})
    repository.move_job(session, view.job_id, JobState.RUNNING, now)
    record(
        session, "attempt.taken_back", view.attempt_id, now, topics=attempt_topics(view), **_place(view), state=target
    )
    found = repository.find_attempt(session, view.attempt_id)
    if found is None:
        raise AssertionError("an attempt never vanishes")
    return found


def _await_others(session: Session, view: AttemptView, ending: Ending, step: Next) -> Ended:
    values = {"failures": step.failures, "losses": step.losses, "verdict": ending.verdict}
    values |= {"exit_code": ending.exit_code, "reason": ending.reason}
    if not await_others(session, view.job_id, view.slice_index, view.fence, values):
        raise StaleLease(view.attempt_id, view.fence, ending.attempt_state)
    return Ended(Applied.APPLIED, view.attempt_id, view.job_id, view.slice_index, answered=True)


def _move_on(
    session: Session, view: AttemptView, ending: Ending, step: Next, saved: Saved | None, now: datetime
) -> Ended:
    avoid = sorted({*view.avoid, view.node_id}) if step.avoid_node else view.avoid
    waits = step.state is JobState.QUEUED
    retry_at = now + timedelta(seconds=step.delay_seconds) if waits and step.delay_seconds else None
    values: dict[str, Any] = {
        "failures": step.failures,
        "losses": step.losses,
        "avoid": avoid,
        "retry_at": retry_at,
        "verdict": ending.verdict,
        "exit_code": ending.exit_code,
        "reason": ending.reason,
    }
    if not repository.move_slice(session, view.job_id, view.slice_index, view.fence, step.state, now, values):
        raise StaleLease(view.attempt_id, view.fence, ending.attempt_state)
    if waits:
        requeued = Requeued(
            view.job_id,
            view.slice_index,
            view.fence,
            tuple(avoid),
            retry_at,
            saved,
            held_back=not step.avoid_node,
            continues=step.continues,
            verdict=ending.verdict,
            reason=ending.reason,
        )
        return Ended(Applied.APPLIED, view.attempt_id, view.job_id, view.slice_index, requeued=requeued)
    final = repository.take_slices_off(session, view.job_id, 1) == 0
    if final:
        is_hidden = view.root != view.job_id
        _finish_job(session, view.job_id, view.owner_id, now, ending, step.message, is_hidden=is_hidden)
    return Ended(Applied.APPLIED, view.attempt_id, view.job_id, view.slice_index, job_final=final)


def _finish_job(
    session: Session,
    job_id: str,
    owner_id: str,
    now: datetime,
    last: Ending | None = None,
    last_message: str | None = None,
    *,
    is_hidden: bool,
) -> None:
    """The last slice has ended: the job ends as its worst slice did, which need not be the last one."""
    state, values = job_end(repository.list_slice_ends(session, job_id))
    message = None
    if last is not None and values == {"verdict": last.verdict, "exit_code": last.exit_code, "reason": last.reason}:
        message = last_message
    elif state is JobState.FAILED:
        message = why_failed(Verdict(values["verdict"]), values["reason"], values["exit_code"])
    if repository.move_job(session, job_id, state, now, {**values, "message": message}):
        topics = topics_of(job_id, owner_id, is_hidden=is_hidden)
        if EMAIL in repository.list_notified(session, job_id):
            topics += (mail_topic(owner_id),)
        record(session, f"job.{state}", job_id, now, topics=topics, **values)
