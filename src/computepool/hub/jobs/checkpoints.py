"""What slices save, so that their next attempt, on any node, goes on from there."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from computepool.hub.artifacts.checkpoints import CheckpointIncomplete
from computepool.hub.artifacts.repository import (
    let_go,
    let_go_at_once,
    list_stored_checkpoint_files,
    put_behind,
    touch_stored,
)
from computepool.hub.artifacts.tables import Artifact
from computepool.hub.core.records import record
from computepool.hub.jobs import repository
from computepool.hub.jobs.errors import StaleLease
from computepool.hub.jobs.tables import Checkpoint, Job, Slice, attempt_topics
from computepool.protocol.manifest import Saved, SavedFile
from computepool.protocol.states import ATTEMPT_LIVE, JOB_FINAL, JobState

KEPT = 2
"""Checkpoints of a slice: the newest, and one more for whoever is being restored from it at this moment."""
FREED_AT_ONCE = 500
LOOKED_AT_ONCE = 2_000
"""Files whose use is looked up in one transaction: others wait to write meanwhile."""
NUMBERS_AHEAD = 1_000
"""How far an attempt's numbers may run ahead: those of checkpoints that did not count are not used again."""


@dataclass(frozen=True, slots=True)
class Newest:
    saved: Saved
    attempt_id: str
    """Whose it is."""
    running_seconds: float = 0.0
    """Of that attempt, when it was taken."""


def save(
    session: Session,
    attempt_id: str,
    fence: int,
    node_id: str,
    number: int,
    files: Sequence[SavedFile],
    running_seconds: float,
    now: datetime,
) -> list[Artifact]:
    """Its files are stored. Told twice it is the same. Raises CheckpointIncomplete for one that cannot count. Returns
    files that only older ones needed, to be freed.

    One with the same content changes nothing: an attempt that was restored and saved what it was given got no further.
    """
    view = repository.find_attempt(session, attempt_id)
    if view is None or view.fence != fence or view.node_id != node_id or not view.is_current:
        raise StaleLease(attempt_id, fence, "checkpoint")
    if view.state not in ATTEMPT_LIVE:
        raise StaleLease(attempt_id, fence, "checkpoint")
    of_slice = (Checkpoint.job_id == view.job_id, Checkpoint.slice_index == view.slice_index)
    known = session.scalars(select(Checkpoint).where(*of_slice).order_by(Checkpoint.number.desc())).all()
    if _is_told_already(known, number, files):
        return []
    needed = {file.artifact_id for file in files}
    if touch_stored(session, sorted(needed), now) != needed:
        raise CheckpointIncomplete("some of its files were deleted in the meantime; upload it again")
    size_bytes = sum(file.size_bytes for file in files)
    session.add(
        Checkpoint(
            job_id=view.job_id,
            slice_index=view.slice_index,
            number=number,
            attempt_id=attempt_id,
            content={"files": [file.model_dump(mode="json") for file in files]},
            size_bytes=size_bytes,
            running_seconds=running_seconds,
            created_at=now,
        )
    )
    session.flush()
    old = known[KEPT - 1 :]
    session.execute(delete(Checkpoint).where(*of_slice, Checkpoint.number.in_([row.number for row in old])))
    needed |= {file.artifact_id for row in known[: KEPT - 1] for file in _saved(row).files}
    unused = {file.artifact_id for row in old for file in _saved(row).files} - needed
    record(
        session,
        "attempt.checkpoint",
        attempt_id,
        now,
        actor=node_id,
        topics=attempt_topics(view),
        job=view.job_id,
        slice=view.slice_index,
        number=number,
        size_bytes=size_bytes,
    )
    return let_go_at_once(session, sorted(unused))


def find_newest(session: Session, job_id: str, slice_index: int) -> Newest | None:
    row = session.scalar(
        select(Checkpoint)
        .where(Checkpoint.job_id == job_id, Checkpoint.slice_index == slice_index)
        .order_by(Checkpoint.number.desc())
        .limit(1)
    )
    return Newest(_saved(row), row.attempt_id, row.running_seconds) if row is not None else None


def list_newest_of_queued(session: Session) -> dict[tuple[str, int], Saved]:
    """By job and slice, for the queue's memory after a start."""
    rows = session.scalars(
        select(Checkpoint)
        .join(Slice, (Slice.job_id == Checkpoint.job_id) & (Slice.index == Checkpoint.slice_index))
        .where(Slice.state == JobState.QUEUED)
        .order_by(Checkpoint.number)
        .limit(repository.OPEN_SLICES_LIMIT)
    )
    return {(row.job_id, row.slice_index): _saved(row) for row in rows}


def free_unused(session: Session, stored_before: datetime, looked_at: int = LOOKED_AT_ONCE) -> int:
    """Files that no checkpoint has any more, and all checkpoints of jobs that have ended. How many files it was.

    Only the oldest are looked at, and those that are needed go behind the others.
    """
    final = select(Job.id).where(Job.state.in_(JOB_FINAL))
    ended = select(Checkpoint.job_id).where(Checkpoint.job_id.in_(final)).distinct().limit(FREED_AT_ONCE)
    session.execute(delete(Checkpoint).where(Checkpoint.job_id.in_(session.scalars(ended).all())))
    files = list_stored_checkpoint_files(session, stored_before, looked_at)
    needed = _artifacts_in_use(session, {job_id for _, job_id in files if job_id is not None})
    put_behind(session, [artifact_id for artifact_id, _ in files if artifact_id in needed], stored_before)
    unused = [artifact_id for artifact_id, _ in files if artifact_id not in needed]
    return let_go(session, unused[:FREED_AT_ONCE], stored_before)


def _artifacts_in_use(session: Session, job_ids: set[str]) -> set[str]:
    used: set[str] = set()
    wanted = sorted(job_ids)
    for start in range(0, len(wanted), FREED_AT_ONCE):
        batch = wanted[start : start + FREED_AT_ONCE]
        rows = session.scalars(select(Checkpoint.content).where(Checkpoint.job_id.in_(batch)))
        used.update(file["artifact_id"] for content in rows for file in content["files"])
    return used


def _is_told_already(known: Sequence[Checkpoint], number: int, files: Sequence[SavedFile]) -> bool:
    """`known`: the newest first."""
    newest = known[0].number if known else 0
    if number > newest + NUMBERS_AHEAD:
        raise CheckpointIncomplete(f"number {number} is too far ahead of the newest stored checkpoint, {newest}")
    if number > newest:
        return bool(known) and _content(_saved(known[0]).files) == _content(files)
    twin = next((row for row in known if row.number == number), None)
    if twin is None or _content(_saved(twin).files) != _content(files):
        raise CheckpointIncomplete(f"number {number} is not newer than the stored checkpoint {newest}")
    return True


def _content(files: Sequence[SavedFile]) -> dict[str, str]:
    return {file.path: file.digest for file in files}


def _saved(row: Checkpoint) -> Saved:
    return Saved(number=row.number, files=tuple(SavedFile.model_validate(file) for file in row.content["files"]))
