"""Limits hold, and say which one it was. Every probe has a control that stays within the limit."""

import asyncio
import time
from dataclasses import replace

import pytest
from support.sandboxes import ROOMY, processes_with, read_all

MEGABYTE = 1 << 20

# Holds so many megabytes for a second.
HOLD = "x=$(head -c $((%d << 20)) /dev/zero | tr '\\0' a); sleep %s"


def test_memory_is_bounded(every):
    limits = replace(ROOMY, memory_bytes=96 * MEGABYTE)
    ended, output = every.shell(HOLD % (20, 0), limits=limits)
    assert (ended.code, ended.reason) == (0, "exited"), output
    ended, output = every.shell(HOLD % (200, 3), limits=limits)
    assert ended.reason == "memory", (ended, output)
    assert ended.code == 137


def test_memory_of_many_processes_is_counted_together(every):
    limits = replace(ROOMY, memory_bytes=96 * MEGABYTE)
    script = "; ".join([f"({HOLD % (30, 8)}) &"] * 5).replace("&;", "&") + " wait; exit 9"
    ended, _ = every.shell(script, limits=limits)
    # Some kernels kill one process of the group, some all; a job that goes on and fails is as good.
    assert ended.reason == "memory", ended


def test_memory_files_count_as_memory(isolated):
    limits = replace(ROOMY, memory_bytes=64 * MEGABYTE)
    ended, output = isolated.shell("head -c 10000000 /dev/zero > /tmp/a && echo fine", limits=limits)
    assert (ended.code, output) == (0, "fine\n")
    fill = "head -c 31000000 /dev/zero > /tmp/a; head -c 31000000 /dev/zero > /dev/shm/b"
    script = f"{fill}; {HOLD % (20, 3)}; echo here"
    ended, output = isolated.shell(script, limits=limits)
    assert "here" not in output
    assert ended.reason == "memory", (ended, output)


def test_places_in_memory_are_bounded_themselves(isolated):
    limits = replace(ROOMY, memory_bytes=64 * MEGABYTE)
    for place in ("/tmp", "/dev/shm"):
        ended, output = isolated.shell(f"head -c 50000000 /dev/zero > {place}/big", limits=limits)
        assert ended.code != 0
        assert "No space left" in output or ended.reason == "memory", (place, output)


FORKS = "i=0; while [ $i -lt %d ]; do sleep 2 & i=$((i+1)); done; echo all of them"


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
    limits = replace(ROOMY, disk_bytes=4 * MEGABYTE)
    assert every.shell("head -c 3000000 /dev/zero > a", limits=limits)[0].code == 0
    folder = every.folder()
    ended, _ = every.shell("exec head -c 9000000 /dev/zero > a", limits=limits, folder=folder)
    assert ended.reason == "disk"
    assert (folder / "work" / "a").stat().st_size <= 4 * MEGABYTE


MANY_FILES = "i=0; while [ $i -lt 12 ]; do head -c 1000000 /dev/zero > f$i; %s i=$((i+1)); done; sleep %s"


def test_many_files_are_stopped_at_the_disk_limit(every):
    limits = replace(ROOMY, disk_bytes=4 * MEGABYTE)
    ended, _ = every.shell(MANY_FILES % ("rm f$i;", 1.5), limits=limits)
    assert (ended.code, ended.reason) == (0, "exited")  # the control: never much at once
    began = time.monotonic()
    ended, _ = every.shell(MANY_FILES % ("", 20), limits=limits)
    assert ended.reason == "disk"
    assert time.monotonic() - began < 6


def test_deleted_files_that_are_still_open_count(every):
    limits = replace(ROOMY, disk_bytes=4 * MEGABYTE)
    script = (
        'for i in 3 4 5 6 7 8; do eval "exec $i> f$i"; rm f$i; eval "head -c 1000000 /dev/zero >&$i"; done; sleep 20'
    )
    ended, output = every.shell(script, limits=limits)
    assert ended.reason == "disk", (ended, output)


@pytest.mark.parametrize("kind", ["bubblewrap", "process"])
def test_processor_time_is_bounded(bench, kind):
    burner = bench(kind)

    async def used(cpus: float) -> float:
        limits = replace(ROOMY, cpus=cpus)
        process = await burner.start("/bin/sh", "-c", "while :; do :; done", limits=limits)
        began = time.monotonic()
        await asyncio.sleep(0.6)
        elapsed = time.monotonic() - began
        await process.stop(0)
        await read_all(process)
        return (await process.wait()).cpu_seconds / elapsed

    little = asyncio.run(used(0.05))
    assert little < 0.15
    assert asyncio.run(used(1.0)) > 1.5 * little  # the control, on a machine that may be busy with other things


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
