"""Limits hold, and say which one it was. Every probe has a control that stays within the limit."""

import asyncio
import json
import os
import time
from dataclasses import replace

import pytest
from support import disk_limits, engines
from support.ordinary_user import run_as_ordinary_user
from support.sandboxes import ROOMY, processes_with, read_all
from support.waiting import async_eventually

from computepool.agent.sandbox.cgroup import CgroupV2

MEGABYTE = 1 << 20

# Holds so many megabytes for so many seconds. Not with the sleep at its end: the shell would become it, and let go.
HOLD = "x=$(head -c $((%d << 20)) /dev/zero | tr '\\0' a); sleep %s; :"


def test_memory_is_bounded(every):
    limits = replace(ROOMY, memory_bytes=96 * MEGABYTE)
    ended, output = every.shell(HOLD % (20, 0), limits=limits)
    assert (ended.code, ended.reason) == (0, "exited"), output
    ended, output = every.shell(HOLD % (200, 3600), limits=limits)
    assert ended.reason == "memory", (ended, output)
    assert ended.code == 137


def test_memory_of_many_processes_is_counted_together(every):
    limits = replace(ROOMY, memory_bytes=96 * MEGABYTE)
    # Some kernels kill one process of the group, some all; a job that goes on and fails is as good.
    script = f"(({HOLD % (30, 3600)}) || touch killed) & " * 5 + "while [ ! -e killed ]; do sleep 0.1; done; exit 9"
    ended, _ = every.shell(script, limits=limits)
    assert ended.reason == "memory", ended


def test_memory_files_count_as_memory(isolated):
    limits = replace(ROOMY, memory_bytes=64 * MEGABYTE)
    ended, output = isolated.shell("head -c 10000000 /dev/zero > /tmp/a && echo fine", limits=limits)
    assert (ended.code, output) == (0, "fine\n")
    fill = "head -c 31000000 /dev/zero > /tmp/a; head -c 31000000 /dev/zero > /dev/shm/b"
    script = f"{fill}; {HOLD % (20, 3600)}; echo here"
    ended, output = isolated.shell(script, limits=limits)
    assert "here" not in output
    assert ended.reason == "memory", (ended, output)


def test_places_in_memory_are_bounded_themselves(isolated):
    limits = replace(ROOMY, memory_bytes=64 * MEGABYTE)
    for place in ("/tmp", "/dev/shm"):
        ended, output = isolated.shell(f"head -c 50000000 /dev/zero > {place}/big", limits=limits)
        assert ended.code != 0
        assert "No space left" in output or ended.reason == "memory", (place, output)


FORKS = "i=0; while [ $i -lt %d ]; do sleep 3600 & i=$((i+1)); done; echo all of them"


def test_fork_bomb_is_bounded(isolated):
    limits = replace(ROOMY, pids=30)
    ended, output = isolated.shell(FORKS % 20, limits=limits)
    assert (ended.code, output) == (0, "all of them\n")
    ended, output = isolated.shell(FORKS % 60, limits=limits)
    assert "all of them" not in output
    assert "fork" in output.lower()


def test_fork_bomb_of_a_plain_process_is_bounded(plain):
    limits = replace(ROOMY, pids=30)
    assert plain.shell(FORKS % 20, limits=limits)[0].code == 0
    mark = f"35{time.time_ns() % 10**7}"
    ended, output = plain.shell(f"i=0; while [ $i -lt 60 ]; do sleep {mark} & i=$((i+1)); done; wait", limits=limits)
    assert ended.reason == "pids" or "fork" in output.lower(), (ended, output)
    assert processes_with(mark) == []


def test_big_file_is_stopped_at_the_disk_limit(every):
    disk_limits.big_file_is_stopped(every)


def test_many_files_are_stopped_at_the_disk_limit(every):
    disk_limits.many_files_are_stopped(every)


def test_deleted_files_that_are_still_open_count(every):
    disk_limits.deleted_files_that_are_still_open_count(every)


# Not by Python's own mmap, which keeps the file open.
MAP_AND_DELETE = """
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
for number in range(6):
    with open(f"f{number}", "w+b") as file:
        file.write(bytes(1_000_000))
        file.flush()
        assert libc.mmap(None, %d, 1, 1, file.fileno(), 0) != ctypes.c_void_p(-1).value
    os.unlink(f"f{number}")
time.sleep(3600)
"""


@pytest.mark.engine("system-python")
@pytest.mark.skipif(os.geteuid() != 0, reason="root: only root sees how large a mapped file is")
def test_deleted_files_that_are_only_mapped_count(every):
    limits = replace(ROOMY, disk_bytes=4 * MEGABYTE)
    ended, output = every.run("/usr/bin/python3", "-c", MAP_AND_DELETE % 4096, limits=limits)
    assert ended.reason == "disk", (ended, output)


