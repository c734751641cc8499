"""What may be done with a job in the state that it is in. Routes raise what these functions return, and views show it:
so they cannot disagree."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.artifacts.tables import Artifact, ArtifactState
from computepool.hub.core.errors import Conflict, Forbidden, PoolError
from computepool.hub.core.http import Principal, Scope
from computepool.hub.jobs.errors import BadBundle, JobNotFinal, NoReceipt, NoSuchJob
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.jobs.views import costs_of_replicas
from computepool.protocol.states import JOB_FINAL, JobState


@dataclass(frozen=True, slots=True)
class PermitFacts:
    """What decides about it."""

    id: str
    owner_id: str
    state: JobState
    finished_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    rerun_of: str | None = None
    cost_micros: int = 0
    """With its replicas."""
    artifacts: tuple[str, ...] = ()
    """Its bundle and stored inputs."""
    missing: str | None = None
    """In words, which of them was deleted."""
    has_receipt: bool = False

    @property
    def is_final(self) -> bool:
        return self.state in JOB_FINAL


def refuse_cancel(job: PermitFacts) -> PoolError | None:
    """The route does nothing then, and answers with the job: to cancel twice is no mistake."""
    if job.is_final:
        return Conflict(f"{job.id} has ended: {job.state}.")
    return Conflict(f"{job.id} is being canceled already.") if job.cancel_requested_at is not None else None


def refuse_retry(job: PermitFacts, principal: Principal) -> PoolError | None:
    """The new job is its owner's too, who pays for it: an admin of the pool cannot spend another's credits."""
    if job.owner_id not in principal.owners_granting(Scope.JOBS_WRITE):
        return Forbidden("Only the owner of a job can run it again.")
    return _refuse_unless_ended(job) or _refuse_missing(job)


def refuse_clone(job: PermitFacts, principal: Principal) -> PoolError | None:
    if job.artifacts and job.owner_id not in principal.owners_granting(Scope.JOBS_WRITE):
        return Forbidden("Only the owner of a job can submit its files again.")
    return _refuse_missing(job)


def refuse_share(job: PermitFacts, principal: Principal) -> PoolError | None:
    if job.rerun_of is not None:
        return NoSuchJob(job.id)
    is_own = job.owner_id in principal.owners_granting(Scope.JOBS_WRITE)
    return None if is_own else Forbidden("Only the owner of a job can share it.")


def refuse_removal(job: PermitFacts) -> PoolError | None:
    return NoSuchJob(job.id) if job.rerun_of is not None else _refuse_unless_ended(job)


def refuse_verify(job: PermitFacts) -> PoolError | None:
    return None if job.has_receipt else NoReceipt(job.id)


def _refuse_unless_ended(job: PermitFacts) -> PoolError | None:
    return None if job.is_final else JobNotFinal(job.id, job.state)


def _refuse_missing(job: PermitFacts) -> PoolError | None:
    return BadBundle(job.missing, hint="Submit the job again, with this file.") if job.missing is not None else None


_HAS_RECEIPT = select(Attempt.id).where(Attempt.job_id == Job.id, Attempt.receipt.is_not(None)).exists()


def facts_of(session: Session, job_ids: Sequence[str]) -> dict[str, PermitFacts]:
    """Of jobs that the caller may see, in three statements however many they are."""
    columns = (Job.id, Job.owner_id, Job.state, Job.finished_at, Job.cancel_requested_at, Job.rerun_of)
    more = (Job.cost_micros, Job.role, Job.bundle, Job.inputs, _HAS_RECEIPT.label("has_receipt"))
    rows = session.execute(select(*columns, *more).where(Job.id.in_(job_ids))).mappings().all()
    replicas = costs_of_replicas(session, rows)
    given = {row["id"]: given_to(row["bundle"], row["inputs"]) for row in rows}
    stored = _stored(session, {artifact_id for ids in given.values() for artifact_id in ids})
    return {
        row["id"]: PermitFacts(
            id=row["id"],
            owner_id=row["owner_id"],
            state=JobState(row["state"]),
            finished_at=row["finished_at"],
            cancel_requested_at=row["cancel_requested_at"],
            rerun_of=row["rerun_of"],
            cost_micros=row["cost_micros"] + replicas.get(row["id"], 0),
            artifacts=given[row["id"]],
            missing=_missing(row["id"], row["bundle"], given[row["id"]], stored),
            has_receipt=row["has_receipt"],
        )
        for row in rows
    }


def given_to(bundle: dict[str, Any] | None, inputs: dict[str, Any] | None) -> tuple[str, ...]:
    """The stored artifacts that a job was given."""
    return tuple(dict.fromkeys(one["id"] for one in (bundle, *(inputs or {}).values()) if one is not None))


def _stored(session: Session, artifact_ids: set[str]) -> set[str]:
    if not artifact_ids:
        return set()
    query = select(Artifact.id).where(Artifact.id.in_(sorted(artifact_ids)), Artifact.state == ArtifactState.STORED)
    return set(session.scalars(query))


def _missing(job_id: str, bundle: dict[str, Any] | None, given: Sequence[str], stored: set[str]) -> str | None:
    for artifact_id in given:
        if artifact_id not in stored:
            what = "bundle" if bundle is not None and artifact_id == bundle["id"] else "input"
            return f"The {what} {artifact_id} of {job_id} was deleted."
    return None
