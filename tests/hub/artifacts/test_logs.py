"""Logs: durable chunks with offsets, on local disk and on a real S3."""

import asyncio
import hashlib
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from support.waiting import patience

from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.local import LocalStore
from computepool.hub.artifacts.log_segments import SMALL_LIMIT
from computepool.hub.artifacts.log_state import TAIL_BYTES
from computepool.hub.artifacts.logs import LogGap, LogLimit, LogStore
from computepool.hub.artifacts.store import Store, StoreError
from computepool.hub.opening import offload_to_threads

LIMIT = 1024**2
A, B = "attempt_a", "attempt_b"


def new_logs(store: Store, limit_bytes: int = LIMIT) -> LogStore:
    return LogStore(store, offload_to_threads, limit_bytes)


async def whole(logs: LogStore, attempt_id: str = A, step: int = 100_000) -> bytes:
    data = b""
    while more := await logs.read(attempt_id, len(data), step):
        data += more
    return data


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class Counting:
    """A store that counts what it is asked, and can hold or break a put."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.puts: list[str] = []
        self.reads = 0
        self.lists = 0
        self.gate: threading.Event | None = None
        self.putting = threading.Event()
        self.breaks = 0

    def put(self, key, data):
        self.puts.append(key)
        if self.gate is not None:
            self.putting.set()
            self.gate.wait(patience())
        if self.breaks:
            self.breaks -= 1
            raise StoreError("the store is away")
        self._store.put(key, data)

    def read(self, key, start, length):
        self.reads += 1
        return self._store.read(key, start, length)

    def list(self, prefix):
        self.lists += 1
        return self._store.list(prefix)

    def __getattr__(self, name):
        return getattr(self._store, name)


def run(story: Callable) -> None:
    asyncio.run(story())


def test_an_acknowledged_chunk_survives_a_restart(store: Store):
    async def story():
        assert await new_logs(store).append(A, 0, b"line 1\n") == 7
        assert await new_logs(store).append(A, 7, b"line 2\n") == 14
        logs = new_logs(store)
        assert await whole(logs) == b"line 1\nline 2\n"
        assert await logs.size(A) == 14
        assert await logs.digest(A) == digest_of(b"line 1\nline 2\n")

    run(story)


def test_a_repeated_or_overlapping_chunk_adds_only_what_is_new(store: Store):
    async def story():
        logs = new_logs(store)
        assert await logs.append(A, 0, b"0123") == 4
        assert await logs.append(A, 0, b"0123") == 4
        assert await logs.append(A, 1, b"12") == 4
        assert await logs.append(A, 2, b"2345") == 6
        assert await logs.append(A, 6, b"") == 6
        assert await whole(logs) == b"012345"
        assert len(store.list(f"logs/{A}/")) == 2

    run(story)


def test_a_gap_is_refused_and_says_where_to_go_on(store: Store):
    async def story():
        logs = new_logs(store)
        with pytest.raises(LogGap) as gap:
            await logs.append(A, 5, b"later")
        assert gap.value.expected == 0
        await logs.append(A, 0, b"0123")
        with pytest.raises(LogGap) as gap:
            await logs.append(A, 5, b"later")
        assert gap.value.expected == 4
        assert await whole(logs) == b"0123"

    run(story)


def test_more_than_the_limit_is_refused_whole(local_store: LocalStore):
    async def story():
        logs = new_logs(local_store, limit_bytes=10)
        await logs.append(A, 0, b"01234567")
        with pytest.raises(LogLimit):
            await logs.append(A, 8, b"890")
        assert await logs.append(A, 8, b"89") == 10
        with pytest.raises(LogLimit):
            await logs.append(A, 10, b"x")
        assert await logs.append(A, 0, b"01234567") == 10
        assert await whole(logs) == b"0123456789"

    run(story)


def test_attempts_do_not_see_each_other(store: Store):
    async def story():
        logs = new_logs(store)
        await asyncio.gather(logs.append(A, 0, b"of a"), logs.append(B, 0, b"of b"))
        await logs.seal(A)
        assert (await whole(logs, A), await whole(logs, B)) == (b"of a", b"of b")
        assert await whole(logs, "attempt_c") == b""

    run(story)


def test_chunks_that_wait_share_one_object(local_store: LocalStore):
    async def story():
        store = Counting(local_store)
        store.gate = threading.Event()
        logs = new_logs(store)
        chunks = [logs.append(A, offset, b"x") for offset in range(100)]
        waiting = asyncio.gather(*chunks)
        await asyncio.sleep(0.05)
        store.gate.set()
        ends = await waiting
        assert ends == [100] * 100
        assert len(store.puts) == 1, "all of them waited before the first was written"
        assert await whole(logs) == b"x" * 100

    run(story)


def test_a_slow_attempt_does_not_hold_another(local_store: LocalStore):
    async def story():
        slow = Counting(local_store)
        logs = new_logs(slow)
        await logs.append(B, 0, b"b")
        slow.gate = threading.Event()
        held = asyncio.create_task(logs.append(A, 0, b"a"))
        await asyncio.to_thread(slow.putting.wait, patience())
        gate, slow.gate = slow.gate, None
        assert await logs.append(B, 1, b"b") == 2
        assert not held.done()
        gate.set()
        assert await held == 1

    run(story)


def test_no_more_than_a_little_waits_in_memory(local_store: LocalStore):
    async def story():
        store = Counting(local_store)
        store.gate = threading.Event()
        logs = new_logs(store, limit_bytes=10**9)
        chunk = b"x" * 256 * 1024
        tasks = [asyncio.create_task(logs.append(A, number * len(chunk), chunk)) for number in range(64)]
        await asyncio.to_thread(store.putting.wait, patience())
        assert logs._logs[A].pending_bytes <= 4 * 1024**2 + len(chunk)
        store.gate.set()
        await asyncio.gather(*tasks)
        assert await logs.size(A) == 64 * len(chunk)

    run(story)


def test_a_failed_put_is_told_and_the_chunk_can_be_sent_again(local_store: LocalStore):
    async def story():
        store = Counting(local_store)
        logs = new_logs(store)
        await logs.append(A, 0, b"0123")
        store.breaks = 1
        with pytest.raises(StoreError, match="away"):
            await logs.append(A, 4, b"4567")
        assert await logs.size(A) == 4
        assert await logs.append(A, 4, b"45") == 6
        assert await logs.append(A, 4, b"4567") == 8
        assert await whole(logs) == b"01234567"
        assert await logs.digest(A) == digest_of(b"01234567")

    run(story)


def test_a_put_that_was_said_to_have_failed_but_had_not_harms_nothing(local_store: LocalStore):
    """S3 may have stored what it did not answer."""

    async def story():
        logs = new_logs(local_store)
        await logs.append(A, 0, b"0123")
        local_store.put(f"logs/{A}/{4:016d}-{10:016d}", b"456789")
        assert await logs.append(A, 4, b"45") == 6
        assert await logs.append(A, 6, b"6789ab") == 12
        again = new_logs(local_store)
        assert await whole(again) == b"0123456789ab"
        await again.seal(A)
        assert await whole(again) == b"0123456789ab"
        assert len(local_store.list(f"logs/{A}/")) == 1

    run(story)


def test_a_caller_that_goes_away_breaks_nothing(local_store: LocalStore):
    async def story():
        store = Counting(local_store)
        store.gate = threading.Event()
        logs = new_logs(store)
        gone = asyncio.create_task(logs.append(A, 0, b"0123"))
        await asyncio.to_thread(store.putting.wait, patience())
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        second = asyncio.create_task(logs.append(A, 0, b"01"))
        await asyncio.sleep(0.02)
        assert len(store.puts) == 1, "the first put is still under way"
        store.gate.set()
        assert await second == 4
        assert await whole(logs) == b"0123"

    run(story)


def test_a_seal_whose_caller_goes_away_is_still_done_alone(local_store: LocalStore):
    async def story():
        store = Counting(local_store)
        logs = new_logs(store)
        for number in range(3):
            await logs.append(A, number, b"x")
        store.gate = threading.Event()
        gone = asyncio.create_task(logs.seal(A))
        await asyncio.to_thread(store.putting.wait, patience())
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        waiting = asyncio.create_task(logs.append(A, 3, b"y"))
        await asyncio.sleep(0.02)
        assert len(store.puts) == 4, "nobody writes while the seal is under way"
        store.gate.set()
        assert await waiting == 4
        assert [entry.size_bytes for entry in local_store.list(f"logs/{A}/")] == [3, 1]
        assert await whole(logs) == b"xxxy"

    run(story)


def test_sealing_makes_one_object_of_many(store: Store):
    async def story():
        logs = new_logs(store)
        data = b""
        for number in range(10):
            line = b"line %d\n" % number
            await logs.append(A, len(data), line)
            data += line
        await logs.seal(A)
        assert len(store.list(f"logs/{A}/")) == 1
        assert await whole(logs) == data
        await logs.seal(A)
        logs.forget(A)
        again = new_logs(store)
        assert (await whole(again), await again.digest(A)) == (data, digest_of(data))
        assert await again.append(A, len(data), b"late") == len(data) + 4
        await again.seal(A)
        assert await whole(new_logs(store)) == data + b"late"

    run(story)


def test_sealing_a_single_segment_rewrites_nothing(local_store: LocalStore):
    async def story():
        store = Counting(local_store)
        logs = new_logs(store)
        await logs.append(A, 0, b"only")
        await logs.seal(A)
        await logs.seal(B)
        assert len(store.puts) == 1

    run(story)


@pytest.mark.parametrize("deleted", [(), (0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
def test_a_seal_that_was_cut_off_is_finished_by_the_next(local_store: LocalStore, deleted):
    """The sealed object is there; any of the segments that it covers may still be."""

    async def story():
        logs = new_logs(local_store)
        for number in range(3):
            await logs.append(A, number * 4, b"%d..\n" % number)
        keys = [entry.key for entry in local_store.list(f"logs/{A}/")]
        local_store.put(f"logs/{A}/{0:016d}-{12:016d}", b"0..\n1..\n2..\n")
        local_store.delete(*[keys[number] for number in deleted])
        again = new_logs(local_store)
        assert await whole(again) == b"0..\n1..\n2..\n"
        assert await again.append(A, 12, b"3") == 13
        await again.seal(A)
        assert [entry.size_bytes for entry in local_store.list(f"logs/{A}/")] == [13]
        assert await whole(again) == b"0..\n1..\n2..\n3"

    run(story)


def test_many_small_chunks_do_not_become_many_objects(local_store: LocalStore):
    async def story():
        logs = new_logs(local_store)
        data = b""
        for number in range(5 * SMALL_LIMIT):
            line = b"%06d\n" % number
            data += line
            await logs.append(A, len(data) - len(line), line)
        assert len(local_store.list(f"logs/{A}/")) <= SMALL_LIMIT + 1
        assert await whole(logs) == data
        assert await whole(new_logs(local_store)) == data
        assert await new_logs(local_store).digest(A) == digest_of(data)

    run(story)


def test_a_reader_between_merge_and_delete_finds_its_bytes(local_store: LocalStore):
    async def story():
        logs = new_logs(local_store)
        data = bytes(range(256)) * 20
        for start in range(0, len(data), 16):
            await logs.append(A, start, data[start : start + 16])
        reads = [asyncio.create_task(whole(logs, step=7)) for _ in range(3)]
        await logs.seal(A)
        assert await asyncio.gather(*reads) == [data] * 3

    run(story)


def test_a_watcher_is_woken_by_bytes_and_needs_no_disk_for_them(local_store: LocalStore):
    async def story():
        store = Counting(local_store)
        logs = new_logs(store)
        await logs.append(A, 0, b"before\n")
        with logs.subscribe(A) as reader:
            assert await reader.wait(after=0) == 7
            waiting = asyncio.create_task(reader.wait(after=7))
            await asyncio.sleep(0.01)
            assert not waiting.done()
            await logs.append(A, 7, b"live\n")
            assert await waiting == 12
            reads = store.reads
            assert await logs.read(A, 7, 100) == b"live\n"
            assert store.reads == reads
            assert await logs.read(A, 0, 100) == b"before\nlive\n"
            await logs.append(A, 12, b"y" * 3 * TAIL_BYTES)
            assert len(logs._logs[A].tail) == TAIL_BYTES
            assert await logs.read(A, 12, 10) == b"y" * 10
        assert not logs._logs[A].tail

    run(story)


def test_a_watcher_may_come_before_the_first_byte_and_stay_over_a_forget(local_store: LocalStore):
    async def story():
        logs = new_logs(local_store)
        with logs.subscribe(A) as reader:
            waiting = asyncio.create_task(reader.wait(after=0))
            await asyncio.sleep(0.01)
            await logs.append(A, 0, b"x")
            assert await waiting == 1
            logs.forget(A)
            waiting = asyncio.create_task(reader.wait(after=1))
            await logs.append(A, 1, b"y")
            assert await waiting == 2

    run(story)


def test_nothing_stays_in_memory_of_what_is_over(local_store: LocalStore):
    async def story():
        logs = new_logs(local_store)
        for number in range(20):
            await logs.append(f"attempt_{number}", 0, b"x")
            await logs.seal(f"attempt_{number}")
            logs.forget(f"attempt_{number}")
            await logs.read(f"attempt_{number}", 0)
            await logs.size("attempt_never")
        assert not logs._logs
        assert not logs._tasks

    run(story)


def test_a_new_attempt_is_not_looked_for(local_store: LocalStore):
    async def story():
        store = Counting(local_store)
        logs = new_logs(store)
        logs.begin(A)
        await logs.append(A, 0, b"x")
        assert store.lists == 0

    run(story)


def test_a_long_line_and_binary_bytes_are_only_bytes(store: Store):
    async def story():
        logs = new_logs(store, limit_bytes=64 * 1024**2)
        data = bytes(range(256)) * 40 * 1024  # 10 MB without regard to lines
        for start in range(0, len(data), 256 * 1024):
            await logs.append(A, start, data[start : start + 256 * 1024])
        assert await logs.digest(A) == digest_of(data)
        await logs.seal(A)
        assert await whole(new_logs(store), step=4 * 1024**2) == data

    run(story)


def test_a_damaged_object_is_a_gap_not_wrong_bytes(tmp_path: Path, signer: BlobSigner):
    async def story():
        store = LocalStore(tmp_path, signer)
        logs = new_logs(store)
        await logs.append(A, 0, b"0123")
        await logs.append(A, 4, b"4567")
        (tmp_path / "logs" / A / f"{4:016d}-{8:016d}-0").write_bytes(b"45")
        assert await whole(new_logs(store)) == b"0123"

    run(story)
