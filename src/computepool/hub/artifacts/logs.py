"""The logs of attempts, as objects in the store.

A chunk is durable before `append` returns. Chunks that wait for the same attempt share one object; attempts do not
wait for each other. Nothing is buffered for readers: they are woken, and read by offset. Everything kept in memory can
be rebuilt from the store, so a restart of the hub loses nothing.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import structlog

from computepool.hub.artifacts.log_segments import SegmentPiece, Segments, folder_of
from computepool.hub.artifacts.log_state import (
    SEGMENT_BYTES,
    TAIL_BYTES,
    TAILS_BYTES,
    Chunk,
    Log,
    doubted,
    refuse,
    take,
)
from computepool.hub.artifacts.store import ObjectMissing, Store, StoreError
from computepool.hub.core.context import Offload

PENDING_LIMIT_BYTES = 4 * 1024**2
"""Of chunks of one attempt that wait to be written; more of them wait outside."""
READ_LIMIT_BYTES = 4 * 1024**2
READ_TRIES = 5
IN_PIECES_LIMIT = 10_000
"""Of logs to be sealed later; those beyond stay as they are, which costs objects and nothing else."""

R = TypeVar("R")

events = structlog.get_logger()


class LogGap(Exception):
    """The chunk begins after the end of what is there. Nothing of it was taken; go on from `expected`."""

    def __init__(self, expected: int) -> None:
        super().__init__(f"the log continues at offset {expected}")
        self.expected = expected


class LogLimit(Exception):
    """The attempt has written all that is kept of one. Nothing of the chunk was taken."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"a log has at most {limit_bytes} bytes")
        self.limit_bytes = limit_bytes


class LogReader:
    """Somebody who watches a log grow. Holds no bytes."""

    def __init__(self, log: Log, load: Callable[[Log], Awaitable[None]]) -> None:
        self._log = log
        self._load = load

    async def wait(self, after: int) -> int:
        """The log's size, once there is more than `after` bytes of it."""
        await self._load(self._log)
        while self._log.segments.size <= after:
            await self._log.grown.wait()
        return self._log.segments.size


