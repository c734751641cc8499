"""Lists of stored files: bundles and inputs that jobs were given, outputs and checkpoints that they left."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session, aliased

from computepool.hub.artifacts.service import SHARED_KINDS
from computepool.hub.artifacts.tables import Artifact, ArtifactKind, ArtifactState
from computepool.hub.core.paging import SortKey, read_list
from computepool.hub.jobs.tables import Attempt, Job

JOBS_LOOKED_AT = 1_000
"""The newest of an owner: those that used a bundle or an input are found among them."""
USES_SHOWN = 5


class ArtifactOrder(StrEnum):
    """What a list is sorted by; with `-` the largest or newest first."""

    CREATED = "created"
    NEWEST = "-created"
    SIZE = "size"
    LARGEST = "-size"
    PATH = "path"
    PATH_BACKWARDS = "-path"


_KEYS: Mapping[str, list[SortKey]] = {
    "created": [Artifact.id],
    "size": [Artifact.size_bytes, Artifact.id],
    "path": [func.coalesce(Artifact.path, ""), Artifact.id],
}


@dataclass(frozen=True, slots=True)
class FileFilter:
    """All that is given must hold."""

    kinds: Sequence[ArtifactKind] = ()
    search: str | None = None
    """A part of the path, or the beginning of the id or of the digest."""
    job_id: str | None = None
    """That was left by this job."""


@dataclass(frozen=True, slots=True)
class FileUse:
    job_id: str
    name: str | None


@dataclass(slots=True)
class FileRow:
    artifact: Artifact
    job_id: str | None = None
    """That left it."""
    job_name: str | None = None
    job_state: str | None = None
    used_by: list[FileUse] = field(default_factory=list)
    """The newest first."""


def list_files(
    session: Session,
    owner_ids: Collection[str],
    wanted: FileFilter,
    order: ArtifactOrder,
    cursor: str | None,
    limit: int,
) -> tuple[list[FileRow], str | None, int | None]:
    """The rows, the cursor of the next page, and the total."""
    query = select(Artifact).where(*_conditions(owner_ids, wanted))
    keys = _KEYS[order.value.removeprefix("-")]
    rows, after, total = read_list(session, query, keys, cursor, limit, order.value)
    found = [FileRow(artifact) for artifact in rows]
    _add_jobs(session, found)
    _add_uses(session, owner_ids, [row for row in found if row.artifact.kind in SHARED_KINDS])
    return found, after, total


def _conditions(owner_ids: Iterable[str], wanted: FileFilter) -> list[ColumnElement[bool]]:
    found = [Artifact.owner_id.in_(sorted(owner_ids)), Artifact.state != ArtifactState.ABANDONED]
    if wanted.kinds:
        found.append(Artifact.kind.in_(wanted.kinds))
    if wanted.search and (text := wanted.search.strip().lower()):
        digest = text if text.startswith("sha256:") else f"sha256:{text}"
        found.append(
            or_(
                func.lower(Artifact.path).contains(text, autoescape=True),
                Artifact.id.startswith(text, autoescape=True),
                Artifact.digest.startswith(digest, autoescape=True),
            )
        )
    if wanted.job_id is not None:
        attempts = select(Attempt.id).where(Attempt.job_id == wanted.job_id)
        found.append(or_(Artifact.job_id == wanted.job_id, Artifact.attempt_id.in_(attempts)))
    return found


def _add_jobs(session: Session, rows: Sequence[FileRow]) -> None:
    """Which job left each output and checkpoint: of a hidden rerun, the job that it ran for."""
    attempts = {row.artifact.attempt_id for row in rows if row.artifact.attempt_id is not None}
    tried = select(Attempt.id, Attempt.job_id).where(Attempt.id.in_(attempts))
    job_of: dict[str, str] = {row[0]: row[1] for row in session.execute(tried)} if attempts else {}
    left_by = [job_of.get(row.artifact.attempt_id or "") or row.artifact.job_id for row in rows]
    root = aliased(Job)
    query = (
        select(Job.id, func.coalesce(root.id, Job.id), func.coalesce(root.name, Job.name), Job.state)
        .outerjoin(root, root.id == Job.rerun_of)
        .where(Job.id.in_({job_id for job_id in left_by if job_id is not None}))
    )
    known = {row[0]: row[1:] for row in session.execute(query)} if any(left_by) else {}
    for row, job_id in zip(rows, left_by, strict=True):
        if job_id in known:
            row.job_id, row.job_name, row.job_state = known[job_id]


def _add_uses(session: Session, owner_ids: Iterable[str], rows: Sequence[FileRow]) -> None:
    """Jobs name their files in JSON, which no index knows: the newest jobs are looked through."""
    by_id = {row.artifact.id: row for row in rows}
    if not by_id:
        return
    query = (
        select(Job.id, Job.name, Job.bundle, Job.inputs)
        .where(Job.owner_id.in_(sorted(owner_ids)), Job.deleted_at.is_(None), Job.rerun_of.is_(None))
        .order_by(Job.id.desc())
        .limit(JOBS_LOOKED_AT)
    )
    for job_id, name, bundle, inputs in session.execute(query):
        given = {one["id"] for one in (bundle, *(inputs or {}).values()) if one is not None}
        for artifact_id in given & by_id.keys():
            uses = by_id[artifact_id].used_by
            if len(uses) < USES_SHOWN:
                uses.append(FileUse(job_id, name))
