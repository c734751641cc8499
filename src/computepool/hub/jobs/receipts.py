"""Manifests and receipts: what the hub and the node sign about an attempt."""

import base64
import hashlib
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.jobs.tables import Attempt, Slice
from computepool.hub.nodes.repository import find_earlier_key
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
    stored_bytes: int = 0
    """Of its bundle, inputs and checkpoint in the hub's own store: its node fetches them before it runs."""
    elsewhere: bool = False
    """It has an image or an https input: its node fetches them from wherever the spec says."""
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
        stored_bytes=_stored_bytes(manifest),
        elsewhere=manifest.image is not None or any(one.url is not None for one in manifest.inputs),
        setup=bool(manifest.setup),
    )


def _stored_bytes(manifest: Manifest) -> int:
    total = manifest.bundle.size_bytes if manifest.bundle is not None else 0
    total += sum(one.size_bytes or 0 for one in manifest.inputs if one.url is None)
    return total + sum(file.size_bytes for file in manifest.saved.files) if manifest.saved is not None else total


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


def find_key_of_order(session: Session, node_id: str, attempt_id: str, key_id: str) -> bytes | None:
    """An earlier key of the node, if the attempt was ordered while it was the node's key."""
    key = find_earlier_key(session, node_id, key_id)
    signed = session.scalar(select(Attempt.manifest).where(Attempt.id == attempt_id, Attempt.node_id == node_id))
    if key is None or signed is None:
        return None
    manifest = Manifest.model_validate_json(Signed.model_validate_json(signed).body)
    return base64.b64decode(key.sign_key) if manifest.issued_at <= key.ended_at else None