def test_empty_files_count(every):
    limits = replace(ROOMY, disk_bytes=4 * MEGABYTE)
    ended, _ = every.shell("touch $(seq 1 800); sleep 1.5", limits=limits)
    assert (ended.code, ended.reason) == (0, "exited")  # the control
    ended, _ = every.shell("touch $(seq 1 3000); sleep 3600", limits=limits)
    assert ended.reason == "disk"


ORDINARY = """
import asyncio, json, os, sys
from pathlib import Path
from computepool.agent.sandbox import Command, Limits, available_sandboxes

async def story():
    found = {}
    for sandbox in available_sandboxes(Path(sys.argv[1])):
        folder = sandbox.attempts_folder / sandbox.level
        (folder / "work").mkdir(parents=True)
        limits = Limits(cpus=2.0, memory_bytes=512 << 20, pids=200, disk_bytes=4 << 20)
        process = await sandbox.start(Command(argv=sys.argv[2:], env={}, folder=folder, limits=limits))
        ended = await process.wait()
        os.close(process.output_fd)
        found[sandbox.level] = [ended.code, ended.reason]
        await sandbox.close()
    print(json.dumps(found))

asyncio.run(story())
"""
WRITE_SIX = "for i in 1 2 3 4 5 6; do head -c 1000000 /dev/zero > f$i; done"


def ends_of_an_ordinary_users_job(*argv: str) -> dict[str, list[object]]:
    """How it ended in each sandbox of an agent that is not root, where the job is the agent's own user."""
    engines.require("bwrap")
    found: dict[str, list[object]] = json.loads(run_as_ordinary_user(ORDINARY, *argv))
    assert set(found) == {"bubblewrap", "process"}
    return found


@pytest.mark.parametrize(
    "script",
    [
        f"chmod 000 ..; {WRITE_SIX}; sleep 3600",
        f"mkdir d; cd d; {WRITE_SIX}; chmod 400 .; chmod 000 ../..; sleep 3600",
        f"(while :; do chmod 000 ..; done) & {WRITE_SIX}; sleep 3600",
    ],
    ids=["folder", "folders in it", "again and again"],
)
def test_ordinary_users_job_cannot_close_its_folder_to_the_watchdog(script):
    assert [reason for _, reason in ends_of_an_ordinary_users_job("/bin/sh", "-c", script).values()] == ["disk"] * 2


def test_ordinary_users_job_that_closes_its_folder_and_writes_little_goes_on():
    found = ends_of_an_ordinary_users_job("/bin/sh", "-c", "echo x > f; chmod 000 . ..; sleep 2.5")
    assert list(found.values()) == [[0, "exited"]] * 2


@pytest.mark.engine("system-python")
def test_mapped_bytes_of_deleted_files_count_where_their_size_cannot_be_seen():
    found = ends_of_an_ordinary_users_job("/usr/bin/python3", "-c", MAP_AND_DELETE % 1_000_000)
    assert [reason for _, reason in found.values()] == ["disk"] * 2


def throttled(process) -> int:
    """How often the kernel let the processes of a job wait for the next period."""
    group = process.cgroup
    folder = group._folder if isinstance(group, CgroupV2) else group._folders["cpu"]
    return int(dict(line.split() for line in (folder / "cpu.stat").read_text().splitlines())["nr_throttled"])


@pytest.mark.parametrize("kind", ["bubblewrap", "process"])
def test_processor_time_is_bounded(bench, kind):
    burner = bench(kind)

    async def story() -> None:
        began = time.monotonic()
        process = await burner.start("/bin/sh", "-c", "while :; do :; done", limits=replace(ROOMY, cpus=0.05))
        await async_eventually(lambda: throttled(process), "the kernel holds the job back")
        await asyncio.sleep(0.6)
        await process.stop(0)
        await read_all(process)
        used = (await process.wait()).cpu_seconds
        assert used <= 0.05 * (time.monotonic() - began) + 0.1  # and what its start takes
        # The control: more than the machine has.
        process = await burner.start("/bin/sh", "-c", "while :; do :; done", limits=replace(ROOMY, cpus=4096))
        await asyncio.sleep(0.3)
        assert throttled(process) == 0
        await process.stop(0)
        await read_all(process)

    asyncio.run(story())


def test_cores_are_given_where_time_cannot_be(bench):
    soft = bench("bubblewrap-soft")
    count = "grep Cpus_allowed_list /proc/self/status"
    _, one = soft.shell(count, limits=replace(ROOMY, cpus=1.0))
    _, all_of_them = soft.shell(count, limits=replace(ROOMY, cpus=4096.0))
    assert one.split()[1].isdigit()
    assert one.split()[1] != all_of_them.split()[1] or all_of_them.split()[1] == "0"


def test_no_core_dumps_and_enough_files(every):
    _, output = every.shell("ulimit -c; ulimit -n; ulimit -f")
    core, files, blocks = output.split()
    assert core == "0"
    assert 1024 <= int(files) <= 65_536
    assert int(blocks) * 512 == ROOMY.disk_bytes
