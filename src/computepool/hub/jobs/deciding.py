"""How an attempt ends, decided before anything of it is written.

A node that blames itself may have been made to by the job: an equal end on a node of another owner tells (ADR 0037).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.jobs import money
from computepool.hub.jobs.checkpoints import Newest, find_newest
from computepool.hub.jobs.policy import Ending, as_asked, may_be_the_jobs_fault
from computepool.hub.jobs.repository import AttemptView
from computepool.hub.jobs.tables import Attempt
from computepool.hub.nodes.tables import Node
from computepool.protocol.states import AttemptState, Verdict

FAILED_ALIKE_LIMIT = 100
"""Attempts of a job that are compared with one that its node is to blame for."""


@dataclass(frozen=True, slots=True)
class End:
    """What is said of an attempt by whoever says that it is over."""

    attempt_id: str
    fence: int
    node_id: str
    ending: Ending
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Receipt, log, isolation, usage."""


class FailedAlike(NamedTuple):
    """An attempt of another owner's node, or of another node of the same owner, that ended in the same way."""

    attempt_id: str
    node_id: str
    slice_index: int
    is_others: bool
    """Its node has another owner."""


def list_failed_alike(session: Session, view: AttemptView, reason: str, exit_code: int | None) -> list[FailedAlike]:
    """Earlier attempts of the same job on strangers' nodes that ended in the same way, told by the nodes themselves."""
    same = Attempt.exit_code.is_(None) if exit_code is None else Attempt.exit_code == exit_code
    mine = select(Node.owner_id).where(Node.id == view.node_id).scalar_subquery()
    query = (
        select(Attempt.id, Attempt.node_id, Attempt.slice_index, Node.owner_id != mine)
        .join(Node, Node.id == Attempt.node_id)
        .where(Attempt.job_id == view.job_id, Attempt.reason == reason, same, Attempt.own.is_(False))
        .where(Attempt.state == AttemptState.FAILED, Attempt.id != view.attempt_id)
        .order_by(Attempt.id.desc())
        .limit(FAILED_ALIKE_LIMIT)
    )
    return [FailedAlike(*row) for row in session.execute(query)]


def has_succeeded(session: Session, job_id: str) -> bool:
    """Whether any attempt of the job was ok."""
    return (
        session.scalar(select(Attempt.id).where(Attempt.job_id == job_id, Attempt.verdict == Verdict.OK).limit(1))
        is not None
    )


@dataclass(frozen=True, slots=True)
class DecidedEnd:
    """How an attempt ends, before anything of it is written."""

    bill: money.Bill
    facts: Mapping[str, Any]
    """Without its usage."""
    newest: Newest | None
    progressed: bool
    alike: tuple[FailedAlike, ...] = ()
    """Attempts that ended in the same way on nodes of different owners: then it is the job, and none of the nodes."""


def decide(session: Session, view: AttemptView, end: End) -> DecidedEnd:
    leaves_for = Verdict(view.leave_for or Verdict.PREEMPTED) if view.asked_to_leave else None
    ending = as_asked(end.ending, leaves_for=leaves_for, cancel_requested=view.cancel_requested)
    newest = None if ending.verdict is Verdict.OK else find_newest(session, view.job_id, view.slice_index)
    facts = dict(end.facts)
    usage = facts.pop("usage", None)
    progressed = newest is not None and newest.attempt_id == view.attempt_id
    saved_seconds = newest.running_seconds if newest is not None and progressed else None
    alike: tuple[FailedAlike, ...] = ()
    if may_be_the_jobs_fault(ending, progressed=progressed, own=view.own):
        alike = find_alike(session, view, ending)
        if alike:
            # Nobody is billed for what a node called its own fault, whoever else says so.
            ending = replace(ending, verdict=Verdict.HUB)
    return DecidedEnd(money.Bill(view, ending, usage, saved_seconds), facts, newest, progressed, alike)


def find_alike(session: Session, view: AttemptView, ending: Ending) -> tuple[FailedAlike, ...]:
    """None unless a node of another owner is among them. Other slices count while the job has not worked anywhere."""
    found = list_failed_alike(session, view, ending.reason, ending.exit_code)
    of_slice = [one for one in found if one.slice_index == view.slice_index]
    if any(one.is_others for one in of_slice):
        return tuple(of_slice)
    if any(one.is_others for one in found) and not has_succeeded(session, view.job_id):
        return tuple(found)
    return ()
