"""What an attempt wrote, for those who hold a signed URL to it: the hub gave it to somebody who may see the job."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.artifacts.reading import StoredFile
from computepool.hub.artifacts.tables import Artifact, ArtifactKind, ArtifactState
from computepool.hub.artifacts.zip_layout import ZipEntry
from computepool.hub.core.errors import NotFound, TooLarge
from computepool.hub.jobs import queries
from computepool.hub.jobs.errors import NoSuchJob, Removed
from computepool.hub.jobs.tables import Attempt, Job
from computepool.protocol.output_paths import find_path_problem
from computepool.protocol.states import ATTEMPT_ENDED

ZIP_FILES_LIMIT = 20_000
PAGE_LIMIT = 500
ATTEMPTS_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class LogFile:
    attempt_id: str
    name: str
    ended: bool


@dataclass(frozen=True, slots=True)
class AttemptOfSlice:
    number: int
    state: str
    started_at: datetime | None
    finished_at: datetime | None


class TooManyFiles(TooLarge):
    def __init__(self) -> None:
        super().__init__(
            f"The job has more than {ZIP_FILES_LIMIT} outputs, which is the limit for one archive.",
            hint="Download them one by one, or all with: computepool get JOB",
        )


def list_attempts(session: Session, job_id: str, index: int) -> list[AttemptOfSlice]:
    """Of a slice, the newest first."""
    columns = (Attempt.number, Attempt.state, Attempt.started_at, Attempt.finished_at)
    query = select(*columns).where(Attempt.job_id == job_id, Attempt.slice_index == index)
    rows = session.execute(query.order_by(Attempt.number.desc()).limit(ATTEMPTS_LIMIT))
    return [AttemptOfSlice(*row) for row in rows]


def find_log_file(session: Session, attempt_id: str) -> LogFile:
    query = select(Attempt, Job).join(Job, Job.id == Attempt.job_id)
    row = session.execute(query.where(Attempt.id == attempt_id, Job.deleted_at.is_(None))).first()
    if row is None:
        raise NotFound(f"The log of {attempt_id} is no longer stored.")
    attempt, job = row
    if job.logs_removed_at is not None:
        raise Removed("logs", job.id, job.logs_removed_at)
    name = f"{job.id}-slice{attempt.slice_index}-attempt{attempt.number}.log"
    return LogFile(attempt.id, name, attempt.state in ATTEMPT_ENDED)


def find_output(session: Session, artifact_id: str) -> Artifact:
    query = (
        select(Artifact)
        .join(Attempt, Attempt.id == Artifact.attempt_id)
        .join(Job, Job.id == Attempt.job_id)
        .where(Artifact.id == artifact_id, Artifact.kind == ArtifactKind.OUTPUT)
        .where(Artifact.state == ArtifactState.STORED, Job.deleted_at.is_(None))
    )
    artifact = session.scalar(query)
    if artifact is None:
        raise NotFound("This output is no longer stored.")
    return artifact


def list_for_zip(session: Session, job_id: str) -> tuple[list[ZipEntry], list[StoredFile]]:
    """All outputs of a job: of one with several slices, each slice's in a folder that is called like it."""
    job = session.scalar(select(Job).where(Job.id == job_id, Job.deleted_at.is_(None)))
    if job is None:
        raise NoSuchJob(job_id)
    has_slices = job.slice_count > 1 or job.slice_indices is not None
    entries: list[ZipEntry] = []
    files: list[StoredFile] = []
    cursor = None
    while True:
        outputs, cursor = queries.page_outputs_of(session, job, cursor, PAGE_LIMIT)
        for output in outputs:
            artifact, path = output.artifact, output.artifact.path or ""
            name = artifact.id if find_path_problem(path) is not None else path
            name = f"{output.slice_index}/{name}" if has_slices else name
            entries.append(ZipEntry(name, artifact.size_bytes, artifact.stored_at or artifact.created_at))
            files.append(StoredFile(artifact.folder, artifact.size_bytes))
            session.expunge(artifact)  # rows are large, and there may be many
        if len(entries) > ZIP_FILES_LIMIT:
            raise TooManyFiles
        if cursor is None:
            return entries, files
