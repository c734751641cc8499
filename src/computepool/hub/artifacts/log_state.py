"""What is kept in memory of a log while it is used."""

import asyncio
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from computepool.hub.artifacts.log_segments import Segments

SEGMENT_BYTES = 1024**2
"""Most that is put into one object at once, and read from one at once."""
TAIL_BYTES = 64 * 1024
"""The end of a log that somebody watches is kept in memory, so that a live line needs no disk."""
TAILS_BYTES = 8 * 1024**2
"""Of all of them together."""


@dataclass(slots=True)
class Chunk:
    offset: int
    data: bytes
    taken: "asyncio.Future[int]"


@dataclass(slots=True, eq=False)
class Log:
    attempt_id: str
    segments: Segments
    leftovers: list[str] = field(default_factory=list)
    loaded: bool = False
    settled: bool = False
    """What was found is known to survive a power cut: a put may have been cut off by the hub's own death."""
    kept: bool = False
    """Being written: stays in memory until it is forgotten."""
    users: int = 0
    pending: list[Chunk] = field(default_factory=list)
    pending_bytes: int = 0
    worker: "asyncio.Task[None] | None" = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by whoever writes or rearranges objects."""
    grown: asyncio.Event = field(default_factory=asyncio.Event)
    room: asyncio.Event = field(default_factory=asyncio.Event)
    hash: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    hashed_bytes: int = 0
    """How far the hash has come: behind the end only after a restart."""
    watchers: int = 0
    tail: bytearray = field(default_factory=bytearray)

    def grow(self, data: bytes, newlines: int, tail_bytes: int) -> None:
        self.segments.grow(self.segments.size + len(data), newlines)
        if self.watchers:
            self.tail += data[-tail_bytes:]
            del self.tail[:-tail_bytes]
        self.wake()

    def wake(self) -> None:
        grown, self.grown = self.grown, asyncio.Event()
        grown.set()


@contextmanager
def doubted(log: Log) -> Iterator[None]:
    """A put that failed may have been done all the same: look before anything else."""
    try:
        yield
    except Exception:
        log.loaded = log.settled = False
        raise


def take(log: Log) -> list[Chunk]:
    """The first chunks that wait, as many as fit into an object."""
    taken_bytes = 0
    count = 0
    while count < len(log.pending) and (not count or taken_bytes + len(log.pending[count].data) <= SEGMENT_BYTES):
        taken_bytes += len(log.pending[count].data)
        count += 1
    chunks = log.pending[:count]
    del log.pending[:count]
    log.pending_bytes -= taken_bytes
    log.room.set()
    return chunks


def refuse(chunks: list[Chunk], error: Exception) -> None:
    for chunk in chunks:
        if not chunk.taken.done():
            chunk.taken.set_exception(error)
