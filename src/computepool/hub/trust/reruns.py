"""Hidden jobs: the same work once more, elsewhere. To its node it looks like any other.

A replica belongs to the renter, who asked for it and pays for it; an audit to the platform.
"""

from datetime import datetime

from sqlalchemy.orm import Session

from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.owners import PLATFORM, Owner, OwnerKind
from computepool.hub.jobs import service
from computepool.hub.jobs.brief import JobBrief, Rerun
from computepool.hub.jobs.repository import OpenJob
from computepool.hub.jobs.service import NewJob
from computepool.hub.jobs.submission import brief_of_row
from computepool.hub.jobs.tables import Job
from computepool.hub.jobs.verification import Role
from computepool.hub.market.requirements import Requirements
from computepool.hub.trust.consequences import Means

Started = tuple[JobBrief, tuple[int, ...]]


def add_replica(session: Session, root: Job, index: int, now: datetime, means: Means) -> Started:
    """One more of one slice, to break a tie."""
    return _add(session, root, index, Role.REPLICA, root.owner_id, None, now, means)


def add_audit(
    session: Session, root: Job, index: int, rerun: Rerun, now: datetime, means: Means, role: Role = Role.AUDIT
) -> Started:
    insert_if_absent(session, Owner, ["id"], id=PLATFORM, kind=OwnerKind.PLATFORM, created_at=now)
    return _add(session, root, index, role, PLATFORM, rerun, now, means)


def _add(
    session: Session, root: Job, index: int, role: Role, owner_id: str, rerun: Rerun | None, now: datetime, means: Means
) -> Started:
    job = NewJob(
        id=means.new_id("job"),
        owner_id=owner_id,
        submitted_by=owner_id,
        name=root.name,
        spec=root.spec,
        spec_digest=root.spec_digest,
        bundle=root.bundle,
        inputs=root.inputs,
        image_digest=root.image_digest,
        priority=root.priority if rerun is None else 0,
        retries_allowed=root.retries_allowed if rerun is None else 0,
        slices=1,
        slice_indices=(index,),
        ceiling_micros=root.ceiling_micros if rerun is None else None,
        role=role,
        rerun_of=root.id,
        rerun=rerun.to_wire() if rerun is not None else None,
    )
    service.add_hidden(session, job, now)
    return _brief(root, job.id, owner_id, role, rerun, job.ceiling_micros), (index,)


def needs_of(root: Job, rerun: Rerun) -> Requirements:
    """What one for the platform's sake would ask of a node."""
    return _brief(root, root.id, PLATFORM, Role.AUDIT, rerun, None).requirements


def _brief(
    root: Job, job_id: str, owner_id: str, role: Role, rerun: Rerun | None, ceiling_micros: int | None
) -> JobBrief:
    row = OpenJob(
        id=job_id,
        owner_id=owner_id,
        name=root.name,
        spec=root.spec,
        spec_digest=root.spec_digest,
        bundle=root.bundle,
        inputs=root.inputs,
        image_digest=root.image_digest,
        ceiling_micros=ceiling_micros,
        slice_indices=None,
        role=role,
        rerun_of=root.id,
        rerun=rerun.to_wire() if rerun is not None else None,
    )
    return brief_of_row(row, {})
