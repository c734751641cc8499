"""The log spool by itself: what is kept, where the hub goes on, and what a full disk does."""

import asyncio
import errno
import hashlib
import random

import pytest
from support.lone_supervisor import LoopClock, run_in_virtual_time

from computepool.agent.clock import SystemClock
from computepool.agent.logs import BATCH_BYTES, WINDOW_BYTES, LogSender
from computepool.agent.outgoing import Outgoing
from computepool.agent.spool import EMPTY_LOG, MARKER_BYTES, LogSpool
from computepool.protocol.messages import Heartbeat, parse_from_agent


def whole(spool, step=1000):
    data, offset = b"", 0
    while piece := spool.read(offset, step):
        data += piece
        offset += len(piece)
    return data


def test_short_log_is_kept_whole(tmp_path):
    spool = LogSpool(tmp_path / "a.log")
    for piece in (b"one\n", b"", b"two\n", bytes(range(256))):
        spool.append(piece)
    sealed = spool.seal()
    assert whole(spool) == b"one\ntwo\n" + bytes(range(256))
    assert sealed.digest == "sha256:" + hashlib.sha256(whole(spool)).hexdigest()
    assert sealed.size_bytes == spool.ready_bytes == 264


def test_empty_log_makes_no_file(tmp_path):
    spool = LogSpool(tmp_path / "a.log")
    assert spool.seal() == EMPTY_LOG
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seed", range(20))
def test_long_log_keeps_head_and_tail_and_says_what_is_missing(tmp_path, seed):
    rng = random.Random(seed)
    limit = rng.randrange(1000, 5000)
    head, tail = limit // 2, limit - limit // 2 - MARKER_BYTES
    written = rng.randbytes(rng.randrange(limit, limit * 4))
    spool = LogSpool(tmp_path / "a.log", limit_bytes=limit)
    at = 0
    while at < len(written):
        size = rng.choice([1, 7, 100, 3000, 20_000])
        spool.append(written[at : at + size])
        at += size
    sealed = spool.seal()
    dropped = max(0, len(written) - head - tail)
    marker = f"\n[computepool: {dropped} bytes of the log were dropped here]\n".encode() if dropped else b""
    expected = written[:head] + marker + written[max(head, len(written) - tail) :]
    assert whole(spool, rng.choice([1, 13, 997])) == expected
    assert sealed.digest == "sha256:" + hashlib.sha256(expected).hexdigest()
    assert sealed.size_bytes == len(expected) <= limit
    spool.close()
    # A restarted agent reads the same.
    again = LogSpool.reopen(tmp_path / "a.log", sealed, limit_bytes=limit)
    assert whole(again) == expected
    again.remove()
    assert list(tmp_path.iterdir()) == []


class Wire:
    """Plays the hub: takes what the sender gives, acknowledges what it wants."""

    def __init__(self, folder, clock=None):
        self.outgoing = Outgoing()
        self.outgoing.begin()
        self.spool = LogSpool(folder / "a.log")
        self.sender = LogSender("attempt_1", 1, self.spool, self.outgoing, clock or SystemClock())

    def write(self, data):
        self.spool.append(data)
        self.sender.wrote()

    def chunk(self):
        return self.sender.next_chunk()


def test_first_bytes_go_at_once_and_later_ones_in_batches(tmp_path):
    async def story():
        wire = Wire(tmp_path, LoopClock())
        wire.write(b"first")
        assert wire.chunk().data == b"first"
        wire.write(b"second ")
        wire.write(b"third")
        assert wire.chunk() is None
        await asyncio.sleep(0.13)
        assert wire.chunk().data == b"second third"
        wire.write(bytes(BATCH_BYTES))
        assert len(wire.chunk().data) == BATCH_BYTES
        wire.sender.close()

    run_in_virtual_time(story())


def test_unacknowledged_window_is_bounded(tmp_path):
    async def story():
        wire = Wire(tmp_path)
        wire.write(bytes(3 * WINDOW_BYTES))
        sent = 0
        while (chunk := wire.chunk()) is not None:
            assert chunk.offset == sent
            sent += len(chunk.data)
        assert sent == WINDOW_BYTES
        wire.sender.acknowledge(BATCH_BYTES)
        assert wire.chunk().offset == WINDOW_BYTES
        wire.sender.close()

    asyncio.run(story())


