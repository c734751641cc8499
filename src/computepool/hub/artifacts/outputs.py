"""What attempts leave behind. An output belongs to one attempt; its URLs are good for that path and digest alone.

`Outputs` is what the gateway asks. Its transactions are below it, for those who need them inside one of their own.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from computepool.hub.artifacts import repository
from computepool.hub.artifacts.errors import BadUpload, OutputAltered, UploadTooLarge
from computepool.hub.artifacts.freeing import free_replaced, free_soon
from computepool.hub.artifacts.parts import PART_BYTES, count_parts, outputs_folder
from computepool.hub.artifacts.service import WRITABLE, NewId, check_announcement, new_row
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.tables import Artifact, ArtifactKind, ArtifactState
from computepool.hub.artifacts.transfers import PartUpload, has_digest, missing_parts, settled_sizes_in, sign_missing
from computepool.hub.artifacts.usage import NO_QUOTAS, Quotas, charge, quotas_of
from computepool.hub.core.context import Context
from computepool.hub.core.errors import PoolError
from computepool.hub.core.records import record
from computepool.protocol.limits import OUTPUT_FILES_LIMIT
from computepool.protocol.messages import UploadFile, UploadTarget
from computepool.protocol.output_paths import find_path_problem, show_path
from computepool.protocol.receipt import OutputRef

GRANTED_AT_ONCE = 500
"""In one transaction: others wait to write meanwhile. If a later one is refused, the sweep clears the earlier ones."""
SHOWN_PATHS = 5


class OutputsRefused(Exception):
    """None of what was asked for is granted. The text says why."""


class Outputs:
    def __init__(self, context: Context, store: Store) -> None:
        self._context = context
        self._store = store
        self._checks: dict[str, asyncio.Task[bool]] = {}
        """Digests that are being computed, by artifact: an agent that asks again waits for the same one."""
        self._granted: dict[str, set[str]] = {}
        """By attempt, the paths that it may not bring after all."""

    async def grant(
        self, attempt_id: str, owner_id: str, files: Sequence[UploadFile], disk_bytes: int | None = None
    ) -> list[UploadTarget]:
        """Where to put each file. The caller has checked that the attempt is the asking node's, and current.

        `disk_bytes`: what the attempt may write at all, and so the most that it can have to keep.
        """
        settings = self._context.settings
        limit_bytes = min(disk_bytes or settings.upload_limit_bytes, settings.upload_limit_bytes)
        self._store.need_room(sum(file.size_bytes for file in files))
        rows: list[Artifact] = []
        replaced: list[str] = []
        try:
            for start in range(0, len(files), GRANTED_AT_ONCE):
                rows += await self._context.db.run(
                    grant_outputs,
                    attempt_id,
                    owner_id,
                    files[start : start + GRANTED_AT_ONCE],
                    self._context.now(),
                    new_id=self._context.new_id,
                    limit_bytes=limit_bytes,
                    quotas=quotas_of(settings),
                    replaced=replaced,
                )
                await free_replaced(self._context, self._store, replaced)
        except PoolError as error:
            detail = "; ".join(f"{field.field}: {field.message}" for field in error.fields or ())
            raise OutputsRefused(f"{error.message} {detail}".strip()) from None
        self._granted.setdefault(attempt_id, set()).update(file.path for file in files)
        uploads = await self._context.offload(sign_missing, self._store, outputs_folder(attempt_id), rows)
        return [upload_target(row.path or "", row, each) for row, each in zip(rows, uploads, strict=True)]

    async def complete(self, attempt_id: str, outputs: Sequence[OutputRef]) -> str | None:
        """None once all of them are stored; else what is missing, or is not what was announced."""
        missing = await self.find_missing(attempt_id, outputs)
        if missing:
            return describe_missing(missing)
        altered = await self._find_altered(attempt_id, outputs)
        if altered:
            return f"not what was announced: {_some(altered)}"
        missing = await self._context.db.run(complete_outputs, attempt_id, outputs, self._context.now())
        if missing:
            return describe_missing(missing)
        self._granted.get(attempt_id, set()).difference_update(output.path for output in outputs)
        return None

    async def give_up_unfinished(self, attempt_id: str) -> None:
        """The attempt has ended: what was granted to it and is not among its outputs is freed."""
        if self._granted.pop(attempt_id, None):
            unfinished = await self._context.db.run(repository.forget_unfinished, attempt_id)
            await free_soon(self._context, self._store, unfinished)

    def forget(self, attempt_id: str) -> None:
        """The attempt was lost. It may come back, and go on with its uploads; if not, they are swept in a day."""
        self._granted.pop(attempt_id, None)

    async def _find_altered(self, attempt_id: str, outputs: Sequence[OutputRef]) -> list[str]:
        """Those whose parts, each as it was announced, do not make the whole."""
        large = [output.path for output in outputs if count_parts(output.size_bytes) > 1]
        if not large:
            return []
        rows = await self._context.db.read(repository.find_outputs, attempt_id, large)
        return [
            path for path, row in rows.items() if row.state != ArtifactState.STORED and not await self._has_digest(row)
        ]

    async def _has_digest(self, row: Artifact) -> bool:
        task = self._checks.get(row.id)
        if task is None:
            task = asyncio.create_task(has_digest(self._store, self._context.offload, row))
            self._checks[row.id] = task
            task.add_done_callback(lambda _: self._checks.pop(row.id, None))
        return await asyncio.shield(task)

    async def find_missing(self, attempt_id: str, outputs: Sequence[OutputRef]) -> list[str]:
        """The paths that were not granted so, or whose bytes are not in the store."""
        if not outputs:
            return []
        rows = await self._context.db.read(repository.find_outputs, attempt_id, [output.path for output in outputs])
        sizes = await self._context.offload(settled_sizes_in, self._store, outputs_folder(attempt_id))
        return [output.path for output in outputs if not _is_there(rows.get(output.path), output, sizes)]


def grant_outputs(
    session: Session,
    attempt_id: str,
    owner_id: str,
    files: Sequence[UploadFile],
    now: datetime,
    *,
    new_id: NewId,
    limit_bytes: int,
    quotas: Quotas = NO_QUOTAS,
    replaced: list[str] | None = None,
) -> list[Artifact]:
    """An artifact for each file, in their order. Asking again for the same gives the same.

    `replaced` gets the ids of those that were announced otherwise before. The caller frees them before it hands out
    URLs: each announcement could else be followed by the next one, and all of their bytes be put.
    """
    replaced = [] if replaced is None else replaced
    replaced.clear()  # the transaction may be repeated
    for file in files:
        check_path(file.path)
        check_announcement(file.digest, file.size_bytes, file.part_digests, limit_bytes)
    paths = [file.path for file in files]
    if len(set(paths)) != len(paths):
        raise BadUpload("files", "the same path twice")
    known = repository.find_outputs(session, attempt_id, paths)
    new = []
    for file in files:
        row = known.get(file.path)
        if row is not None:
            if _is_announced(row, file):
                continue
            if row.state == ArtifactState.STORED:
                raise OutputAltered(file.path)
            replaced.append(row.id)
        parts = list(file.part_digests) if count_parts(file.size_bytes) > 1 else None
        new.append(
            new_row(
                new_id, owner_id, file.digest, file.size_bytes, ArtifactKind.OUTPUT, parts, now,
                attempt_id=attempt_id, path=file.path,
            )
        )  # fmt: skip
    moved = repository.mark_abandoned(session, replaced)
    given_up = [row for row in known.values() if row.id in moved]
    added = repository.insert_unless_there(session, new)
    repository.renew(session, [row.id for row in known.values()], now + WRITABLE)
    session.expire_all()
    count, total_bytes = repository.measure_outputs(session, attempt_id)
    if count > OUTPUT_FILES_LIMIT:
        raise UploadTooLarge(f"An attempt may keep {OUTPUT_FILES_LIMIT} files; pack them into one archive.")
    if total_bytes > limit_bytes:
        raise UploadTooLarge(f"The outputs have {total_bytes} bytes together; at most {limit_bytes} are taken of it.")
    if new:
        record(session, "outputs.granted", attempt_id, now, files=len(new), total_bytes=total_bytes)
    granted = repository.find_outputs(session, attempt_id, paths)
    if any(file.path not in granted or not _is_announced(granted[file.path], file) for file in files):
        raise OutputAltered(next(f.path for f in files if f.path not in granted or granted[f.path].digest != f.digest))
    charge(session, owner_id, added, now, quotas, replaced=given_up)
    return [granted[path] for path in paths]


def complete_outputs(session: Session, attempt_id: str, outputs: Sequence[OutputRef], now: datetime) -> list[str]:
    """Store them; `find_missing` saw their bytes. If some were never granted so, returns those, and stores none."""
    if not outputs:
        return []
    rows = repository.find_outputs(session, attempt_id, [output.path for output in outputs])
    strange = [output.path for output in outputs if not _is_announced(rows.get(output.path), output)]
    if strange:
        return strange
    moved = repository.mark_stored(session, [row.id for row in rows.values()], now)
    if moved:
        record(session, "outputs.stored", attempt_id, now, files=len(moved))
    return []


def check_path(path: str) -> None:
    """An output's path ends up on the renter's disk: it may only lead downwards."""
    problem = find_path_problem(path)
    if problem is not None:
        message = (
            f'"{show_path(path)}" {problem}: '
            "expected a relative path, without .., without backslashes and without control characters"
        )
        raise BadUpload("path", message, ascii(path)[:80])


def describe_missing(paths: Sequence[str]) -> str:
    return f"not uploaded whole: {_some(paths)}"


def _some(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - SHOWN_PATHS} more" if len(paths) > SHOWN_PATHS else ""
    return ", ".join(paths[:SHOWN_PATHS]) + more


def _is_announced(row: Artifact | None, file: UploadFile | OutputRef) -> bool:
    if row is None or (row.digest, row.size_bytes) != (file.digest, file.size_bytes):
        return False
    return not isinstance(file, UploadFile) or row.part_digests is None or row.part_digests == list(file.part_digests)


def _is_there(row: Artifact | None, output: OutputRef, sizes: dict[str, int]) -> bool:
    return row is not None and _is_announced(row, output) and not missing_parts(row, sizes)


def upload_target(path: str, row: Artifact, uploads: list[PartUpload]) -> UploadTarget:
    by_part = {upload.part: upload for upload in uploads}
    parts = [by_part.get(part) for part in range(row.part_count)] if uploads else []
    return UploadTarget(
        path=path,
        urls=tuple(part.url if part else "" for part in parts),
        headers=tuple(part.headers if part else {} for part in parts),
        part_bytes=PART_BYTES,
    )
