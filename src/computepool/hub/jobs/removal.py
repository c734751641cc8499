"""Deleting what jobs were given and what they left behind, for the owner who asks for it and for the operator's rules.

A job is deleted by a mark, and then piece by piece: logs, outputs, checkpoints. After an interruption `tidy` goes on.
What was paid stays, with the manifests and receipts that say why. An artifact also stays while a job that has not ended
needs it: a submit notes it in `taking`, a deletion in `leaving`. Both are in the memory of this process only, as the
open jobs are.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session, aliased

from computepool.hub.artifacts import repository as artifacts
from computepool.hub.artifacts import usage
from computepool.hub.artifacts.errors import NoSuchArtifact
from computepool.hub.artifacts.freeing import free
from computepool.hub.artifacts.logs import LogStore
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.tables import Artifact, ArtifactKind
from computepool.hub.artifacts.usage import Amount
from computepool.hub.core.context import Context
from computepool.hub.core.errors import Conflict
from computepool.hub.core.http import Principal
from computepool.hub.core.records import record
from computepool.hub.history.repository import forget_usage
from computepool.hub.jobs import repository
from computepool.hub.jobs.errors import ArtifactInUse
from computepool.hub.jobs.tables import Attempt, Checkpoint, Job, topics_of
from computepool.protocol.states import JOB_FINAL

ATTEMPTS_AT_ONCE = 50
"""Whose logs and outputs are deleted before the next ones are looked up."""
JOBS_AT_ONCE = 100
HIDDEN_LIMIT = 10_000


class TakenArtifacts:
    """Which stored artifacts are about to be needed, and which are about to go. Never both."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()
        self._leaving: set[str] = set()
        self.reruns = asyncio.Lock()
        """Held by whoever runs something that has ended once more, and by whoever deletes."""

    @contextmanager
    def taking(self, artifact_ids: Sequence[str]) -> Iterator[None]:
        """From before they are looked up until the job that needs them is among the open ones."""
        for artifact_id in artifact_ids:
            if artifact_id in self._leaving:
                raise NoSuchArtifact(artifact_id)
        self._taken.update(artifact_ids)
        try:
            yield
        finally:
            self._taken.subtract(artifact_ids)
            for artifact_id in artifact_ids:
                if not self._taken[artifact_id]:
                    del self._taken[artifact_id]

    @contextmanager
    def leaving(self, artifact_id: str) -> Iterator[None]:
        if artifact_id in self._taken:
            raise ArtifactInUse(artifact_id, None)
        self._leaving.add(artifact_id)
        try:
            yield
        finally:
            self._leaving.discard(artifact_id)


class Removal:
    def __init__(self, context: Context, store: Store, logs: LogStore) -> None:
        self.artifacts = TakenArtifacts()
        self._context = context
        self._store = store
        self._logs = logs

    async def clear(self, job_ids: Sequence[str], *, with_logs: bool = True, with_outputs: bool = True) -> None:
        """What these jobs, which have ended, left behind. May be repeated, and cut off anywhere."""
        db = self._context.db
        for job_id in job_ids:
            after = ""
            while attempts := await db.read(_list_attempts, job_id, after, ATTEMPTS_AT_ONCE):
                if with_logs:
                    for attempt_id in attempts:
                        await self._logs.delete(attempt_id)
                if with_outputs:
                    await free(self._context, self._store, await db.run(artifacts.forget_outputs, attempts))
                if with_logs and with_outputs:
                    await db.run(forget_usage, attempts)
                after = attempts[-1]
            if with_outputs:
                await free(self._context, self._store, await db.run(_forget_checkpoints, job_id))
            await db.run(_note_removed, job_id, self._context.now(), with_logs=with_logs, with_outputs=with_outputs)

    async def tidy(self) -> None:
        """Go on with what was cut off, and delete what the operator keeps no longer. Run it every hour or so."""
        settings, now, db = self._context.settings, self._context.now(), self._context.db
        while leaving := await db.read(list_leaving, JOBS_AT_ONCE):
            await self.clear(leaving)
        if settings.keep_logs_days is not None:
            before = now - timedelta(days=settings.keep_logs_days)
            while old := await db.read(list_ended, before, JOBS_AT_ONCE, logs=True):
                await self.clear(old, with_outputs=False)
        if settings.keep_outputs_days is not None:
            before = now - timedelta(days=settings.keep_outputs_days)
            while old := await db.read(list_ended, before, JOBS_AT_ONCE, logs=False):
                await self.clear(old, with_logs=False)


