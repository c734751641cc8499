"""What is stored, read for downloads: in pieces, in turns with other bulk work, and little of it in memory at once."""

import asyncio
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from computepool.hub.artifacts.parts import PART_BYTES, part_key, size_of_part
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.zip_layout import ZipLayout
from computepool.hub.core.bulk import BulkLane
from computepool.hub.core.context import Offload

PIECE_BYTES = 1024**2
"""Read at once. Less while many slow readers have not taken theirs:"""
PIECES_BYTES = 32 * 1024**2
"""of all downloads together,"""
PIECE_SHARE = 8
"""of what is left of that, so much of it for the next piece,"""
SEND_BYTES = 64 * 1024
"""but not less than what is sent at once."""
REMOTE_READS = 8
"""At once, of an object store: waiting for it keeps nobody from working."""

ReadAt = Callable[[int, int], Awaitable[bytes]]
"""The bytes from an offset on: at least one, at most so many."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    folder: str
    """Of its parts."""
    size_bytes: int


class Downloads:
    def __init__(self, store: Store, offload: Offload, bulk: BulkLane) -> None:
        self._store = store
        self._offload = offload
        self._bulk = bulk
        self._remote = asyncio.Semaphore(REMOTE_READS) if store.origin is not None else None
        self._held_bytes = 0
        """Read, and not yet taken by their readers."""

    async def pieces(self, read: ReadAt, start: int, stop: int, reader: str) -> AsyncGenerator[bytes, None]:
        """From one offset to another. Readers, told apart by this key, take turns."""
        while start < stop:
            share = (PIECES_BYTES - self._held_bytes) // PIECE_SHARE
            length = min(stop - start, max(SEND_BYTES, min(PIECE_BYTES, share)))
            self._held_bytes += length
            try:
                async with self._remote if self._remote is not None else self._bulk.turn(reader):
                    data = await read(start, length)
                if not data:
                    raise EOFError("it was deleted while it was read")
                for at in range(0, len(data), SEND_BYTES):
                    yield data[at : at + SEND_BYTES]
            finally:
                self._held_bytes -= length
            start += len(data)

    async def read(self, file: StoredFile, start: int, length: int) -> bytes:
        """Fewer bytes than were asked for, where a part ends."""
        part, offset = divmod(start, PART_BYTES)
        length = min(length, size_of_part(file.size_bytes, part) - offset)
        return await self._offload(self._store.read, part_key(file.folder, part), offset, length)

    def whole(self, file: StoredFile, start: int, stop: int, reader: str) -> AsyncGenerator[bytes, None]:
        """From one offset to another, its parts joined."""
        return self.pieces(lambda at, limit: self.read(file, at, limit), start, stop, reader)

    async def zipped(self, layout: ZipLayout, files: Sequence[StoredFile], reader: str) -> AsyncGenerator[bytes, None]:
        """`layout`: of these files, in this order."""
        crcs: list[int] = []
        waiting = bytearray()
        """So that many small files are not as many small writes."""
        for index, file in enumerate(files):
            waiting += layout.header(index)
            crc = 0
            async with aclosing(self.whole(file, 0, file.size_bytes, reader)) as pieces:
                async for piece in pieces:
                    crc = zlib.crc32(piece, crc)
                    waiting += piece
                    if len(waiting) >= SEND_BYTES:
                        yield bytes(waiting)
                        waiting.clear()
            crcs.append(crc)
            waiting += layout.descriptor(index, crc)
        for entry in layout.directory(crcs):
            waiting += entry
            if len(waiting) >= SEND_BYTES:
                yield bytes(waiting)
                waiting.clear()
        yield bytes(waiting)
