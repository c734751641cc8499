"""Manifests and receipts: the two signed papers of an attempt."""

import hashlib
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.jobs.tables import Attempt
from computepool.protocol.manifest import Manifest
from computepool.protocol.signing import Signed


@dataclass(frozen=True, slots=True)
class LeaseFacts:
    """What was ordered, to compare a receipt with."""

    node_id: str
    job_id: str
    fence: int
    manifest: Manifest
    manifest_digest: str
    """Of the exact bytes that were signed."""


def find_lease(session: Session, attempt_id: str) -> LeaseFacts | None:
    row = session.execute(
        select(Attempt.node_id, Attempt.job_id, Attempt.fence, Attempt.manifest).where(Attempt.id == attempt_id)
    ).first()
    if row is None:
        return None
    body = Signed.model_validate_json(row.manifest).body
    digest = "sha256:" + hashlib.sha256(body.encode()).hexdigest()
    return LeaseFacts(row.node_id, row.job_id, row.fence, Manifest.model_validate_json(body), digest)
