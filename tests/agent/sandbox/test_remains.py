"""Nothing stays when the agent is killed, and what stays nevertheless is swept by the next one."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import engines
from support.proofs import figure
from support.sandboxes import processes_with, read_all
from support.waiting import eventually, patience

from computepool.agent.sandbox import available_sandboxes, marked
from computepool.agent.sandbox.cgroup import CgroupV2
from computepool.agent.sandbox.cgroup_tree import find_cgroups, read_mounts
from computepool.agent.sandbox.identity import instance_of
from computepool.agent.sandbox.interface import Limits
from computepool.agent.sandbox.marked import VARIABLE

STORY = Path(__file__).parent / "agent_story.py"


@contextlib.contextmanager
def killed_afterwards(command: list[str], **more: Any) -> Iterator[subprocess.Popen[Any]]:
    with subprocess.Popen(command, **more) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def running_agent(state: Path, kind: str, mark: str, *delay: str) -> Iterator[None]:
    """An agent with a job; killed at the end."""
    level, _, soft = kind.partition("-")
    if level == "bubblewrap":
        engines.require("bwrap")
    if not soft and find_cgroups("probe") is None:
        pytest.skip("control groups: this user may not make any")
    command = [sys.executable, str(STORY), str(state), level, soft or "hard", mark, *delay]
    with killed_afterwards(command, stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdout
        assert agent.stdout.readline().strip().isdigit()
        yield


def until_gone(mark: str) -> None:
    eventually(lambda: not processes_with(mark), "the orphans are ended")


KINDS = ["bubblewrap", "bubblewrap-soft", "process", "process-soft"]


@pytest.mark.parametrize("kind", KINDS)
def test_killed_agent_leaves_no_orphan(state, kind):
    mark = f"36{time.time_ns() % 10**7}"
    with running_agent(state, kind, mark):
        eventually(lambda: len(processes_with(f"sleep\0{mark}")) >= 3, "the job runs")  # the control
    until_gone(mark)


@pytest.mark.parametrize("kind", KINDS)
def test_agent_killed_in_the_middle_of_a_start_leaves_no_orphan(state, kind):
    """bubblewrap does not notice the death of its parent before its sandbox is complete."""
    for delay in (0, 1, 2, 3, 4, 6, 8)[:: figure(2, 1)]:
        mark = f"37{time.time_ns() % 10**7}"
        with running_agent(state, kind, mark, str(delay)):
            pass
        time.sleep(0.1)
        until_gone(mark)


def test_guard_ends_what_gets_its_mark_only_after_the_agent_is_gone():
    """Between fork and exec a process has the agent's environment, and is found by nobody."""
    run = f"late{time.time_ns()}."
    # One that has more patience than usual: a busy machine may need more than a second to start a program.
    patient = f"import runpy; guard = runpy.run_path({marked.__file__!r})['guard']; "
    patient += f"guard.__globals__.update(ROUNDS=10**9, QUIET_ROUNDS=10**9); guard({run!r})"
    with killed_afterwards([sys.executable, "-I", "-S", "-c", patient], stdin=subprocess.PIPE) as guard:
        assert guard.stdin
        guard.stdin.close()
        time.sleep(0.3)
        with killed_afterwards(["sleep", "3600"], env={VARIABLE: f"{run}1."}) as late:
            assert late.wait(patience()) == -signal.SIGKILL


def test_guard_goes_when_nothing_was_found_for_a_second():
    assert marked.QUIET_ROUNDS * marked.PAUSE_SECONDS >= 1
    guard = [sys.executable, "-I", "-S", marked.__file__, f"nothing{time.time_ns()}."]
    subprocess.run(guard, stdin=subprocess.DEVNULL, check=True, timeout=patience())


def test_sweep_spares_what_runs_now(bench):
    for kind in KINDS:
        running = bench(kind)

        async def story(running=running) -> None:
            process = await running.start("/bin/sh", "-c", "sleep 0.3; exit 7")
            await running.sandbox.sweep()
            await read_all(process)
            assert (await process.wait()).code == 7

        asyncio.run(story())


