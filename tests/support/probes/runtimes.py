"""Every runtime that probes are run against. To add one, add it to RUNTIMES.

Each is a context manager around a sandbox; `ordinary-user` has none here, because it runs as somebody else.
"""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from support import engines, ordinary_user, private_engines
from support.containers import facts_of
from support.waiting import patience

import computepool
from computepool.agent.sandbox import Sandbox, available_sandboxes
from computepool.agent.sandbox.cgroup_tree import find_cgroups
from computepool.agent.sandbox.containers import ContainerSandbox, Engine

from .report import Report, report_of
from .run import terminal_of_its_own

Open = Callable[[Path], AbstractContextManager[Sandbox]]
HERE = Path(__file__).resolve().parent


@contextlib.contextmanager
def bubblewrap(state: Path, *, soft: bool = False, **more: Any) -> Iterator[Sandbox]:
    engines.require("bwrap")
    if not soft and find_cgroups("probe") is None:
        pytest.skip("control groups: this user may not make any")
    sandboxes = available_sandboxes(state, use_cgroups=not soft, **more)
    try:
        yield next(sandbox for sandbox in sandboxes if sandbox.level == "bubblewrap")
    finally:
        _close(*sandboxes)


@contextlib.contextmanager
def bubblewrap_soft(state: Path) -> Iterator[Sandbox]:
    with bubblewrap(state, soft=True) as sandbox:
        yield sandbox


@contextlib.contextmanager
def _container(state: Path, name: str, start: Any, *, gvisor: bool = False) -> Iterator[Sandbox]:
    engines.require(name)
    with start() as private:
        engine = Engine(private.socket)
        sandbox = ContainerSandbox(state, engine=engine, facts=asyncio.run(facts_of(private)), gvisor=gvisor)
        try:
            yield sandbox
        finally:
            _close(sandbox)


@contextlib.contextmanager
def docker(state: Path) -> Iterator[Sandbox]:
    with _container(state, "docker", private_engines.docker_engine) as sandbox:
        yield sandbox


@contextlib.contextmanager
def gvisor(state: Path) -> Iterator[Sandbox]:
    with _container(state, "gvisor", private_engines.docker_engine, gvisor=True) as sandbox:
        yield sandbox


@contextlib.contextmanager
def podman(state: Path) -> Iterator[Sandbox]:
    with _container(state, "podman", private_engines.podman_engine) as sandbox:
        yield sandbox


RUNTIMES: dict[str, Open] = {
    "bubblewrap": bubblewrap,
    "bubblewrap-soft": bubblewrap_soft,
    "docker": docker,
    "gvisor": gvisor,
    "podman": podman,
}
ORDINARY_USER = "bubblewrap-ordinary-user"


def report_on(runtime: str, state: Path) -> Report:
    if runtime == ORDINARY_USER:
        return _as_ordinary_user()
    with RUNTIMES[runtime](state) as sandbox:
        return asyncio.run(report_of(sandbox, state))


def _as_ordinary_user() -> Report:
    """With an agent that somebody started by hand, in a terminal."""
    engines.require("bwrap")
    python = sys.executable if os.geteuid() else "/usr/bin/python3"
    more: dict[str, Any] = {}
    if os.geteuid() == 0:
        more = {"user": ordinary_user.NOBODY, "group": ordinary_user.NOBODY, "extra_groups": []}
    with ordinary_user.ordinary_folder() as home, terminal_of_its_own() as terminal:
        shutil.copytree(Path(computepool.__file__).parent, home.parent / "computepool", ignore=_not_needed)
        shutil.copytree(HERE.parent, home.parent / "support", ignore=_not_needed)
        done = subprocess.run(
            [python, "-m", "support.probes.report", str(home / "state")],
            capture_output=True,
            text=True,
            cwd="/",
            env={"PYTHONPATH": str(home.parent), "PATH": os.defpath, "HOME": str(home)},
            timeout=4 * patience(),
            check=False,
            **terminal,
            **more,
        )
    assert done.returncode == 0, done.stderr
    return Report.read(done.stdout)


def _not_needed(folder: str, names: list[str]) -> list[str]:
    del folder
    return [name for name in names if name in {"hub", "cli", "__pycache__"}]


def _close(*sandboxes: Sandbox) -> None:
    async def close() -> None:
        for sandbox in sandboxes:
            await sandbox.close()

    asyncio.run(close())
