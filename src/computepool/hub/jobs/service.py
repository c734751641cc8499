"""How a job begins and goes on, one transaction a function: submit, lease, report. Its ends are in `ending`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from computepool.hub.core.records import record
from computepool.hub.jobs import repository
from computepool.hub.jobs.asked import gpu_of, is_simulated
from computepool.hub.jobs.errors import StaleLease
from computepool.hub.jobs.funding import Funds, Unfunded
from computepool.hub.jobs.metering import rest_of
from computepool.hub.jobs.tables import attempt_topics, topics_of
from computepool.hub.jobs.terms import Terms
from computepool.hub.jobs.verification import Role
from computepool.protocol.states import ATTEMPT_NEXT, AttemptState, JobState, Verdict


@dataclass(frozen=True, slots=True)
class Lease:
    """An attempt to be: its slice, its node, and the manifest that is signed already."""

    attempt_id: str
    job_id: str
    slice_index: int
    number: int
    fence: int
    previous_fence: int
    node_id: str
    node_name: str
    own: bool
    manifest: str
    owner_id: str
    resumed_from: int | None = None
    price_micros: int = 0
    """For an hour, fee included: whatever the node asks for later, this attempt is at this price."""
    price: dict[str, Any] = field(default_factory=dict)
    """What it was made of."""
    weight: int = 0
    """What it occupies of other people's nodes."""
    terms: Terms | None = None
    """What is agreed on beside the price; None where nothing is paid."""
    root: str = ""
    """The job whose result it is, and whose budget it uses."""
    host_id: str | None = None
    """Who owns the node, if not the owner of the job."""


@dataclass(frozen=True, slots=True)
class Outcome:
    granted: frozenset[str]
    """The attempts that came to be."""
    unfunded: tuple[Unfunded, ...] = ()


@dataclass(frozen=True, slots=True)
class NewJob:
    id: str
    owner_id: str
    submitted_by: str
    name: str
    spec: dict[str, Any]
    spec_digest: str
    bundle: dict[str, Any] | None
    priority: int
    retries_allowed: int
    slices: int
    """How many there are of them."""
    retry_of: str | None = None
    slice_indices: tuple[int, ...] | None = None
    """Which of the spec's slices; None for all."""
    ceiling_micros: int | None = None
    inputs: dict[str, Any] | None = None
    role: str | None = None
    """What verification has to do with it."""
    rerun_of: str | None = None
    rerun: dict[str, Any] | None = None
    image_digest: str | None = None
    replica_ids: tuple[str, ...] = ()
    """Of the hidden jobs that run the same slices once more."""
    own_job: str | None = None
    """The submitter's signature, as it came."""

    @property
    def indices(self) -> Sequence[int]:
        return range(self.slices) if self.slice_indices is None else self.slice_indices


def submit(session: Session, job: NewJob, leases: Sequence[Lease], now: datetime) -> Outcome:
    """Store the job, its slices, and the leases of those that found a free node and can be paid, in one commit."""
    funds, granted, unfunded = Funds(session), list[Lease](), list[Unfunded]()
    funds.look(leases)
    for one in leases:
        refused = funds.refuse(one)
        if refused is None:
            granted.append(one)
        else:
            unfunded.append(refused)
    state = JobState.RUNNING if granted else JobState.QUEUED
    fences = {lease.slice_index: lease.fence for lease in granted}
    _add_job(session, job, state, fences, now)
    for replica_id in job.replica_ids:
        add_hidden(session, replace(job, id=replica_id, role=Role.REPLICA, rerun_of=job.id, replica_ids=()), now)
    record(
        session,
        "job.submitted",
        job.id,
        now,
        actor=job.submitted_by,
        topics=topics_of(job.id, job.owner_id),
        state=state,
        slices=job.slices,
    )
    _add_attempts(session, granted, now)
    funds.hold(granted, now)
    return Outcome(frozenset(one.attempt_id for one in granted), tuple(unfunded))


def add_hidden(session: Session, job: NewJob, now: datetime) -> None:
    """One that runs for the sake of another's result. Nobody is told."""
    _add_job(session, job, JobState.QUEUED, {}, now)


def lease(session: Session, leases: Sequence[Lease], now: datetime) -> Outcome:
    """Give queued slices to nodes. A slice canceled meanwhile gets none; nor does one that cannot be paid."""
    granted, unfunded = list[Lease](), list[Unfunded]()
    repository.lock_jobs(session, (one.job_id for one in leases))
    funds = Funds(session)
    funds.look(leases)
    for one in leases:
        refused = funds.refuse(one)
        if refused is not None:
            unfunded.append(refused)
            continue
        values = {"fence": one.fence, "attempts": one.number, "retry_at": None}
        if repository.move_slice(
            session, one.job_id, one.slice_index, one.previous_fence, JobState.RUNNING, now, values
        ):
            granted.append(one)
            repository.move_job(session, one.job_id, JobState.RUNNING, now)
    _add_attempts(session, granted, now)
    funds.hold(granted, now)
    return Outcome(frozenset(one.attempt_id for one in granted), tuple(unfunded))


