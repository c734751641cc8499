"""The files of checkpoints. Each is kept once for its slice, however many checkpoints and paths have it."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from computepool.hub.artifacts import repository
from computepool.hub.artifacts.errors import AnnouncedOtherwise, UploadTooLarge
from computepool.hub.artifacts.freeing import free_replaced, free_soon
from computepool.hub.artifacts.outputs import OutputsRefused, check_path, describe_missing, upload_target
from computepool.hub.artifacts.parts import checkpoints_folder, count_parts
from computepool.hub.artifacts.service import WRITABLE, NewId, check_announcement, new_row
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.tables import Artifact, ArtifactKind, ArtifactState
from computepool.hub.artifacts.transfers import (
    has_digest,
    missing_parts,
    settled_sizes_in,
    sign_downloads,
    sign_missing,
)
from computepool.hub.artifacts.usage import NO_QUOTAS, Quotas, charge, quotas_of
from computepool.hub.core.context import Context
from computepool.hub.core.errors import PoolError
from computepool.protocol.checkpoint_list import find_list_problem
from computepool.protocol.limits import CHECKPOINT_FILES_LIMIT
from computepool.protocol.manifest import Saved, SavedFile
from computepool.protocol.messages import UploadFile, UploadTarget


class CheckpointIncomplete(Exception):
    """It cannot be restored from what is there. The text says why."""


class CheckpointFiles:
    def __init__(self, context: Context, store: Store) -> None:
        self._context = context
        self._store = store

    async def grant(
        self,
        job_id: str,
        slice_index: int,
        owner_id: str,
        files: Sequence[UploadFile],
        *,
        disk_bytes: int,
        copies: int,
    ) -> list[UploadTarget]:
        """Where to put each file; nowhere for one that is there already. The caller has checked whose attempt it is.

        `disk_bytes`: what the slice may write, and so the most that it can have to save. `copies`: how many checkpoints
        of that size there is room for.
        """
        settings = self._context.settings
        self._store.need_room(sum(file.size_bytes for file in files))
        replaced: list[str] = []
        try:
            rows = await self._context.db.run(
                grant_files,
                job_id,
                slice_index,
                owner_id,
                files,
                self._context.now(),
                new_id=self._context.new_id,
                limit_bytes=min(disk_bytes, settings.upload_limit_bytes),
                copies=copies,
                quotas=quotas_of(settings),
                replaced=replaced,
            )
            await free_replaced(self._context, self._store, replaced)
        except PoolError as error:
            raise OutputsRefused(error.message) from None
        artifacts = list(rows.values())
        uploads = await self._context.offload(sign_missing, self._store, checkpoints_folder(job_id), artifacts)
        todo = {row.digest: each for row, each in zip(artifacts, uploads, strict=True)}
        # The same content at two paths is put once.
        return [upload_target(file.path, rows[file.digest], todo.pop(file.digest, [])) for file in files]

    async def complete(self, job_id: str, slice_index: int, files: Sequence[SavedFile]) -> list[SavedFile]:
        """The same files with the places where they are kept. Raises CheckpointIncomplete."""
        problem = find_list_problem(files)
        if problem is not None:
            raise CheckpointIncomplete(problem)
        limit_bytes = self._context.settings.upload_limit_bytes
        if sum(file.size_bytes for file in files) > limit_bytes:
            raise CheckpointIncomplete(f"larger than the {limit_bytes} bytes that this hub takes")
        digests = list(dict.fromkeys(file.digest for file in files))
        rows = await self._context.db.read(repository.find_checkpoint_files, job_id, slice_index, digests)
        strange = [file.path for file in files if not _is_granted(rows.get(file.digest), file)]
        if strange:
            raise CheckpointIncomplete(describe_missing(strange))
        fresh = [row for row in rows.values() if row.state != ArtifactState.STORED]
        if fresh:
            sizes = await self._context.offload(settled_sizes_in, self._store, checkpoints_folder(job_id))
            for row in fresh:
                if missing_parts(row, sizes):
                    raise CheckpointIncomplete(describe_missing([f.path for f in files if f.digest == row.digest]))
                if not await has_digest(self._store, self._context.offload, row):
                    raise CheckpointIncomplete(f"not what was announced: {row.digest}")
            await self._context.db.run(repository.mark_stored, [row.id for row in fresh], self._context.now())
        return [
            SavedFile(path=file.path, digest=file.digest, size_bytes=file.size_bytes, artifact_id=rows[file.digest].id)
            for file in files
        ]

    async def free(self, files: Sequence[Artifact]) -> None:
        """No checkpoint needs them any more."""
        await free_soon(self._context, self._store, files)

    def downloads(self, job_id: str, saved: Saved) -> dict[str, tuple[str, ...]]:
        """By digest, the URLs of the parts. Signing only: no I/O."""
        return {
            file.digest: tuple(sign_downloads(self._store, file.artifact_id, file.size_bytes, job_id=job_id))
            for file in saved.files
        }


def grant_files(
    session: Session,
    job_id: str,
    slice_index: int,
    owner_id: str,
    files: Sequence[UploadFile],
    now: datetime,
    *,
    new_id: NewId,
    limit_bytes: int,
    copies: int,
    quotas: Quotas = NO_QUOTAS,
    replaced: list[str] | None = None,
) -> dict[str, Artifact]:
    """An artifact for each digest. Asking again for the same gives the same. `replaced` is as for outputs."""
    replaced = [] if replaced is None else replaced
    replaced.clear()
    if len(files) > CHECKPOINT_FILES_LIMIT:
        raise UploadTooLarge(f"A checkpoint may have {CHECKPOINT_FILES_LIMIT} files; pack them into one archive.")
    for file in files:
        check_path(file.path)
        check_announcement(file.digest, file.size_bytes, file.part_digests, limit_bytes)
    if sum(file.size_bytes for file in files) > limit_bytes:
        raise UploadTooLarge(f"The checkpoint is larger than the {limit_bytes} bytes that are taken of it.")
    wanted = {file.digest: file for file in files}
    known = repository.find_checkpoint_files(session, job_id, slice_index, list(wanted))
    replaced += [row.id for row in known.values() if not _is_announced(row, wanted[row.digest])]
    moved = repository.mark_abandoned(session, replaced)
    given_up = [row for row in known.values() if row.id in moved]
    new = [
        new_row(
            new_id, owner_id, file.digest, file.size_bytes, ArtifactKind.CHECKPOINT,
            list(file.part_digests) if count_parts(file.size_bytes) > 1 else None, now,
            job_id=job_id, slice_index=slice_index,
        )
        for file in wanted.values()
        if file.digest not in known or known[file.digest].id in replaced
    ]  # fmt: skip
    added = repository.insert_unless_there(session, new)
    repository.renew(session, [row.id for row in known.values()], now + WRITABLE)
    repository.touch_stored(session, [row.id for row in known.values()], now)  # it is about to be used again
    session.expire_all()
    if new and repository.measure_checkpoint_files(session, job_id, slice_index) > copies * limit_bytes:
        raise UploadTooLarge(
            f"The slice's checkpoints have more than {copies * limit_bytes} bytes; old ones go in time."
        )
    granted = repository.find_checkpoint_files(session, job_id, slice_index, list(wanted))
    for digest, file in wanted.items():
        if digest not in granted or not _is_announced(granted[digest], file):
            raise AnnouncedOtherwise(digest, granted[digest].size_bytes if digest in granted else file.size_bytes)
    charge(session, owner_id, added, now, quotas, replaced=given_up)
    return granted


def _is_announced(row: Artifact, file: UploadFile) -> bool:
    """Of what is stored, the parts no longer matter."""
    if row.size_bytes != file.size_bytes:
        return False
    return row.state == ArtifactState.STORED or row.part_digests is None or row.part_digests == list(file.part_digests)


def _is_granted(row: Artifact | None, file: SavedFile) -> bool:
    return row is not None and row.size_bytes == file.size_bytes
