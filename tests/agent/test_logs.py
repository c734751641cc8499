"""Logs of real jobs: binary, endless lines, floods, a hub that is away, a disk that is full."""

import asyncio
import contextlib
import hashlib
import os
import random
import resource
import shutil

import pytest
from support.agents import enrolled_home, running_agent
from support.fake_hub import MEGABYTE, FakeHub
from support.small_disks import small_disk
from support.small_hub import HandClock

from computepool.agent import logs as agent_logs
from computepool.agent.clock import SystemClock
from computepool.agent.logs import LogSender
from computepool.agent.outgoing import Outgoing
from computepool.agent.sandbox import ProcessSandbox
from computepool.agent.spool import LogSpool
from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.local import LocalStore
from computepool.hub.artifacts.logs import LogStore
from computepool.hub.jobs.policy import VERDICT_OF_REASON
from computepool.hub.opening import offload_to_threads
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import Verdict

PYTHON = "/usr/bin/python3"


def story(tmp_path, tell, **options):
    async def run():
        async with FakeHub() as hub, running_agent(hub, tmp_path, **options) as running:
            await tell(hub, running)

    asyncio.run(run())


@contextlib.contextmanager
def journal_on_a_small_disk(home, tmp_path, size):
    with small_disk(tmp_path / "disk", size) as disk:
        shutil.copytree(home.journal, disk.path, dirs_exist_ok=True)
        shutil.rmtree(home.journal)
        home.journal.symlink_to(disk.path)
        yield disk


def fill(path, piece=bytes(4096), mode="wb"):
    with contextlib.suppress(OSError), path.open(mode, buffering=0) as ballast:
        while True:
            ballast.write(piece)


def states(running):
    return [attempt["state"] for attempt in running.agent.status()["attempts"]]


def test_binary_output_arrives_byte_for_byte(tmp_path):
    data = os.urandom(300_000) + bytes(range(256)) * 10
    (tmp_path / "data").write_bytes(data)

    async def tell(hub, running):
        attempt_id = hub.offer(running.node, "/bin/cat", str(tmp_path / "data"))
        await hub.until(lambda: attempt_id in hub.receipts)
        assert bytes(hub.logs[attempt_id]) == data

    story(tmp_path, tell)


@pytest.mark.engine("system-python")
def test_line_of_ten_megabytes_does_not_hold_up_a_neighbour(tmp_path):
    async def tell(hub, running):
        script = "import sys; sys.stdout.write('x' * 10_000_000)"
        long = hub.offer(running.node, PYTHON, "-c", script)
        neighbour = hub.offer(running.node, "/bin/sh", "-c", "echo quick")
        await hub.until(lambda: neighbour in hub.receipts)
        await hub.until(lambda: long in hub.receipts)
        assert bytes(hub.logs[long]) == b"x" * 10_000_000

    story(tmp_path, tell)


def test_flood_is_throttled_and_keeps_its_head_and_tail(tmp_path):
    async def tell(hub, running):
        flood = "i=0; while [ $i -lt 60000 ]; do echo line-$i; i=$((i+1)); done"
        attempt_id = hub.offer(running.node, "/bin/sh", "-c", flood)
        await hub.until(lambda: attempt_id in hub.receipts)
        log = bytes(hub.logs[attempt_id])
        assert len(log) <= 100_000
        assert log.startswith(b"line-0\nline-1\n")
        assert log.endswith(b"line-59998\nline-59999\n")
        assert b"bytes of the log were dropped here]\n" in log

    story(tmp_path, tell, log_limit_bytes=100_000)


@pytest.mark.engine("system-python")
def test_hub_away_in_the_middle_costs_no_byte(tmp_path):
    async def tell(hub, running):
        script = "import time\nfor i in range(60): print(i, 'x' * 2000, flush=True); time.sleep(0.02)"
        attempt_id = hub.offer(running.node, PYTHON, "-c", script)
        await hub.until(lambda: hub.logs[attempt_id])
        for _ in range(2):
            await hub.go_away()
            await asyncio.sleep(0.4)
            await hub.start()
            before = len(hub.logs[attempt_id])
            await hub.until(lambda: len(hub.logs[attempt_id]) > before or attempt_id in hub.receipts)  # noqa: B023
        await hub.until(lambda: attempt_id in hub.receipts)
        expected = "".join(f"{i} {'x' * 2000}\n" for i in range(60)).encode()
        assert bytes(hub.logs[attempt_id]) == expected
        assert hub.receipts[attempt_id].log_digest == "sha256:" + hashlib.sha256(expected).hexdigest()

    story(tmp_path, tell)


def test_finished_waits_until_the_whole_log_is_acknowledged(tmp_path):
    async def tell(hub, running):
        hub.acknowledge_logs = False
        attempt_id = hub.offer(running.node, "/bin/echo", "hello")
        await hub.until(lambda: hub.logs[attempt_id])
        await asyncio.sleep(0.3)
        assert attempt_id not in hub.receipts
        hub.acknowledge_logs = True
        hub.drop_lines()
        await hub.until(lambda: attempt_id in hub.receipts)

    story(tmp_path, tell)


