"""Deleted files that lie in a socket, where no list of open files shows them: a job's disk is counted all the same."""

import asyncio
import os
import subprocess
import sys

import pytest

from computepool.agent.pieces import run_through
from computepool.agent.sandbox import Limits, proctree
from computepool.agent.sandbox.proctree import deleted_bytes_held_by, files_in_flight
from computepool.agent.sandbox.watchdog import HIDDEN_LOOKS, Watchdog

MEGABYTE = 1 << 20
LIMITS = Limits(cpus=1.0, memory_bytes=96 * MEGABYTE, pids=40, disk_bytes=4 * MEGABYTE)
SEND = """
import os, socket, sys
here, there = socket.socketpair()
for n in range(3):
    file = os.open("hidden", os.O_RDWR | os.O_CREAT)
    os.unlink("hidden")
    os.write(file, bytes(1 << 20))
    socket.send_fds(here, [b"x"], [file])
    os.close(file)
print("sent", flush=True)
sys.stdin.readline()
for n in range(3):
    for file in socket.recv_fds(there, 1, 1)[1]:
        os.close(file)
print("taken", flush=True)
sys.stdin.readline()
"""

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/fdinfo"), reason="/proc: this machine has none")  # noqa: PTH110


@pytest.fixture
def sender(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-I", "-c", SEND], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "sent\n"
        yield child
        child.kill()


def take_out(child):
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline() == "taken\n"


def test_files_in_a_socket_are_seen_and_no_longer_when_they_are_taken_out(sender, tmp_path):
    assert run_through(deleted_bytes_held_by([sender.pid], tmp_path.stat().st_dev)) == 0
    assert run_through(files_in_flight([sender.pid])) == 3
    take_out(sender)
    assert run_through(files_in_flight([sender.pid])) == 0


def looks(sender, tmp_path, lost_bytes):
    """What a watchdog says, look by look, when the disk has lost so much since the job began."""
    root = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    left = [100 * MEGABYTE]
    watchdog = Watchdog(root=root, limits=LIMITS, pids=lambda: [sender.pid], soft=False, free_bytes=lambda _: left[0])

    async def story():
        task = asyncio.create_task(watchdog.run())
        await asyncio.sleep(0)
        task.cancel()
        left[0] -= lost_bytes
        return [await watchdog._is_over_disk() for _ in range(HIDDEN_LOOKS)]

    try:
        return asyncio.run(story())
    finally:
        os.close(root)


def test_job_that_hides_more_than_its_disk_is_over_it(sender, tmp_path):
    assert looks(sender, tmp_path, 5 * MEGABYTE) == [False] * (HIDDEN_LOOKS - 1) + [True]


def test_files_that_are_merely_passed_on_are_no_offence(sender, tmp_path):
    assert not any(looks(sender, tmp_path, 3 * MEGABYTE))


def test_disk_that_others_fill_is_not_the_jobs_doing(sender, tmp_path):
    take_out(sender)
    assert not any(looks(sender, tmp_path, 50 * MEGABYTE))


STORM = """
import os, sys
for _ in range(3000):
    os.dup(0)
print("open", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def storm(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-I", "-c", STORM], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        yield child
        child.kill()


def test_storm_of_descriptors_does_not_hold_the_event_loop(storm, tmp_path):
    """Each look went through all of them at once: with many processes no heartbeat was sent for minutes."""
    root = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    watchdog = Watchdog(root=root, limits=LIMITS, pids=lambda: [storm.pid] * 4, soft=False)

    async def story():
        turns = 0
        looking = asyncio.ensure_future(watchdog._is_over_disk())
        while not looking.done():
            turns += 1
            await asyncio.sleep(0)
        return turns, await looking

    try:
        turns, is_over = asyncio.run(story())
    finally:
        os.close(root)
    assert not is_over
    assert turns > 5, "12,000 open files are looked at in small pieces"


def test_job_with_more_open_files_than_can_be_looked_at_is_ended(storm, tmp_path, monkeypatch):
    monkeypatch.setattr(proctree, "MAX_LOOKED_AT", 2_000)
    with pytest.raises(proctree.TooManyOpen):
        run_through(deleted_bytes_held_by([storm.pid], tmp_path.stat().st_dev))
    root = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        watchdog = Watchdog(root=root, limits=LIMITS, pids=lambda: [storm.pid], soft=False)
        assert asyncio.run(watchdog._is_over_disk())
        monkeypatch.setattr(proctree, "MAX_LOOKED_AT", 200_000)
        assert not asyncio.run(watchdog._is_over_disk())
    finally:
        os.close(root)
