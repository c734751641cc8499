"""Several programs of one agent at once, in the folder that an agent which is root keeps for its jobs."""

import asyncio
import contextlib
import os
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from support import engines
from support.sandboxes import Bench
from support.waiting import patience

from computepool.agent.clock import SystemClock
from computepool.agent.doctor import examine
from computepool.agent.folders import JobFolders
from computepool.agent.home import AgentHome
from computepool.agent.main import measure, sandboxes_of
from computepool.agent.ports import offload_to_threads
from computepool.agent.sandbox import Sandbox
from computepool.agent.sandbox.identity import SYSTEM_FOLDER, NobodyElse, instance_of
from computepool.agent.sandbox.layout import build_etc
from computepool.agent.unremoved import UnremovedFolders


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AgentHome]:
    """A home as an agent makes it: closed to everybody else, so that jobs of root's agent live elsewhere."""
    engines.require("bwrap")
    if os.geteuid() != 0:
        pytest.skip("root: only root's agent keeps the folders of jobs away from its home")
    home = AgentHome(tmp_path / "agent")
    home.prepare()
    assert not folder_of(home).exists()
    yield home
    assert not folder_of(home).exists()  # no test leaves anything


def folder_of(home: AgentHome) -> Path:
    return SYSTEM_FOLDER / instance_of(home.root)


@contextlib.asynccontextmanager
async def sandboxes_at_work(home: AgentHome) -> AsyncIterator[list[Sandbox]]:
    sandboxes = sandboxes_of(home)
    try:
        yield sandboxes
    finally:
        for sandbox in sandboxes:
            await sandbox.close()


async def works(sandbox: Sandbox) -> bool:
    bench = Bench(sandbox)
    folder = bench.folder()
    ended, output = await bench.finish("/bin/sh", "-c", "cat /etc/hostname", folder=folder)
    (folder / "work").rmdir()
    folder.rmdir()
    return (ended.reason, output) == ("exited", "job\n")


def test_doctor_leaves_a_running_agent_alone(home):
    async def story():
        async with sandboxes_at_work(home) as agents:
            assert await works(agents[0])
            async with sandboxes_at_work(home) as doctors:
                checks = {check.name: check for check in await examine(home, doctors, SystemClock())}
                assert checks["isolation bubblewrap"].ok, checks["isolation bubblewrap"]
            assert await works(agents[0])
            await measure(home)
            assert await works(agents[0])

    asyncio.run(story())


def test_agent_that_starts_beside_a_doctor_keeps_its_folder(home):
    async def story():
        async with contextlib.AsyncExitStack() as agent:
            async with sandboxes_at_work(home):
                agents = await agent.enter_async_context(sandboxes_at_work(home))
            assert await works(agents[0])

    asyncio.run(story())


def test_doctor_clears_nothing_away_that_it_did_not_make(home):
    """What an agent that was killed left is for the next agent to sort out."""
    killed = (
        "import os, sys; from pathlib import Path; from computepool.agent.home import AgentHome;"
        "from computepool.agent.main import sandboxes_of; kept = sandboxes_of(AgentHome(Path(sys.argv[1])));"
        "os.kill(os.getpid(), 9)"
    )

    async def look_in() -> None:
        async with sandboxes_at_work(home) as doctors:
            await examine(home, doctors, SystemClock())
        await measure(home)

    async def live() -> None:
        async with sandboxes_at_work(home) as agents:
            for sandbox in agents:
                await sandbox.sweep()
            assert await works(agents[0])

    subprocess.run([sys.executable, "-c", killed, str(home.root)], check=False, timeout=patience())
    left = sorted(path.name for path in folder_of(home).iterdir())
    assert len(left) == 3  # the control: attempts, an etc, the lock
    asyncio.run(look_in())
    assert sorted(path.name for path in folder_of(home).iterdir()) == left
    asyncio.run(live())
    assert not folder_of(home).exists()


def test_agent_that_stops_beside_a_doctor_leaves_the_clearing_to_it(home):
    async def story():
        async with contextlib.AsyncExitStack() as doctor:
            async with sandboxes_at_work(home):
                doctors = await doctor.enter_async_context(sandboxes_at_work(home))
            assert await works(doctors[0])

    asyncio.run(story())


def test_stopped_agent_leaves_no_folder(home):
    async def story():
        async with sandboxes_at_work(home) as agents:
            folders = JobFolders(offload_to_threads, UnremovedFolders(offload_to_threads))
            await folders.begin(agents, [])
            assert (agents[0].attempts_folder / ".ready").is_dir()
            folders.give_back(str(folders.take(agents[0], "attempt_1")))
            await folders.close()

    asyncio.run(story())
    assert not folder_of(home).exists()
    assert list(home.attempts.iterdir()) == []


def test_jobs_users_pass_the_folder_even_if_the_agent_keeps_all_else_closed(tmp_path):
    home, above = tmp_path / "home", tmp_path / "system"
    home.mkdir(mode=0o700)
    before = os.umask(0o077)
    try:
        user = NobodyElse(home, "agent", above)
        user.prepare()
        assert [stat.S_IMODE(place.stat().st_mode) & 0o011 for place in (above, user.base)] == [0o011, 0o011]
        assert stat.S_IMODE((build_etc(user.base) / "passwd").stat().st_mode) == 0o644
        user.tidy()
    finally:
        os.umask(before)


def test_results_that_somebody_still_wants_stay(home):
    async def story():
        async with sandboxes_at_work(home) as agents:
            (agents[0].attempts_folder / "attempt_1").mkdir()
        kept = folder_of(home) / "attempts" / "attempt_1"
        assert kept.is_dir()
        async with sandboxes_at_work(home) as agents:
            await agents[0].sweep()
            assert kept.is_dir()
            assert await works(agents[0])
            kept.rmdir()

    asyncio.run(story())


def test_those_who_come_and_go_at_once_never_pull_the_folder_from_under_each_other(tmp_path):
    (tmp_path / "agent").mkdir(mode=0o700)
    tmp_path.chmod(0o700)
    system = tmp_path / "system"
    missing: list[str] = []

    def come_and_go() -> None:
        for _ in range(40):
            one = NobodyElse(tmp_path / "agent", "instance", system)
            one.prepare()
            (one.base / "attempts").mkdir(exist_ok=True)
            if not build_etc(one.base, tmp_path / "host").is_dir():
                missing.append("at once")
            if not (one.base / "attempts").is_dir() or not (one.base / "sandbox.lock").exists():
                missing.append("later")
            one.tidy()

    threads = [threading.Thread(target=come_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert missing == []
    assert list(system.iterdir()) == []