def test_first_line_arrives_while_the_job_runs(tmp_path):
    async def tell(hub, running):
        attempt_id = hub.offer(running.node, "/bin/sh", "-c", "echo now; sleep 3600")
        await hub.until(lambda: hub.logs[attempt_id])
        assert attempt_id not in hub.receipts
        hub.stop(running.node, attempt_id, grace_seconds=0)
        await hub.until(lambda: attempt_id in hub.receipts)

    story(tmp_path, tell)


@pytest.mark.engine("system-python")
@pytest.mark.engine("small-disk")
def test_full_disk_costs_a_piece_of_the_log_and_nobody_is_blamed(tmp_path):
    """The agent's home on a disk of two megabytes; the job's own folder is elsewhere, and not full. The job's own log
    filled it, and the node was blamed."""

    async def run():
        async with FakeHub() as hub:
            home, _ = enrolled_home(hub, tmp_path)
            with journal_on_a_small_disk(home, tmp_path, "2m"):
                sandbox = ProcessSandbox(tmp_path / "jobs", cgroups=None)
                async with running_agent(hub, tmp_path, sandboxes=[sandbox]) as running:
                    script = "import os; [os.write(1, b'x' * 65536) for _ in range(200)]"
                    full = hub.offer(running.node, PYTHON, "-c", script)
                    await hub.until(lambda: full in hub.receipts)
                    receipt = hub.receipts[full]
                    assert (receipt.reason, receipt.exit_code) == (EndReason.EXITED, 0)
                    assert MEGABYTE < receipt.log_bytes <= 2 * MEGABYTE
                    assert b"bytes of the log were dropped here" in hub.logs[full]
                    # With the log gone there is room again.
                    after = hub.offer(running.node, "/bin/echo", "fine")
                    await hub.until(lambda: after in hub.receipts)
                    assert (hub.receipts[after].exit_code, bytes(hub.logs[after])) == (0, b"fine\n")
                await sandbox.close()

    asyncio.run(run())


@pytest.mark.engine("system-python")
@pytest.mark.engine("small-disk")
@pytest.mark.parametrize("is_filled_by_a_log", [True, False])
def test_disk_that_a_neighbours_log_filled_is_not_the_nodes_fault(tmp_path, is_filled_by_a_log):
    """No grant counts logs: 24 MB of one on a disk of 36 MB blamed the node for every other job that failed there."""

    async def run():
        async with FakeHub() as hub:
            home, _ = enrolled_home(hub, tmp_path)
            with journal_on_a_small_disk(home, tmp_path, "36m") as disk:
                sandbox = ProcessSandbox(disk.path / "jobs", cgroups=None)
                async with running_agent(hub, tmp_path, sandboxes=[sandbox]) as running:
                    hub.acknowledge_logs = False
                    if is_filled_by_a_log:
                        flood = "import os, time; [os.write(1, bytes(65536)) for _ in range(384)]; time.sleep(3600)"
                        hub.offer(running.node, PYTHON, "-c", flood)
                        (neighbour,) = await started(hub, running)
                        await hub.until(lambda: neighbour.spool.stored_bytes == 384 * 65536)
                    else:
                        (disk.path / "ballast").write_bytes(bytes(384 * 65536))
                    failed = hub.offer(running.node, "/bin/sh", "-c", "exit 1")
                    await hub.until(lambda: failed in hub.receipts)
                    reason = hub.receipts[failed].reason
                    assert reason is (EndReason.UNREACHABLE if is_filled_by_a_log else EndReason.NODE_DISK)
                    assert VERDICT_OF_REASON[reason] is (Verdict.HUB if is_filled_by_a_log else Verdict.HOST)
                await sandbox.close()

    asyncio.run(run())


async def started(hub, running):
    await hub.until(lambda: running.agent.supervisor.attempts)
    return running.agent.supervisor.attempts


class LossyLine:
    """Between a sender and the hub's real store: chunks and acknowledgements wait, and are lost with the line."""

    def __init__(self, sender, logs, rng):
        self._sender, self._logs, self._rng = sender, logs, rng
        self._chunks, self._acks = [], []

    def send(self):
        chunk = self._sender.next_chunk()
        self._chunks += [chunk] if chunk is not None else []

    async def hear(self):
        if self._chunks:
            chunk = self._chunks.pop(0)
            self._acks.append(await self._logs.append(chunk.attempt_id, chunk.offset, chunk.data))

    async def acknowledge(self):
        if self._acks:
            self._sender.acknowledge(self._acks.pop(0))

    async def drop(self):
        for _ in range(self._rng.randrange(len(self._chunks) + 1)):
            await self.hear()
        self._chunks, self._acks = [], []
        self._sender.rewind()


