"""Files that are made while they are sent: what a reader does not take is not read, and half is not taken for whole."""

import asyncio

import pytest
from support.memory_store import MemoryStore
from support.waiting import async_eventually

from computepool.hub.artifacts.reading import PIECE_BYTES, PIECES_BYTES, SEND_BYTES, Downloads
from computepool.hub.core.bulk import BulkLane
from computepool.hub.core.streaming import FileStream
from computepool.hub.opening import offload_to_threads

SIZE = 100 * PIECE_BYTES


def new_downloads():
    return Downloads(MemoryStore(), offload_to_threads, BulkLane())


class Reading:
    """Bytes that are never all there, and who asked for which of them."""

    def __init__(self, breaks_at=SIZE):
        self.asked = []
        self.breaks_at = breaks_at

    async def __call__(self, start, limit):
        self.asked.append(limit)
        return bytes(limit) if start < self.breaks_at else b""


async def served(read, downloads, *, taken, leaves=False):
    """Answer a reader that takes so many messages of the body; returns what was sent."""
    sent, gone, stuck = [], asyncio.Event(), asyncio.Event()

    async def receive():
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)
        if len(sent) > taken:
            if leaves:
                gone.set()
            await stuck.wait()

    answer = FileStream(downloads.pieces(read, 0, SIZE, "a"), SIZE, headers={}, media_type="text/plain")
    await answer({"type": "http"}, receive, send)
    return sent


def test_reader_that_leaves_ends_the_reading():
    async def story():
        read, downloads = Reading(), new_downloads()
        sent = await served(read, downloads, taken=20, leaves=True)
        assert dict(sent[0]["headers"])[b"content-length"] == str(SIZE).encode()
        assert all(len(message["body"]) == SEND_BYTES and message["more_body"] for message in sent[1:])
        assert read.asked == [PIECE_BYTES] * 2
        assert downloads._held_bytes == 0

    asyncio.run(story())


def test_body_that_cannot_be_read_to_its_end_has_no_end():
    async def story():
        read = Reading(breaks_at=2 * PIECE_BYTES)
        with pytest.raises(EOFError):  # then the server cuts the connection
            await served(read, new_downloads(), taken=10**6)

    asyncio.run(story())


def test_many_slow_readers_hold_little_together():
    async def story():
        count = 400
        reads, downloads = [Reading() for _ in range(count)], new_downloads()
        tasks = [asyncio.create_task(served(read, downloads, taken=1)) for read in reads]
        await async_eventually(lambda: all(read.asked for read in reads), "every reader has a piece")
        assert sum(read.asked[0] for read in reads) < PIECES_BYTES + count * SEND_BYTES
        assert all(len(read.asked) == 1 for read in reads)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert downloads._held_bytes == 0

    asyncio.run(story())
