"""Deleted files that lie in a socket, where no list of open files shows them: a job's disk is counted all the same."""

import asyncio
import os
import subprocess
import sys

import pytest

from computepool.agent.sandbox import Limits
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
    assert deleted_bytes_held_by([sender.pid], tmp_path.stat().st_dev) == 0
    assert files_in_flight([sender.pid]) == 3
    take_out(sender)
    assert files_in_flight([sender.pid]) == 0


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
