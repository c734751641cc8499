"""The manifests and receipts of a job, with what the hub compares them to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.artifacts.tables import Artifact, ArtifactState
from computepool.hub.core.http import Principal
from computepool.hub.jobs import permits
from computepool.hub.jobs.queries import load_job, page_receipts
from computepool.hub.jobs.tables import Attempt, Slice
from computepool.protocol.states import AttemptState, JobState

MISSING_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class JobPapers:
    spec: dict[str, Any]
    rows: list[dict[str, Any]]
    """As `page_receipts` finds them."""
    stored: dict[str, dict[str, str]]
    """By attempt whose outputs count: path → digest of what is stored."""
    without_receipt: list[int]
    """On the first page: slices that succeeded, and have no receipt."""
    next: str | None


def find_papers(session: Session, principal: Principal, job_id: str, cursor: str | None, limit: int) -> JobPapers:
    job = load_job(session, principal, job_id)
    refused = permits.refuse_verify(permits.facts_of(session, [job_id])[job_id])
    if refused is not None:
        raise refused
    rows, after = page_receipts(session, principal, job_id, cursor, limit)
    counting = [(row["instead"] or row)["id"] for row in rows if row["state"] == AttemptState.SUCCEEDED]
    missing = _without_receipt(session, job_id) if cursor is None else []
    return JobPapers(job.spec, rows, _stored_of(session, counting), missing, after)


def _stored_of(session: Session, attempt_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    query = select(Artifact.attempt_id, Artifact.path, Artifact.digest).where(
        Artifact.attempt_id.in_(attempt_ids),
        Artifact.state == ArtifactState.STORED,
        Artifact.state != ArtifactState.ABANDONED,  # says no more, but lets SQLite use the index that says so
    )
    found: dict[str, dict[str, str]] = {}
    for attempt_id, path, digest in session.execute(query):
        if attempt_id is not None and path is not None:
            found.setdefault(attempt_id, {})[path] = digest
    return found


def _without_receipt(session: Session, job_id: str) -> list[int]:
    has = select(Attempt.id).where(
        Attempt.job_id == job_id, Attempt.slice_index == Slice.index, Attempt.receipt.is_not(None)
    )
    query = select(Slice.index).where(Slice.job_id == job_id, Slice.state == JobState.SUCCEEDED, ~has.exists())
    return list(session.scalars(query.order_by(Slice.index).limit(MISSING_LIMIT)))
