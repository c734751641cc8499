"""Nothing stays when the agent is killed, and what stays nevertheless is swept by the next one."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import engines
from support.proofs import figure
from support.sandboxes import processes_with, read_all

from computepool.agent.sandbox import available_sandboxes, marked
from computepool.agent.sandbox.cgroup import CgroupV2
from computepool.agent.sandbox.cgroup_tree import find_cgroups, read_mounts
from computepool.agent.sandbox.identity import instance_of
from computepool.agent.sandbox.interface import Limits
from computepool.agent.sandbox.marked import VARIABLE

STORY = Path(__file__).parent / "agent_story.py"
SWEPT_SECONDS = 5.0


def wait_until(condition, seconds: float = SWEPT_SECONDS) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def start_agent(state: Path, kind: str, mark: str, *delay: str) -> subprocess.Popen[str]:
    level, _, soft = kind.partition("-")
    if level == "bubblewrap":
        engines.require("bwrap")
    if not soft and find_cgroups("probe") is None:
        pytest.skip("control groups: this user may not make any")
    command = [sys.executable, str(STORY), str(state), level, soft or "hard", mark, *delay]
    agent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert agent.stdout
    assert agent.stdout.readline().strip().isdigit()
    return agent


def kill(agent: subprocess.Popen[str]) -> None:
    agent.kill()
    agent.wait()
    assert agent.stdout
    agent.stdout.close()


KINDS = ["bubblewrap", "bubblewrap-soft", "process", "process-soft"]


@pytest.mark.parametrize("kind", KINDS)
def test_killed_agent_leaves_no_orphan(state, kind):
    mark = f"36{time.time_ns() % 10**7}"
    agent = start_agent(state, kind, mark)
    assert wait_until(lambda: len(processes_with(f"sleep\0{mark}")) >= 3)  # the control: they are there
    kill(agent)
    assert wait_until(lambda: not processes_with(mark))


@pytest.mark.parametrize("kind", KINDS)
def test_agent_killed_in_the_middle_of_a_start_leaves_no_orphan(state, kind):
    """bubblewrap does not notice the death of its parent before its sandbox is complete."""
    for delay in (0, 1, 2, 3, 4, 6, 8)[:: figure(2, 1)]:
        mark = f"37{time.time_ns() % 10**7}"
        kill(start_agent(state, kind, mark, str(delay)))
        time.sleep(0.1)
        assert wait_until(lambda mark=mark: not processes_with(mark)), delay


def test_guard_ends_what_gets_its_mark_only_after_the_agent_is_gone():
    """Between fork and exec a process has the agent's environment, and is found by nobody."""
    run = f"late{time.time_ns()}."
    guard = subprocess.Popen([sys.executable, "-I", "-S", marked.__file__, run], stdin=subprocess.PIPE)
    assert guard.stdin
    guard.stdin.close()
    time.sleep(0.3)
    late = subprocess.Popen(["sleep", "60"], env={VARIABLE: f"{run}1."})
    try:
        assert late.wait(10) == -signal.SIGKILL
        assert guard.wait(20) == 0
    finally:
        late.kill()


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
    stale = subprocess.Popen(["/bin/sleep", "60"], env={VARIABLE: f"{mine}.1.abc."}, start_new_session=True)
    other = subprocess.Popen(["/bin/sleep", "60"], env={VARIABLE: f"{others}.1.abc."}, start_new_session=True)

    async def sweep() -> list[str]:
        swept = [line for sandbox in sandboxes for line in await sandbox.sweep()]
        assert [line for sandbox in sandboxes for line in await sandbox.sweep()] == []  # once is enough
        return swept

    swept = asyncio.run(sweep())
    assert len(swept) == 1
    assert stale.wait(5) == -signal.SIGKILL
    assert other.poll() is None  # somebody else's job
    other.kill()
    other.wait()


def test_groups_of_an_earlier_agent_are_swept(state):
    tree = find_cgroups(instance_of(state))
    if tree is None:
        pytest.skip("control groups: this user may not make any")
    neighbour = find_cgroups("neighbour")
    assert neighbour
    sandbox = available_sandboxes(state)[-1]
    left, theirs = tree.take(), neighbour.take()
    sleepers = [subprocess.Popen(["/bin/sleep", "60"]) for _ in range(3)]
    for sleeper in sleepers[:2]:
        left.add(sleeper.pid)
    theirs.add(sleepers[2].pid)
    if left.freezes:
        left.freeze(True)
    assert set(left.pids()) == {sleeper.pid for sleeper in sleepers[:2]}
    swept = asyncio.run(sandbox.sweep())
    assert swept
    assert all(sleeper.wait(5) == -signal.SIGKILL for sleeper in sleepers[:2])
    assert left.pids() == []
    assert left.remove()  # it is gone already, which is as good
    assert theirs.pids() == [sleepers[2].pid]
    sleepers[2].kill()
    sleepers[2].wait()
    assert wait_until(theirs.remove)


def test_version_2_groups_hold_freeze_and_go(tmp_path):
    mount = next((mount for mount in read_mounts() if mount.version == 2 and os.access(mount.top, os.W_OK)), None)
    if mount is None:
        pytest.skip("control groups, version 2: this user may not make any")
    group = CgroupV2(f"computepool-test-{os.getpid()}", mount.top)
    sleeper = subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"])
    try:
        group.add(sleeper.pid)
        assert group.pids() == [sleeper.pid]
        assert not group.remove()
        assert wait_until(lambda: group.usage().cpu_seconds > 0.02)
        group.freeze(True)
        time.sleep(0.05)
        before = group.usage().cpu_seconds
        time.sleep(0.15)
        assert group.usage().cpu_seconds - before < 0.01
        group.freeze(False)
        assert wait_until(lambda: group.usage().cpu_seconds > before + 0.02)
    finally:
        sleeper.kill()
        sleeper.wait()
        assert wait_until(group.remove)


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