async def cut_off_on_a_lossy_line(folder, seed):
    """The log as the receipt tells it, and as the hub has it."""
    rng = random.Random(seed)
    spool = LogSpool(folder / "a.log", limit_bytes=40_000)
    spool.append(rng.randbytes(rng.choice([10_000, 30_000, 60_000])))
    spool.seal()
    sender = LogSender("attempt_a", 1, spool, Outgoing(), SystemClock())
    logs = LogStore(LocalStore(folder / "store", BlobSigner(bytes(32), HandClock())), offload_to_threads, MEGABYTE)
    line = LossyLine(sender, logs, rng)
    for _ in range(rng.randrange(1, 40)):
        step = rng.choice([line.send, line.send, line.hear, line.hear, line.acknowledge, line.drop])
        result = step()
        if result is not None:
            await result
    cutting = asyncio.ensure_future(sender.cut_off())
    await asyncio.sleep(0)
    for _ in range(1000):
        if cutting.done():
            break
        line.send()
        await line.hear()
        await line.acknowledge()
        await asyncio.sleep(0)
    sealed = spool.cut_off(await cutting)
    sender.close()
    spool.close()
    return (sealed.size_bytes, sealed.digest), (await logs.size("attempt_a"), await logs.digest("attempt_a"))


SEEDS = range(25)


def test_hub_has_the_log_that_the_receipt_tells_of_wherever_it_is_cut_off(tmp_path, monkeypatch):
    """After a line broke, the hub could have more of a log than the agent said, and the host was blamed."""
    monkeypatch.setattr(agent_logs, "BATCH_BYTES", 2_000)
    for seed in SEEDS:
        (tmp_path / str(seed)).mkdir()
        told, stored = asyncio.run(cut_off_on_a_lossy_line(tmp_path / str(seed), seed))
        assert told == stored, f"seed {seed}"


def test_cut_that_forgets_what_a_broken_line_had_sent_is_found(tmp_path, monkeypatch):
    rewind = LogSender.rewind

    def careless(self):
        rewind(self)
        self._furthest_sent = self._sent

    monkeypatch.setattr(LogSender, "rewind", careless)
    with pytest.raises(AssertionError, match="seed"):
        test_hub_has_the_log_that_the_receipt_tells_of_wherever_it_is_cut_off(tmp_path, monkeypatch)


@pytest.mark.engine("small-disk")
def test_disk_that_is_full_for_a_moment_declines_and_the_end_is_written_later(tmp_path):
    """Another job's log may have filled it: that blamed the node."""

    async def run():
        async with FakeHub() as hub:
            home, _ = enrolled_home(hub, tmp_path)
            with journal_on_a_small_disk(home, tmp_path, "64k"):
                sandbox = ProcessSandbox(tmp_path / "jobs", cgroups=None)
                async with running_agent(hub, tmp_path, sandboxes=[sandbox]) as running:
                    hub.acknowledge_reports = False
                    ends = hub.offer(running.node, "/bin/sh", "-c", f"until [ -e {tmp_path}/go ]; do sleep 0.05; done")
                    await hub.until(lambda: hub.updates[ends])
                    fill(home.journal / "ballast")
                    declined = hub.offer(running.node, "/bin/touch", str(tmp_path / "ran"), env={"BIG": "x" * 5000})
                    supervisor = running.agent.supervisor
                    await hub.until(lambda: [attempt for attempt in supervisor.attempts if attempt.over_at])
                    fill(home.journal / "journal", b"\n", "ab")  # the rest of its last block
                    (tmp_path / "go").touch()
                    await hub.until(lambda: all(attempt.over_at for attempt in supervisor.attempts))
                    first = next(attempt for attempt in supervisor.attempts if attempt.id == ends)
                    assert first.unwritten
                    (home.journal / "ballast").unlink()
                    supervisor.tick()
                    assert not first.unwritten
                    hub.acknowledge_reports = True
                    hub.drop_lines()
                    await hub.until(lambda: {ends, declined} <= set(hub.receipts))
                    assert hub.receipts[declined].reason is EndReason.DECLINED
                    assert not (tmp_path / "ran").exists()
                    after = hub.offer(running.node, "/bin/true")
                    await hub.until(lambda: after in hub.receipts)
                    assert hub.receipts[after].exit_code == 0
                await sandbox.close()

    asyncio.run(run())


@pytest.mark.engine("system-python")
def test_file_size_limit_on_the_spool_is_treated_like_a_full_disk(tmp_path):
    """Works without root: the agent may write no file above 256 KiB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    async def tell(hub, running):
        resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 1024, hard))
        script = "import os; [os.write(1, b'x' * 65536) for _ in range(20)]"
        attempt_id = hub.offer(running.node, PYTHON, "-c", script)
        await hub.until(lambda: attempt_id in hub.receipts)
        assert hub.receipts[attempt_id].exit_code == 0
        line = b"\n[computepool: 1048576 bytes of the log were dropped here]\n"
        assert bytes(hub.logs[attempt_id]) == b"x" * 256 * 1024 + line

    try:
        story(tmp_path, tell)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
