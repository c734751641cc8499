"""Real sandboxes of every kind that this machine has."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import engines
from support.sandboxes import Bench
from support.waiting import patience

from computepool.agent.sandbox import Sandbox, available_sandboxes, selftest
from computepool.agent.sandbox.cgroup_tree import find_cgroups, sweep
from computepool.agent.sandbox.identity import instance_of

KINDS = ["bubblewrap", "bubblewrap-soft", "process", "process-soft"]


@pytest.fixture(autouse=True)
def patient_self_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A self-test gives its probes ten seconds, in which they may not end on a busy machine."""
    monkeypatch.setattr(selftest, "PROBE_SECONDS", patience())


@pytest.fixture(scope="session")
def state() -> Iterator[Path]:
    """An agent's folder that other users can reach, as /var/lib/computepool is (pytest's own folders are not)."""
    folder = Path(tempfile.mkdtemp(prefix="computepool-test-"))
    folder.chmod(0o755)
    yield folder
    # Killed agents are part of these tests, and nobody comes after them.
    asyncio.run(sweep(instance_of(folder), folder / "cgroup-parents", None))
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def bench(state: Path) -> Iterator[Callable[[str], Bench]]:
    """bench("bubblewrap"), bench("bubblewrap-soft"), bench("process"), bench("process-soft")"""
    made: list[Sandbox] = []

    def make(kind: str) -> Bench:
        level, _, soft = kind.partition("-")
        if level == "bubblewrap":
            engines.require("bwrap")
        if not soft and find_cgroups("probe") is None:
            pytest.skip("control groups: this user may not make any")
        sandboxes = available_sandboxes(state, use_cgroups=not soft)
        made.extend(sandboxes)
        return Bench(next(sandbox for sandbox in sandboxes if sandbox.level == level))

    yield make

    async def close() -> None:
        for sandbox in made:
            await sandbox.close()

    asyncio.run(close())


@pytest.fixture(params=KINDS)
def every(request: pytest.FixtureRequest, bench: Callable[[str], Bench]) -> Bench:
    """The test runs once in each kind of sandbox."""
    return bench(request.param)


@pytest.fixture(params=["bubblewrap", "bubblewrap-soft"])
def isolated(request: pytest.FixtureRequest, bench: Callable[[str], Bench]) -> Bench:
    return bench(request.param)


@pytest.fixture(params=["process", "process-soft"])
def plain(request: pytest.FixtureRequest, bench: Callable[[str], Bench]) -> Bench:
    return bench(request.param)