class LogStore:
    def __init__(self, store: Store, offload: Offload, limit_bytes: int) -> None:
        self._store = store
        self._offload = offload
        self._limit_bytes = limit_bytes
        self._logs: dict[str, Log] = {}
        self._tasks: set[asyncio.Task[object]] = set()
        self._in_pieces: dict[str, None] = {}
        self._watched = 0
        """Logs that have a watcher."""

    def begin(self, attempt_id: str) -> None:
        """The attempt is new, so nothing needs to be looked for. Spares its first chunk a question to the store."""
        log = self._get(attempt_id)
        log.kept = log.loaded = log.settled = True

    async def append(self, attempt_id: str, offset: int, data: bytes) -> int:
        """The offset to go on from: everything before it is durable. What is there already is not written again."""
        if offset < 0:
            raise ValueError(f"offset {offset}")
        with self._using(attempt_id) as log:
            log.kept = True
            while log.pending_bytes >= PENDING_LIMIT_BYTES:
                log.room.clear()
                await log.room.wait()
            chunk = Chunk(offset, data, asyncio.get_running_loop().create_future())
            log.pending.append(chunk)
            log.pending_bytes += len(data)
            if log.worker is None:
                log.worker = asyncio.create_task(self._write(log))
            return await chunk.taken

    async def read(self, attempt_id: str, after: int, limit_bytes: int = SEGMENT_BYTES) -> bytes:
        """At most so many bytes from `after` on; empty at the end."""
        if after < 0:
            raise ValueError(f"offset {after}")
        with self._using(attempt_id) as log:
            await self._load(log)
            for _ in range(READ_TRIES):
                length = min(limit_bytes, READ_LIMIT_BYTES, log.segments.size - after)
                if length <= 0:
                    return b""
                tail_start = log.segments.size - len(log.tail)
                if after >= tail_start:
                    return bytes(log.tail[after - tail_start : after - tail_start + length])
                pieces = log.segments.pieces(after, length)
                with suppress(ObjectMissing):  # merged or sealed meanwhile: look again
                    return await self._offload(_read_pieces, self._store, pieces)
        raise StoreError(f"Part of the log of {attempt_id} is missing in the store.")

    async def size(self, attempt_id: str) -> int:
        """How much is there, durably."""
        log = self._logs.get(attempt_id)
        if log is not None and log.settled:
            return log.segments.size
        return await self._alone(attempt_id, self._size)

    async def counted_near(self, attempt_id: str, offset: int) -> tuple[tuple[int, int], tuple[int, int] | None]:
        """The offsets nearest to this one, before and after it, before which the number of newlines is known; each
        with that number. There may be none after it."""
        with self._using(attempt_id) as log:
            await self._load(log)
            return log.segments.counted_before(offset), log.segments.counted_after(offset)

    async def digest(self, attempt_id: str) -> str:
        """`sha256:…` of all that is there."""
        log = self._logs.get(attempt_id)
        if log is not None and log.settled and log.worker is None and log.hashed_bytes == log.segments.size:
            return f"sha256:{log.hash.hexdigest()}"
        return await self._alone(attempt_id, self._digest)

    async def seal(self, attempt_id: str) -> bool:
        """Make one object of it; whether it was in pieces. May be cut off anywhere, and repeated."""
        return await self._alone(attempt_id, self._seal)

    async def delete(self, attempt_id: str) -> None:
        """Nobody writes it any more, and nobody may read it. May be repeated."""
        await self._alone(attempt_id, self._delete)
        self._in_pieces.pop(attempt_id, None)

    def forget(self, attempt_id: str) -> None:
        """Nobody writes it any more: drop what is kept of it in memory as soon as nobody needs it."""
        log = self._logs.get(attempt_id)
        if log is not None:
            log.kept = False
            if len(log.segments) > 1:
                self._in_pieces[attempt_id] = None
                while len(self._in_pieces) > IN_PIECES_LIMIT:
                    del self._in_pieces[next(iter(self._in_pieces))]
            self._drop_if_idle(log)

    def take_in_pieces(self) -> list[str]:
        """Attempts whose logs were forgotten without being sealed, because the attempt was lost or the store away."""
        taken, self._in_pieces = list(self._in_pieces), {}
        return [attempt_id for attempt_id in taken if not self._is_written(attempt_id)]

    def _is_written(self, attempt_id: str) -> bool:
        log = self._logs.get(attempt_id)
        return log is not None and log.kept

    @contextmanager
    def subscribe(self, attempt_id: str) -> Iterator[LogReader]:
        with self._using(attempt_id) as log:
            self._watched += not log.watchers
            log.watchers += 1
            try:
                yield LogReader(log, self._load)
            finally:
                log.watchers -= 1
                if not log.watchers:
                    self._watched -= 1
                    log.tail.clear()

    # ── what is in memory ────────────────────────────────────────────────────────────────────────────────────────────

    def _get(self, attempt_id: str) -> Log:
        log = self._logs.get(attempt_id)
        if log is None:
            log = self._logs[attempt_id] = Log(attempt_id, Segments(folder_of(attempt_id)))
        return log

    @contextmanager
    def _using(self, attempt_id: str) -> Iterator[Log]:
        """There is at most one Log of an attempt: it stays for as long as anybody uses it."""
        log = self._get(attempt_id)
        log.users += 1
        try:
            yield log
        finally:
            log.users -= 1
            self._drop_if_idle(log)

    def _drop_if_idle(self, log: Log) -> None:
        if not (log.kept or log.users or log.worker):
            self._logs.pop(log.attempt_id, None)

    async def _load(self, log: Log) -> None:
        if not log.loaded:
            await self._alone(log.attempt_id, self._look)

    async def _look(self, log: Log) -> None:
        if not log.loaded:
            folder = folder_of(log.attempt_id)
            entries = await self._offload(self._store.list, folder)
            log.segments, log.leftovers = Segments.found(folder, entries)
            log.tail.clear()
            log.loaded = True
            log.wake()

    async def _settle(self, log: Log) -> None:
        """Before anything is said about what is there."""
        await self._look(log)
        if not log.settled:
            if log.segments.size:
                await self._offload(self._store.settle, folder_of(log.attempt_id))
            log.settled = True

    async def _size(self, log: Log) -> int:
        await self._settle(log)
        return log.segments.size

    async def _alone(self, attempt_id: str, action: Callable[[Log], Awaitable[R]]) -> R:
        """With nobody else at the log's objects, and to the end even if the caller goes away: an action that is
        abandoned half-way might overwrite, later, what the next one did."""

        async def act() -> R:
            with self._using(attempt_id) as log:
                async with log.lock:
                    return await action(log)

        task = asyncio.create_task(act())
        self._tasks.add(task)
        task.add_done_callback(self._forget_task)
        return await asyncio.shield(task)

    def _forget_task(self, task: "asyncio.Task[object]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # seen: whoever asked may be gone

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _write(self, log: Log) -> None:
        """Lives while chunks wait."""
        chunks: list[Chunk] = []
        try:
            async with log.lock:
                while log.pending:
                    chunks = take(log)
                    try:
                        await self._commit(log, chunks)
                    except Exception as error:
                        refuse(chunks, error)  # it is the callers'
                    await self._merge(log)
        finally:
            log.worker = None
            for chunk in [*chunks, *log.pending]:  # only when the hub is being stopped
                chunk.taken.cancel()
            self._drop_if_idle(log)

    async def _commit(self, log: Log, chunks: list[Chunk]) -> None:
        await self._settle(log)
        end = log.segments.size
        fresh: list[bytes] = []
        for chunk in chunks:
            new = chunk.data[max(0, end - chunk.offset) :]
            if chunk.offset > end:
                refuse([chunk], LogGap(end))
            elif end + len(new) > self._limit_bytes:
                refuse([chunk], LogLimit(self._limit_bytes))
            elif new:
                fresh.append(new)
                end += len(new)
        if fresh:
            data = b"".join(fresh)
            current = log.hashed_bytes == log.segments.size
            newlines = data.count(b"\n")
            key = log.segments.key(log.segments.size, end, newlines)
            with doubted(log):
                await self._offload(_put, self._store, key, data, log.hash if current else None)
            log.grow(data, newlines, min(TAIL_BYTES, TAILS_BYTES // max(1, self._watched)))
            if current:
                log.hashed_bytes = end
        for chunk in chunks:
            if not chunk.taken.done():
                chunk.taken.set_result(end)

    async def _merge(self, log: Log) -> None:
        """Keeps the number of objects in proportion to the bytes. The callers have been answered already."""
        start = log.segments.small_tail()
        if start is None:
            return
        try:
            await self._merge_from(log, start)
        except Exception as error:  # the next chunk tries again
            events.warning("log.merge_failed", attempt_id=log.attempt_id, error=repr(error))

    async def _seal(self, log: Log) -> bool:
        await self._settle(log)
        in_pieces = len(log.segments) > 1 or bool(log.leftovers)
        if len(log.segments) > 1:
            await self._merge_from(log, 0)
        await self._clear(log)
        return in_pieces

    async def _delete(self, log: Log) -> None:
        """Whoever waits to seal it finds nothing to seal."""
        folder = folder_of(log.attempt_id)
        with doubted(log):
            await self._offload(self._store.clear, folder)
        log.segments, log.leftovers, log.hash, log.hashed_bytes = Segments(folder), [], hashlib.sha256(), 0
        log.tail.clear()
        log.kept, log.loaded, log.settled = False, True, True

    async def _merge_from(self, log: Log, start: int) -> None:
        segments = log.segments
        pieces = segments.pieces(start, segments.size - start)
        with doubted(log):
            await self._offload(_copy, self._store, pieces, segments.merged_key(start))
        log.leftovers += segments.merge(start)
        await self._clear(log)

    async def _clear(self, log: Log) -> None:
        if log.leftovers:
            await self._offload(self._store.delete, *log.leftovers)
            log.leftovers = []

    async def _digest(self, log: Log) -> str:
        await self._settle(log)
        while (length := min(SEGMENT_BYTES, log.segments.size - log.hashed_bytes)) > 0:
            pieces = log.segments.pieces(log.hashed_bytes, length)
            await self._offload(_hash_pieces, self._store, pieces, log.hash)
            log.hashed_bytes += length
        return f"sha256:{log.hash.hexdigest()}"


# ── off the event loop ───────────────────────────────────────────────────────────────────────────────────────────────


def _put(store: Store, key: str, data: bytes, running: "hashlib._Hash | None") -> None:
    store.put(key, data)
    if running is not None:
        running.update(data)


def _read_pieces(store: Store, pieces: list[SegmentPiece]) -> bytes:
    return b"".join([store.read(*piece) for piece in pieces])


def _hash_pieces(store: Store, pieces: list[SegmentPiece], running: "hashlib._Hash") -> None:
    running.update(_read_pieces(store, pieces))  # all of them or, if one cannot be read, none


def _copy(store: Store, pieces: list[SegmentPiece], target: str) -> None:
    """In memory is one piece of it at a time."""
    store.put(target, (data for piece in pieces for data in _in_steps(store, piece)))


def _in_steps(store: Store, piece: SegmentPiece) -> Iterator[bytes]:
    for start in range(0, piece.length, SEGMENT_BYTES):
        yield store.read(piece.key, piece.start + start, min(SEGMENT_BYTES, piece.length - start))
