"""Jobs that will not go, and what they leave behind; in every runtime that can be had here."""

import asyncio
import contextlib
import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.probes.run import PYTHON
from support.probes.runtimes import RUNTIMES
from support.sandboxes import Bench, come_to_rest, processes_with, read_all
from support.waiting import async_eventually, eventually, patience

from computepool.agent.folders import remove_folders
from computepool.agent.sandbox.running import readable

IN_CONTAINERS = {"docker", "gvisor", "podman"}
FLOOD_BYTES = 8 << 20
FLOOD = """
import os
counter = os.open('counter', os.O_RDWR | os.O_CREAT)
piece, written = b'x' * 65536, 0
while True:
    written += os.write(1, piece)
    os.pwrite(counter, b'%12d' % written, 0)
"""
STUBBORN = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(3600)
print('ready', flush=True)
time.sleep(3600 if sys.argv[2] == 'stay' else 0)
"""
HOSTILE = """
import os, socket
for name in (b'-rf', b'\\n', b'*', b'\\xff\\xfe', b'x' * 255, b' ', b'$(touch pwned)', b'..\\n..'):
    open(name, 'w').close()
os.symlink('/', 'root'); os.symlink('..', 'up'); os.symlink('loop', 'loop'); os.symlink(b'/etc/passwd', 'users')
os.mkfifo('fifo')
socket.socket(socket.AF_UNIX).bind('socket')
os.link('-rf', 'same')
here = os.getcwd()
for _ in range(60):
    os.mkdir('d' * 200); os.chdir('d' * 200)
os.chdir(here)
os.makedirs('closed/inner/most')
open('closed/inner/file', 'w').close()
for place in ('closed/inner/file', 'closed/inner/most', 'closed/inner', 'closed', '.'):
    os.chmod(place, 0)
print('left')
"""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(f"{name}@container-probes", marks=pytest.mark.slow)
        if name in IN_CONTAINERS
        else pytest.param(f"{name}@probes")
        for name in RUNTIMES
    ],
)
def runtime(request: pytest.FixtureRequest, state: Path) -> Iterator[Bench]:
    with RUNTIMES[request.param.partition("@")[0]](state) as sandbox:
        yield Bench(sandbox)


def test_flood_that_nobody_reads_stands_still(runtime):
    async def story() -> int:
        folder = runtime.folder()
        process = await runtime.start(PYTHON, "-c", FLOOD, folder=folder)
        try:
            counter = folder / "work" / "counter"
            await async_eventually(lambda: counter.exists() and counter.read_text(), "the flood begins")
            await come_to_rest(lambda: counter.stat().st_mtime_ns)
            return int(counter.read_text())
        finally:
            async with asyncio.TaskGroup() as group:
                group.create_task(read_all(process))
                group.create_task(process.stop(0))

    assert 0 < asyncio.run(story()) < FLOOD_BYTES


def test_flood_that_somebody_takes_goes_on(tmp_path):
    """The control."""
    counter = tmp_path / "counter"
    with subprocess.Popen([PYTHON, "-c", FLOOD], cwd=tmp_path, stdout=subprocess.DEVNULL) as flood:
        try:
            eventually(
                lambda: counter.exists() and int(counter.read_text() or 0) > FLOOD_BYTES, "the flood writes without end"
            )
        finally:
            flood.kill()


@pytest.mark.parametrize("how", ["stay", "leave"])
def test_job_that_ignores_every_signal_is_gone_with_all_it_started(runtime, how):
    mark = f"stubborn-{secrets.token_hex(6)}"

    async def story() -> tuple[int, int]:
        process = await runtime.start(PYTHON, "-c", STUBBORN, mark, how)
        await asyncio.wait_for(readable(process.output_fd), patience())
        before = len(processes_with(mark))
        if how == "stay":
            await asyncio.wait_for(process.stop(0.2), patience())
        await asyncio.wait_for(process.wait(), patience())
        os.close(process.output_fd)
        return before, len(processes_with(mark))

    before, after = asyncio.run(story())
    assert after == 0
    # gVisor's processes are not the host's, and one that leaves may be gone before it is looked at.
    if how == "stay" and runtime.sandbox.level != "gvisor":
        assert before >= 4


def test_without_a_sandbox_such_a_job_stays(tmp_path):
    """The control."""
    mark = f"stubborn-{secrets.token_hex(6)}"
    subprocess.run([PYTHON, "-c", STUBBORN, mark, "leave"], stdout=subprocess.DEVNULL, check=True, timeout=patience())
    left = processes_with(mark)
    eventually(lambda: not kill_all(mark), "the job is gone")  # some may just have forked
    assert len(left) >= 3


def kill_all(mark: str) -> list[int]:
    """Which processes there were."""
    found = processes_with(mark)
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
    return found


def test_hostile_names_and_modes_are_cleared_away(runtime):
    folder = runtime.folder()
    ended, output = runtime.run(PYTHON, "-c", HOSTILE, folder=folder)
    assert (ended.code, output) == (0, "left\n")
    work = folder / "work"
    assert work.stat().st_mode & 0o777 == 0
    if os.geteuid() == 0:
        assert len(list(work.iterdir())) > 14  # the control
    assert remove_folders([str(folder)]) == []
    assert not folder.exists()
    assert Path("/etc/passwd").exists()


def test_killing_everything_kills_the_job_alone(runtime):
    with subprocess.Popen(["/bin/sleep", "3600"]) as sentinel:
        try:
            ended, _ = runtime.shell("kill -9 -1; kill -STOP -1; kill -9 1; kill -9 0")
            assert ended.code != 0
            assert sentinel.poll() is None
            os.kill(sentinel.pid, 9)
            assert sentinel.wait(patience()) == -9  # the control: it is no harder to kill than others
        finally:
            sentinel.kill()
