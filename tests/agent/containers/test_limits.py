"""Limits hold in every engine, and say which one it was. Every probe has a control that stays within the limit."""

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support import disk_limits
from support.sandboxes import ROOMY, read_all
from support.waiting import async_eventually

from computepool.agent.sandbox import Exit
from computepool.agent.sandbox.containers.process import USAGE_SECONDS
from computepool.agent.sandbox.containers.spec import GVISOR_PIDS, OVERHEAD_PIDS
from computepool.agent.sandbox.running import readable

MEGABYTE = 1 << 20
# Holds so many megabytes for so many seconds. Not with the sleep at its end: the shell would become it, and let go.
HOLD = "x=$(head -c $((%d << 20)) /dev/zero | tr '\\0' a); sleep %s; :"


@pytest.mark.engine("system-python")
def test_memory_is_bounded(every):
    limits = replace(ROOMY, memory_bytes=96 * MEGABYTE)
    ended, output = every.run("/usr/bin/python3", "-c", "len(b'a' * 20_000_000)", limits=limits)
    assert (ended.code, ended.reason) == (0, "exited"), output
    ended, output = every.run("/usr/bin/python3", "-c", "len(b'a' * 200_000_000)", limits=limits)
    assert ended.reason == "memory", (ended, output)
    assert ended.code == 137


def test_memory_of_a_child_that_is_killed_is_told_too(shared_kernel):
    """The kernel may kill only one of the job's processes; a job that fails of it failed of its memory."""
    limits = replace(ROOMY, memory_bytes=96 * MEGABYTE)
    script = f"sh -c '{HOLD.replace(chr(39), chr(34)) % (200, 3600)}'; touch killed; "
    script += "while [ ! -e go ]; do sleep 0.05; done; exit 9"

    async def story() -> tuple[Exit, bytes]:
        work = (folder := shared_kernel.folder()) / "work"
        process = await shared_kernel.start("/bin/sh", "-c", script, limits=limits, folder=folder)
        await async_eventually((work / "killed").exists, "the child is killed")
        await asyncio.sleep(USAGE_SECONDS * 1.2)  # the agent looks before this ends: it shares the event loop
        (work / "go").touch()
        output = await read_all(process)
        return await process.wait(), output

    ended, output = asyncio.run(story())
    assert ended.reason == "memory", (ended, output)


def test_memory_files_count_as_memory(every):
    limits = replace(ROOMY, memory_bytes=96 * MEGABYTE)
    ended, output = every.shell("head -c 10000000 /dev/zero > /tmp/a && echo fine", limits=limits)
    assert (ended.code, output) == (0, "fine\n")
    fill = "; ".join(f"head -c 45000000 /dev/zero > {place}/a" for place in ("/tmp", "/dev/shm", "/var/tmp"))
    ended, output = every.shell(f"{fill}; {HOLD % (20, 3600)}; echo here", limits=limits)
    assert "here" not in output
    assert ended.reason == "memory", (ended, output)


def test_places_in_memory_are_bounded_themselves(every):
    limits = replace(ROOMY, memory_bytes=96 * MEGABYTE)
    script = (
        "for place in /tmp /dev/shm /var/tmp; do head -c 60000000 /dev/zero > $place/a && echo in; rm $place/a; done"
    )
    _, output = every.shell(script, limits=limits)
    assert "in" not in output.split()
    assert "No space left" in output


FORKS = "i=0; while [ $i -lt %d ]; do sleep 3600 & i=$((i+1)); done; echo all of them"


def test_fork_bomb_is_bounded(shared_kernel):
    limits = replace(ROOMY, pids=30)
    ended, output = shared_kernel.shell(FORKS % 20, limits=limits)
    assert (ended.code, output) == (0, "all of them\n")
    ended, output = shared_kernel.shell(FORKS % 60, limits=limits)
    assert "all of them" not in output
    assert "fork" in output.lower()


def test_gvisors_own_threads_have_room_beside_the_jobs_processes(bench):
    """With fewer it would not even start; so the bound on the host is higher, but there is one."""
    gvisor = bench("gvisor")

    async def story() -> int:
        process = await gvisor.start("/bin/sh", "-c", "echo ready; sleep 3600", limits=replace(ROOMY, pids=1))
        await readable(process.output_fd)
        most = int((process.group.processes / "pids.max").read_text())
        await process.stop(0)
        await read_all(process)
        return most

    assert asyncio.run(story()) == 1 + OVERHEAD_PIDS + GVISOR_PIDS


BURN = "for i in 1 2 3; do (while :; do :; done) & done; echo burning; sleep 3600"


def throttled(process) -> int:
    """How often the kernel let the processes of a job wait for the next period."""
    stat = process.group.cpu / "cpu.stat"
    if not stat.exists():  # version 1 may keep the time that was used in another tree than the quota
        stat = Path(str(stat).replace("/cpuacct/", "/cpu/"))
    return int(dict(line.split() for line in stat.read_text().splitlines())["nr_throttled"])


def test_cpu_is_bounded(every):
    async def story() -> None:
        process = await every.start("/bin/sh", "-c", BURN, limits=replace(ROOMY, cpus=0.2))
        await readable(process.output_fd)
        await async_eventually(lambda: throttled(process), "the kernel holds the job back")
        began, before = time.monotonic(), process.group.usage().cpu_seconds
        await asyncio.sleep(0.6)
        used = process.group.usage().cpu_seconds - before
        assert 0 < used <= 0.2 * (time.monotonic() - began) + 0.1  # and a period
        await process.stop(0)
        await read_all(process)
        # The control: as much as the machine has.
        process = await every.start("/bin/sh", "-c", BURN, limits=replace(ROOMY, cpus=os.cpu_count() or 1))
        await readable(process.output_fd)
        await asyncio.sleep(0.3)
        assert throttled(process) == 0
        await process.stop(0)
        await read_all(process)

    asyncio.run(story())


def test_big_file_is_stopped_at_the_disk_limit(every):
    disk_limits.big_file_is_stopped(every, only_found_out=every.is_gvisor)


def test_many_files_are_stopped_at_the_disk_limit(every):
    disk_limits.many_files_are_stopped(every)


def test_deleted_files_that_are_still_open_count(every):
    disk_limits.deleted_files_that_are_still_open_count(every)


def test_nothing_can_be_written_beside_the_folder(every):
    script = (
        "for p in / /usr /etc /var /run /dev /job/.. /proc /sys; do touch $p/x 2>/dev/null && echo $p; done; touch ok"
    )
    ended, output = every.shell(script)
    assert (ended.code, output) == (0, ""), output
