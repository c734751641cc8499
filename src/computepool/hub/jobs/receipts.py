"""Manifests and receipts: the two signed papers of an attempt."""

import hashlib
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.jobs.tables import Attempt, Slice
from computepool.protocol.manifest import Manifest
from computepool.protocol.signing import Signed
from computepool.protocol.states import JOB_FINAL


@dataclass(frozen=True, slots=True)
class LeaseFacts:
    """What was ordered, to compare a receipt with."""

    node_id: str
    job_id: str
    fence: int
    is_current: bool
    """Its slice was not given to another, and is not over."""
    manifest: Manifest
    manifest_digest: str
    """Of the exact bytes that were signed."""


def find_lease(session: Session, attempt_id: str) -> LeaseFacts | None:
    row = session.execute(
        select(Attempt.node_id, Attempt.job_id, Attempt.fence, Attempt.manifest, Slice.fence, Slice.state)
        .join(Slice, (Slice.job_id == Attempt.job_id) & (Slice.index == Attempt.slice_index))
        .where(Attempt.id == attempt_id)
    ).first()
    if row is None:
        return None
    node_id, job_id, fence, manifest, slice_fence, slice_state = row
    is_current = slice_fence == fence and slice_state not in JOB_FINAL
    body = Signed.model_validate_json(manifest).body
    digest = "sha256:" + hashlib.sha256(body.encode()).hexdigest()
    return LeaseFacts(node_id, job_id, fence, is_current, Manifest.model_validate_json(body), digest)
