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
    """What a receipt is compared with, and how long the hub is patient. In memory for as long as it is leased."""

    job_id: str
    spec_digest: str
    manifest_digest: str
    """Of the exact bytes that were signed."""
    isolation: IsolationLevel
    max_runtime_seconds: float
    slice_index: int = 0
    own: bool = False
    """The node belongs to whom the job belongs to."""
    network: bool = False
    """It can reach the world: it must stand still before another has its slice."""
    setup: bool = False
    """It may wait for another attempt that builds the same environment, before it runs."""


def order_of(manifest: Manifest, body: str) -> Order:
    digest = "sha256:" + hashlib.sha256(body.encode()).hexdigest()
    return Order(
        manifest.job_id,
        manifest.spec_digest,
        digest,
        manifest.isolation,
        manifest.max_runtime_seconds,
        manifest.slice_index,
        manifest.own,
        network=manifest.network,
        setup=bool(manifest.setup),
    )


def find_order(session: Session, attempt_id: str, node_id: str, fence: int) -> tuple[Order, bool] | None:
    """What the node was given under this fence, and whether that still counts: its slice was not given to another,
    and is not over."""
    row = session.execute(
        select(Attempt.node_id, Attempt.fence, Attempt.manifest, Slice.fence, Slice.state)
        .join(Slice, (Slice.job_id == Attempt.job_id) & (Slice.index == Attempt.slice_index))
        .where(Attempt.id == attempt_id)
    ).first()
    if row is None or (row[0], row[1]) != (node_id, fence):  # compared here: a stranger's fence may be any number
        return None
    _, _, signed, slice_fence, slice_state = row
    body = Signed.model_validate_json(signed).body
    counts = slice_fence == fence and slice_state not in JOB_FINAL
    return order_of(Manifest.model_validate_json(body), body), counts