def test_sender_goes_on_from_where_the_hub_is(tmp_path):
    async def story():
        wire = Wire(tmp_path)
        wire.write(bytes(4 * BATCH_BYTES))
        offsets = [wire.chunk().offset for _ in range(4)]
        assert offsets == [0, BATCH_BYTES, 2 * BATCH_BYTES, 3 * BATCH_BYTES]
        wire.sender.acknowledge(BATCH_BYTES)
        # The second was lost: each chunk behind it is answered with the same offset. One of those is enough.
        wire.sender.acknowledge(BATCH_BYTES)
        assert wire.chunk().offset == BATCH_BYTES
        wire.sender.acknowledge(BATCH_BYTES)
        assert wire.chunk().offset == 2 * BATCH_BYTES
        # A hub that lost what it had already acknowledged.
        wire.sender.acknowledge(3 * BATCH_BYTES)
        wire.sender.acknowledge(10)
        assert wire.chunk().offset == 10
        # A new line: a hub that knows more than it could say on the old one.
        wire.sender.rewind()
        wire.sender.acknowledge(4 * BATCH_BYTES)
        assert wire.chunk() is None
        # Nonsense beyond the end is not believed.
        wire.sender.acknowledge(10**9)
        assert wire.sender.acked_bytes == 4 * BATCH_BYTES
        wire.sender.close()

    asyncio.run(story())


def test_outgoing_sends_reports_before_logs_and_shares_the_line_fairly(tmp_path):
    async def story():
        outgoing = Outgoing()
        outgoing.begin()
        spools = [LogSpool(tmp_path / f"{name}.log") for name in "ab"]
        senders = [LogSender(f"attempt_{n}", 1, spool, outgoing, SystemClock()) for n, spool in enumerate(spools)]
        spools[0].append(bytes(8 * BATCH_BYTES))
        senders[0].wrote()
        spools[1].append(b"a single line\n")
        senders[1].wrote()
        outgoing.put_first(Heartbeat())
        order = [parse_from_agent(await outgoing.next()) for _ in range(4)]
        assert [type(message).__name__ for message in order] == ["Heartbeat", "LogChunk", "LogChunk", "LogChunk"]
        assert [getattr(message, "attempt_id", "") for message in order[1:]] == ["attempt_0", "attempt_1", "attempt_0"]
        for sender in senders:
            sender.close()

    asyncio.run(story())


def test_log_is_never_longer_than_the_hub_takes(tmp_path):
    """A hub that takes less would end the job of whoever prints much."""
    limit = 100_000
    spool = LogSpool(tmp_path / "a.log", limit_bytes=limit)
    for _ in range(5):
        spool.append(b"x" * limit)
    assert spool.seal().size_bytes <= limit
    spool.remove()


class FullNow(LogSpool):
    """Its disk takes so many bytes more, and no other."""

    room = 10**9

    def _append_head(self, data):
        super()._append_head(data[: self.room])
        taken, self.room = min(len(data), self.room), max(0, self.room - len(data))
        if taken < len(data):
            raise OSError(errno.ENOSPC, "No space left on device")


def test_full_disk_leaves_a_gap_that_the_log_tells_of_when_there_is_room_again(tmp_path):
    spool = FullNow(tmp_path / "a.log")
    spool.append(b"before\n")
    spool.room = 3
    spool.append(b"abcdef")
    spool.append(b"lost")
    spool.room = 10**9
    spool.append(b"after\n")
    sealed = spool.seal()
    gap = b"\n[computepool: 7 bytes of the log were dropped here: the node's disk was full]\n"
    assert whole(spool) == b"before\nabc" + gap + b"after\n"
    assert sealed.digest == "sha256:" + hashlib.sha256(whole(spool)).hexdigest()


def test_gap_at_the_end_of_a_log_is_told_too(tmp_path):
    spool = FullNow(tmp_path / "a.log")
    spool.append(b"before\n")
    spool.room = 0
    spool.append(b"lost")
    sealed = spool.seal()
    assert whole(spool) == b"before\n\n[computepool: 4 bytes of the log were dropped here]\n"
    assert sealed.digest == "sha256:" + hashlib.sha256(whole(spool)).hexdigest()


def test_disk_that_fails_is_told_apart_from_one_that_is_full(tmp_path):
    class Broken(LogSpool):
        def _append_head(self, data):
            raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        Broken(tmp_path / "a.log").append(b"x")


@pytest.mark.parametrize("seed", range(10))
def test_log_can_be_cut_off_anywhere(tmp_path, seed):
    rng = random.Random(seed)
    spool = LogSpool(tmp_path / "a.log", limit_bytes=1000)
    spool.append(rng.randbytes(rng.choice([300, 800, 5000])))
    sealed = spool.seal()
    before, end = whole(spool), rng.randrange(sealed.size_bytes + 1)
    cut = spool.cut_off(end)
    assert whole(spool) == before[:end]
    assert (cut.size_bytes, spool.ready_bytes) == (end, end)
    assert cut.digest == "sha256:" + hashlib.sha256(before[:end]).hexdigest()
    again = LogSpool.reopen(tmp_path / "a.log", cut, limit_bytes=1000)
    assert whole(again) == before[:end]
    assert again.is_intact()
    again.close()
    spool.close()