@pytest.mark.parametrize("use_cgroups", [True, False])
def test_remains_of_an_earlier_agent_are_swept(state, use_cgroups):
    """As if both the agent and its guard had been killed."""
    if use_cgroups and find_cgroups("probe") is None:
        pytest.skip("control groups: this user may not make any")
    sandboxes = available_sandboxes(state, use_cgroups=use_cgroups)
    mine, others = instance_of(state), instance_of(state / "another")
    marks = [{VARIABLE: f"{owner}.1.abc."} for owner in (mine, others)]

    async def sweep() -> list[str]:
        swept = [line for sandbox in sandboxes for line in await sandbox.sweep()]
        assert [line for sandbox in sandboxes for line in await sandbox.sweep()] == []  # once is enough
        return swept

    sleep = ["/bin/sleep", "3600"]
    with (
        killed_afterwards(sleep, env=marks[0], start_new_session=True) as stale,
        killed_afterwards(sleep, env=marks[1], start_new_session=True) as other,
    ):
        swept = asyncio.run(sweep())
        assert len(swept) == 1
        assert stale.wait(patience()) == -signal.SIGKILL
        assert other.poll() is None  # somebody else's job


def test_groups_of_an_earlier_agent_are_swept(state):
    tree = find_cgroups(instance_of(state))
    if tree is None:
        pytest.skip("control groups: this user may not make any")
    neighbour = find_cgroups("neighbour")
    assert neighbour
    sandbox = available_sandboxes(state)[-1]
    left, theirs = tree.take(), neighbour.take()
    with contextlib.ExitStack() as stack:
        sleepers = [stack.enter_context(killed_afterwards(["/bin/sleep", "3600"])) for _ in range(3)]
        for sleeper in sleepers[:2]:
            left.add(sleeper.pid)
        theirs.add(sleepers[2].pid)
        if left.freezes:
            left.freeze(True)
        assert set(left.pids()) == {sleeper.pid for sleeper in sleepers[:2]}
        swept = asyncio.run(sandbox.sweep())
        assert swept
        assert all(sleeper.wait(patience()) == -signal.SIGKILL for sleeper in sleepers[:2])
        assert left.pids() == []
        assert left.remove()  # it is gone already, which is as good
        assert theirs.pids() == [sleepers[2].pid]
    eventually(theirs.remove, "the neighbour's group is removed")


def test_version_2_groups_hold_freeze_and_go(tmp_path):
    mount = next((mount for mount in read_mounts() if mount.version == 2 and os.access(mount.top, os.W_OK)), None)
    if mount is None:
        pytest.skip("control groups, version 2: this user may not make any")
    group = CgroupV2(f"computepool-test-{os.getpid()}", mount.top)
    events = group._folder / "cgroup.events"
    try:
        with killed_afterwards(["/bin/sh", "-c", "while :; do :; done"]) as burner:
            group.add(burner.pid)
            assert group.pids() == [burner.pid]
            assert not group.remove()
            eventually(lambda: group.usage().cpu_seconds > 0.02, "the group uses the processor")
            group.freeze(True)
            eventually(lambda: "frozen 1" in events.read_text(), "the group is frozen")
            before = group.usage().cpu_seconds
            time.sleep(0.15)
            assert group.usage().cpu_seconds - before < 0.01
            group.freeze(False)
            eventually(lambda: group.usage().cpu_seconds > before + 0.02, "the group goes on")
    finally:
        eventually(group.remove, "the group is removed")


def test_version_2_limits_are_written_where_the_kernel_reads_them(tmp_path):
    """The kernel here may keep memory in version 1; the files of version 2 are then played by a plain folder."""
    group = CgroupV2("job", tmp_path)
    folder = tmp_path / "job"
    for name in ("memory.max", "memory.swap.max", "cpu.max", "pids.max"):
        (folder / name).write_text("")
    group.set_limits(Limits(cpus=1.5, memory_bytes=1 << 30, pids=100, disk_bytes=1))
    written = {path.name: path.read_text() for path in folder.iterdir()}
    assert written == {
        "memory.max": "1073741824",
        "memory.swap.max": "0",
        "cpu.max": "150000 100000",
        "pids.max": "102",
    }
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\n")
    (folder / "memory.peak").write_text("4096\n")
    (folder / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")
    usage = group.usage()
    assert (usage.cpu_seconds, usage.peak_memory_bytes, usage.oom_kills) == (2.5, 4096, 1)
