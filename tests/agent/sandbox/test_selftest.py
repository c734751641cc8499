"""The self-test passes where a sandbox holds, and names what is broken where it does not."""

import asyncio
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support import engines
from support.ordinary_user import run_as_ordinary_user
from support.waiting import patience

from computepool.agent.sandbox import (
    Command,
    Exit,
    Process,
    SelfTest,
    available_sandboxes,
    how_to_get_bubblewrap,
    self_test,
    selftest,
)
from computepool.agent.sandbox.bubblewrap import BubblewrapSandbox
from computepool.agent.sandbox.cgroup import CgroupV1
from computepool.agent.sandbox.cgroup_tree import TreeV1, find_cgroups, read_mounts
from computepool.agent.sandbox.identity import instance_of
from computepool.agent.sandbox.interface import EGRESS_PORT
from computepool.protocol.states import IsolationLevel


def test_every_sandbox_here_proves_itself(every):
    result = asyncio.run(self_test(every.sandbox))
    assert result.problems == ()
    assert result.ok
    assert result.facts["limits"] == ("watchdog (soft)" if every.sandbox.soft_limits else "cgroups")


def test_self_test_leaves_no_folder(every):
    before = sorted(every.sandbox.attempts_folder.iterdir())
    asyncio.run(self_test(every.sandbox))
    assert sorted(every.sandbox.attempts_folder.iterdir()) == before


def test_strongest_comes_first_and_a_plain_process_is_always_there(state):
    levels = [sandbox.level for sandbox in available_sandboxes(state)]
    assert levels[-1] == IsolationLevel.PROCESS
    assert levels == sorted(levels, key=list(IsolationLevel).index, reverse=True)


def test_machine_without_bubblewrap_says_how_to_get_it(state, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [sandbox.level for sandbox in available_sandboxes(state)] == [IsolationLevel.PROCESS]
    advice = how_to_get_bubblewrap()
    assert advice
    assert "apt install bubblewrap" in advice


def broken_test(state: Path, *, more: tuple[str, ...] = (), read_only: Sequence[Path] = ()) -> SelfTest:
    """The self-test of a bubblewrap that was given more arguments than it should get."""
    engines.require("bwrap")
    sandbox = available_sandboxes(state, use_cgroups=False, read_only=read_only)[0]
    assert isinstance(sandbox, BubblewrapSandbox)
    sandbox._system = (*sandbox._system, *more)
    if os.geteuid() != 0 and "--share-net" in more:
        sandbox.has_egress = False  # only root could enter the host's network to listen there

    async def story() -> SelfTest:
        try:
            return await self_test(sandbox)
        finally:
            await sandbox.close()

    return asyncio.run(story())


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (("--share-net",), "host-port-visible: yes"),
        (("--dir", "/root"), "host-homes-visible: yes"),
    ],
)
def test_leaks_are_found(state, more, problem):
    result = broken_test(state, more=more)
    assert not result.ok
    assert problem in result.problems


def test_files_of_the_host_that_show_are_found(state, monkeypatch):
    # Not the host's whole folder for such files: all that lies there would count as the job's own.
    elsewhere = state / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    result = broken_test(state, read_only=[elsewhere])
    assert not result.ok
    assert "host-file-readable: yes" in result.problems


def test_missing_filter_is_found(state):
    engines.require("bwrap")
    sandbox = available_sandboxes(state, use_cgroups=False)[0]
    assert isinstance(sandbox, BubblewrapSandbox)
    sandbox._filter = struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)  # allows everything
    result = asyncio.run(self_test(sandbox))
    asyncio.run(sandbox.close())
    assert not result.ok
    assert result.problems == ("filter-refuses: no",)


def test_limits_that_are_not_kept_are_found(state):
    """Version 1 of the bug: podman without root accepts limits and ignores them."""
    engines.require("bwrap")
    tree = find_cgroups("ignoring")
    if not isinstance(tree, TreeV1):
        pytest.skip("control groups, version 1: this user may not make any")
    sandbox = available_sandboxes(state)[0]
    assert isinstance(sandbox, BubblewrapSandbox)

    class Ignoring(CgroupV1):
        def set_limits(self, limits) -> None:
            del limits

    class IgnoringTree(TreeV1):
        def make(self, name: str) -> CgroupV1:
            return Ignoring(name, self._parents, self._home)

    tree = IgnoringTree(instance_of(state), tree._parents, [mount.own for mount in read_mounts() if mount.version == 1])
    sandbox._cgroups = tree

    async def story() -> set[str]:
        result = await self_test(sandbox)
        assert not result.ok
        kinds = {problem.split(":")[0] for problem in result.problems}
        async with asyncio.timeout(patience()):
            while "cpu" not in kinds:  # on a busy machine not even an unbounded job gets much of the processor
                if await selftest._cpu(sandbox):
                    kinds.add("cpu")
        await sandbox.close()
        return kinds

    assert asyncio.run(story()) == {"memory", "pids", "cpu"}


