"""Logs of real jobs: binary, endless lines, floods, a hub that is away, a disk that is full."""

import asyncio
import contextlib
import hashlib
import os
import resource
import shutil

import pytest
from support.agents import enrolled_home, running_agent
from support.fake_hub import MEGABYTE, FakeHub
from support.small_disks import small_disk

from computepool.agent.sandbox import ProcessSandbox
from computepool.protocol.receipt import EndReason

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
        yield


def fill(path):
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as ballast:
        while True:
            ballast.write(bytes(4096))


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
def test_full_disk_ends_the_attempt_and_not_the_agent(tmp_path):
    """The agent's home on a disk of two megabytes; the job's own folder is elsewhere, and not full."""

    async def run():
        async with FakeHub() as hub:
            home, _ = enrolled_home(hub, tmp_path)
            with journal_on_a_small_disk(home, tmp_path, "2m"):
                sandbox = ProcessSandbox(tmp_path / "jobs", cgroups=None)
                async with running_agent(hub, tmp_path, sandboxes=[sandbox]) as running:
                    # The hub does not take the log, so it piles up.
                    hub.acknowledge_logs = False
                    script = "import os; [os.write(1, b'x' * 65536) for _ in range(200)]; import time; time.sleep(3600)"
                    full = hub.offer(running.node, PYTHON, "-c", script)
                    await hub.until(lambda: states(running) == ["finishing"])
                    hub.acknowledge_logs = True
                    hub.drop_lines()
                    await hub.until(lambda: full in hub.receipts)
                    assert hub.receipts[full].reason is EndReason.NODE_DISK
                    assert 0 < hub.receipts[full].log_bytes <= 2 * MEGABYTE
                    # With the log gone there is room again.
                    after = hub.offer(running.node, "/bin/echo", "fine")
                    await hub.until(lambda: after in hub.receipts)
                    assert hub.receipts[after].exit_code == 0
                await sandbox.close()

    asyncio.run(run())


@pytest.mark.engine("small-disk")
def test_disk_that_is_full_from_the_start_declines_with_its_own_reason(tmp_path):
    async def run():
        async with FakeHub() as hub:
            home, _ = enrolled_home(hub, tmp_path)
            with journal_on_a_small_disk(home, tmp_path, "64k"):
                sandbox = ProcessSandbox(tmp_path / "jobs", cgroups=None)
                async with running_agent(hub, tmp_path, sandboxes=[sandbox]) as running:
                    fill(home.journal / "ballast")
                    attempt_id = hub.offer(running.node, "/bin/touch", str(tmp_path / "ran"), env={"BIG": "x" * 5000})
                    await hub.until(lambda: attempt_id in hub.receipts)
                    assert hub.receipts[attempt_id].reason is EndReason.NODE_DISK
                    assert not (tmp_path / "ran").exists()
                    (home.journal / "ballast").unlink()
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
        hub.acknowledge_logs = False
        resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 1024, hard))
        script = "import os; [os.write(1, b'x' * 65536) for _ in range(20)]; import time; time.sleep(3600)"
        attempt_id = hub.offer(running.node, PYTHON, "-c", script)
        await hub.until(lambda: states(running) == ["finishing"])
        hub.acknowledge_logs = True
        hub.drop_lines()
        await hub.until(lambda: attempt_id in hub.receipts)
        assert hub.receipts[attempt_id].reason is EndReason.NODE_DISK
        assert hub.receipts[attempt_id].log_bytes == 256 * 1024

    try:
        story(tmp_path, tell)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