def ask_to_leave(session: Session, attempts: Sequence[tuple[str, int]], now: datetime) -> set[str]:
    """Those of these (attempt, fence) who have to make room for others now. Their end is nobody's fault then."""
    repository.find_attempts(session, [attempt_id for attempt_id, _ in attempts])  # locks them as everybody does
    asked = {
        attempt_id
        for attempt_id, fence in attempts
        if repository.ask_to_leave(session, attempt_id, fence, now, Verdict.PREEMPTED)
    }
    for attempt_id in sorted(asked):
        record(session, "attempt.asked_to_leave", attempt_id, now)
    return asked


def report(
    session: Session,
    attempt_id: str,
    fence: int,
    node_id: str,
    target: AttemptState,
    isolation: str | None,
    now: datetime,
    image_digest: str | None = None,
) -> AttemptState:
    """The agent says how far it is. What was reported before, or skipped, is no news. Returns where it is then."""
    view = repository.find_attempt(session, attempt_id)
    if view is None or view.fence != fence or view.node_id != node_id or not view.is_current:
        raise StaleLease(attempt_id, fence, target)
    if view.state is AttemptState.LOST:
        raise StaleLease(attempt_id, fence, target)  # given up: its slice waits, and only a handshake takes it back
    if target not in ATTEMPT_NEXT[view.state]:
        return view.state  # a duplicate, or older than what we know
    values: dict[str, Any] = {"isolation": isolation} if isolation else {}
    if target is AttemptState.RUNNING and view.state is not AttemptState.SUSPENDED:
        values["started_at"] = now
    if target is AttemptState.FINISHING:
        values["exited_at"] = now
    values |= rest_of(view.rested_since, view.rested_seconds, now, rests=target is AttemptState.SUSPENDED)
    repository.move_attempt(session, attempt_id, fence, target, now, values)
    if target is AttemptState.RUNNING:
        repository.start_job(session, view.job_id, now)
        if image_digest is not None:
            repository.pin_image(session, view.job_id, image_digest)
    record(
        session,
        f"attempt.{target}",
        attempt_id,
        now,
        actor=node_id,
        topics=attempt_topics(view),
        job=view.job_id,
        slice=view.slice_index,
        node=node_id,
    )
    return target


def _add_job(session: Session, job: NewJob, state: JobState, fences: Mapping[int, int], now: datetime) -> None:
    repository.add_job(
        session,
        {
            "id": job.id,
            "owner_id": job.owner_id,
            "submitted_by": job.submitted_by,
            "name": job.name,
            "state": state,
            "spec": job.spec,
            "spec_digest": job.spec_digest,
            "bundle": job.bundle,
            "inputs": job.inputs,
            "image_digest": job.image_digest,
            "priority": job.priority,
            "retries_allowed": job.retries_allowed,
            "retry_of": job.retry_of,
            "slice_count": job.slices,
            "slices_left": job.slices,
            "slice_indices": None if job.slice_indices is None else list(job.slice_indices),
            "ceiling_micros": job.ceiling_micros,
            "role": job.role,
            "rerun_of": job.rerun_of,
            "rerun": job.rerun,
            "own_job": job.own_job,
            "gpu": gpu_of(job.spec),
            "simulated": is_simulated(job.spec),
            "created_at": now,
        },
        [_new_slice(job.id, index, fences.get(index)) for index in job.indices],
    )


def _new_slice(job_id: str, index: int, fence: int | None) -> dict[str, Any]:
    return {
        "job_id": job_id,
        "index": index,
        "state": JobState.QUEUED if fence is None else JobState.RUNNING,
        "fence": fence or 0,
        "attempts": 0 if fence is None else 1,
        "failures": 0,
        "losses": 0,
        "avoid": [],
    }


def _add_attempts(session: Session, leases: Sequence[Lease], now: datetime) -> None:
    if not leases:
        return
    rows = [
        {
            "id": one.attempt_id,
            "job_id": one.job_id,
            "slice_index": one.slice_index,
            "number": one.number,
            "fence": one.fence,
            "node_id": one.node_id,
            "own": one.own,
            "state": AttemptState.LEASED,
            "resumed_from": one.resumed_from,
            "price_micros": one.price_micros,
            "price": one.price,
            "terms": one.terms.to_wire() if one.terms is not None else None,
            "weight": one.weight,
            "manifest": one.manifest,
            "leased_at": now,
            "log_bytes": 0,
        }
        for one in leases
    ]
    repository.add_attempts(session, rows)
    for one in leases:
        record(
            session,
            "attempt.leased",
            one.attempt_id,
            now,
            topics=attempt_topics(one),
            job=one.job_id,
            slice=one.slice_index,
            number=one.number,
            node=one.node_id,
        )