@pytest.mark.parametrize(
    ("code", "reason", "is_held"),
    [(137, "memory", True), (137, "exited", True), (137, "killed", False), (0, "exited", False)],
)
def test_kill_by_the_kernel_counts_as_a_limit_that_was_kept(monkeypatch, code, reason, is_held):
    """Also where the engine removed the control group before it could be asked why."""

    async def run(*_, **__):
        return selftest.Outcome(Exit(code, None, reason, 0.0, 0, True), "16777216\n", 0.1, {})

    monkeypatch.setattr(selftest, "_run", run)
    assert (asyncio.run(selftest._memory(None)) == []) is is_held  # type: ignore[arg-type]  # nothing asks it


def test_egress_that_is_forgotten_is_found(state):
    engines.require("bwrap")

    class Forgetful(BubblewrapSandbox):
        async def start(self, command: Command) -> Process:
            return await super().start(replace(command, egress=None))

    bwrap = shutil.which("bwrap")
    assert bwrap
    sandbox = Forgetful(state, bwrap=bwrap)
    result = asyncio.run(self_test(sandbox))
    asyncio.run(sandbox.close())
    assert not result.ok
    assert set(result.problems) == {"with egress, egress-listens: no", "with egress, egress-answers: no"}


def test_network_that_comes_along_with_egress_is_found(state):
    engines.require("bwrap")

    class Generous(BubblewrapSandbox):
        async def start(self, command: Command) -> Process:
            before = self._system
            if command.egress:
                self._system = (*before, "--share-net")
                # Only root could enter the host's network to listen there.
                command = replace(command, egress=None)
            try:
                return await super().start(command)
            finally:
                self._system = before

    bwrap = shutil.which("bwrap")
    assert bwrap
    sandbox = Generous(state, bwrap=bwrap)

    async def story() -> list[str]:
        with socket.create_server(("127.0.0.1", 0)):
            problems = await selftest._egress(sandbox)
        await sandbox.close()
        return problems

    assert "with egress, other-listeners: yes" in asyncio.run(story())


def test_facts_tell_whether_there_is_a_way_out(every):
    facts = asyncio.run(self_test(every.sandbox)).facts
    expected = "not bounded" if every.sandbox.level == IsolationLevel.PROCESS else f"a proxy on port {EGRESS_PORT}"
    assert facts["egress"] == expected


def test_broken_bubblewrap_is_a_problem_not_a_crash(state, tmp_path):
    engines.require("bwrap")
    sandbox = available_sandboxes(state, use_cgroups=False)[0]
    assert isinstance(sandbox, BubblewrapSandbox)
    sandbox._system = (*sandbox._system, "--no-such-option")
    result = asyncio.run(self_test(sandbox))
    asyncio.run(sandbox.close())
    assert not result.ok
    assert "--no-such-option" in result.problems[0]


UNPRIVILEGED = """
import asyncio, json, os, sys
from pathlib import Path
from computepool.agent.sandbox import available_sandboxes, self_test, selftest

async def story():
    selftest.PROBE_SECONDS = 600
    found = {}
    for sandbox in available_sandboxes(Path(sys.argv[1])):
        result = await self_test(sandbox)
        found[sandbox.level] = [result.ok, sandbox.soft_limits, list(result.problems)]
        await sandbox.close()
    print(json.dumps([os.getuid(), found]))

asyncio.run(story())
"""


def test_ordinary_user_gets_the_same_isolation_with_soft_limits():
    """Without root and without control groups; as root, the test becomes nobody for it."""
    engines.require("bwrap")
    uid, found = json.loads(run_as_ordinary_user(UNPRIVILEGED))
    assert uid != 0
    assert found["bubblewrap"][0], found
    assert found["process"][0], found
    if os.geteuid() == 0:
        assert found["bubblewrap"][1]  # nobody may not make control groups


def test_room_imports_without_anything_but_the_standard_library():
    """The light install must stay light, and the guard must start quickly."""
    script = "import sys, computepool.agent.sandbox; print([m for m in ('pydantic', 'httpx') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