def mark_deleted(session: Session, job: Job, now: datetime, *, actor: str) -> list[str]:
    """The job, and hidden ones that ran it once more: nobody sees them any more."""
    repository.lock_jobs(session, [job.id])
    hidden = select(Job.id).where(Job.rerun_of == job.id, Job.finished_at.is_not(None)).limit(HIDDEN_LIMIT)
    jobs = [job.id, *session.scalars(hidden)]
    session.execute(update(Job).where(Job.id.in_(jobs), Job.deleted_at.is_(None)).values(deleted_at=now))
    topics = topics_of(job.id, job.owner_id)
    record(session, "job.deleted", job.id, now, actor=actor, topics=topics)
    return jobs


def delete_artifact(session: Session, artifact_id: str, principal: Principal, now: datetime) -> list[Artifact]:
    """A bundle, an input, or an output of a job that has ended: to be freed. Raises NoSuchArtifact, ArtifactInUse."""
    artifact = artifacts.find_artifact(session, artifact_id, principal.owner_ids)
    if artifact is None:
        raise NoSuchArtifact(artifact_id)
    job: Job | None = None
    if artifact.attempt_id is not None:
        left_by = select(Job).join(Attempt, Attempt.job_id == Job.id).where(Attempt.id == artifact.attempt_id)
        job = session.scalar(left_by)
    left = (job.rerun_of or job.id, job.state) if job is not None else (None, None)
    refusal = why_kept(artifact, *left)
    if refusal is not None:
        raise refusal
    record(session, "artifact.deleted", artifact_id, now, actor=principal.user_id, digest=artifact.digest)
    return artifacts.abandon(session, artifact_id)


def why_kept(artifact: Artifact, job_id: str | None, job_state: str | None) -> Conflict | None:
    """The error with which its deletion is refused. `job_id`: of an output, the job that left it, in that state."""
    if artifact.kind == ArtifactKind.CHECKPOINT:
        return Conflict(
            f"{artifact.id} is part of a checkpoint of {artifact.job_id}.",
            hint="It is deleted when a newer checkpoint replaces it, or when the job ends.",
        )
    if artifact.attempt_id is not None and job_state is not None and job_state not in JOB_FINAL:
        return ArtifactInUse(artifact.id, job_id)
    return None


def list_leaving(session: Session, limit: int) -> list[str]:
    """Deleted jobs that are not cleared, and hidden ones that ended after their job was deleted."""
    deleted = select(Job.id).where(Job.deleted_at.is_not(None), Job.logs_removed_at.is_(None)).limit(limit)
    found = list(session.scalars(deleted))
    root = aliased(Job)
    late = (
        select(Job.id)
        .join(root, root.id == Job.rerun_of)
        .where(Job.rerun_of.is_not(None), Job.finished_at.is_not(None), Job.logs_removed_at.is_(None))
        .where(root.deleted_at.is_not(None))
        .limit(limit)
    )
    return found or list(session.scalars(late))


def list_ended(session: Session, before: datetime, limit: int, *, logs: bool) -> list[str]:
    """Jobs that ended before then and still have logs, or outputs."""
    removed_at = Job.logs_removed_at if logs else Job.outputs_removed_at
    ended = select(Job.id).where(Job.finished_at < before, removed_at.is_(None))
    return list(session.scalars(ended.order_by(Job.id).limit(limit)))


def _list_attempts(session: Session, job_id: str, after: str, limit: int) -> list[str]:
    query = select(Attempt.id).where(Attempt.job_id == job_id, Attempt.id > after)
    return list(session.scalars(query.order_by(Attempt.id).limit(limit)))


def _forget_checkpoints(session: Session, job_id: str) -> list[Artifact]:
    session.execute(delete(Checkpoint).where(Checkpoint.job_id == job_id))
    return artifacts.forget_checkpoint_files(session, [job_id])


def _note_removed(session: Session, job_id: str, now: datetime, *, with_logs: bool, with_outputs: bool) -> None:
    """Its owner has that much less stored. Once."""
    if with_outputs:
        outputs = update(Job).where(Job.id == job_id, Job.outputs_removed_at.is_(None))
        session.execute(outputs.values(outputs_removed_at=now))
    if not with_logs:
        return
    logs = update(Job).where(Job.id == job_id, Job.logs_removed_at.is_(None)).values(logs_removed_at=now)
    owner_id = session.scalar(logs.returning(Job.owner_id))
    if owner_id is not None:
        counted = select(func.sum(Attempt.log_bytes), func.count()).where(
            Attempt.job_id == job_id, Attempt.log_bytes > 0
        )
        size_bytes, objects = session.execute(counted).one()
        usage.count(session, {owner_id: Amount(-int(size_bytes or 0), -int(objects))}, now)
