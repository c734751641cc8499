"""Manifests and receipts: the two signed papers of an attempt."""

import hashlib
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.jobs.tables import Attempt, Slice
from computepool.protocol.manifest import Manifest
from computepool.protocol.signing import Signed
from computepool.protocol.states import JOB_FINAL, IsolationLevel


@dataclass(frozen=True, slots=True)
class Order:
    """What a receipt is compared with. Small enough to be kept in memory for as long as the attempt is leased."""

    job_id: str
    spec_digest: str
    manifest_digest: str
    """Of the exact bytes that were signed."""
    isolation: IsolationLevel


def order_of(manifest: Manifest, body: str) -> Order:
    digest = "sha256:" + hashlib.sha256(body.encode()).hexdigest()
    return Order(manifest.job_id, manifest.spec_digest, digest, manifest.isolation)


def find_order(session: Session, attempt_id: str, node_id: str, fence: int) -> tuple[Order, bool] | None:
    """What the node was given under this fence, and whether that still counts: its slice was not given to another,
    and is not over."""
    row = session.execute(
        select(Attempt.manifest, Slice.fence, Slice.state)
        .join(Slice, (Slice.job_id == Attempt.job_id) & (Slice.index == Attempt.slice_index))
        .where(Attempt.id == attempt_id, Attempt.node_id == node_id, Attempt.fence == fence)
    ).first()
    if row is None:
        return None
    signed, slice_fence, slice_state = row
    body = Signed.model_validate_json(signed).body
    counts = slice_fence == fence and slice_state not in JOB_FINAL
    return order_of(Manifest.model_validate_json(body), body), counts
