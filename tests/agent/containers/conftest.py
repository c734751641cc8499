"""Real engines of the tests' own, one of each kind for all of these tests."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import engines, private_engines
from support.containers import ContainerBench
from support.fake_registry import FakeRegistry, fake_registry
from support.private_engines import PrivateEngine
from support.proofs import proving
from support.waiting import patience

from computepool.agent.sandbox import selftest
from computepool.agent.sandbox.containers import find, process

# Those of one engine to one worker, so that each is brought up once: see support/sharing.py.
KINDS = ["docker@docker-engine"]
"""Every run has the probes and a real job through all of them; here one will do, but in the proofs."""
RUNC_KINDS = ["docker@docker-engine"]
if proving():
    KINDS += ["gvisor@docker-engine", "podman@podman-engine"]
    RUNC_KINDS += ["podman@podman-engine"]


@pytest.fixture(autouse=True)
def patient_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent gives an engine some seconds to be found and to prove itself, in which it may not on a busy machine."""
    monkeypatch.setattr(find, "FIND_SECONDS", patience())
    monkeypatch.setattr(process, "SETTLE_SECONDS", patience())
    monkeypatch.setattr(selftest, "ENGINE_SECONDS", patience())


@pytest.fixture(scope="session")
def state() -> Iterator[Path]:
    """An agent's folder that other users can reach, as /var/lib/computepool is (pytest's own folders are not)."""
    folder = Path(tempfile.mkdtemp(prefix="computepool-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def kept_registry() -> Iterator[FakeRegistry]:
    with fake_registry() as registry:
        yield registry


@pytest.fixture
def registry(kept_registry: FakeRegistry) -> FakeRegistry:
    """A fake image registry, behaving well at first."""
    kept_registry.behave()
    return kept_registry


@pytest.fixture(scope="session")
def docker() -> Iterator[PrivateEngine]:
    with private_engines.docker_engine() as engine:
        yield engine


@pytest.fixture(scope="session")
def podman(kept_registry: FakeRegistry) -> Iterator[PrivateEngine]:
    with private_engines.podman_engine(kept_registry.address) as engine:
        yield engine


@pytest.fixture
def bench(request: pytest.FixtureRequest, state: Path) -> Iterator[Callable[[str], ContainerBench]]:
    """bench("docker"), bench("gvisor"), bench("podman"); skipped by name where it is missing."""
    made: list[ContainerBench] = []

    def make(kind: str) -> ContainerBench:
        engines.require(kind)
        private = request.getfixturevalue("podman" if kind == "podman" else "docker")
        made.append(ContainerBench.make(state, private, gvisor=kind == "gvisor"))
        return made[-1]

    yield make

    async def close() -> None:
        for one in made:
            await one.sandbox.close()

    asyncio.run(close())


@pytest.fixture(params=KINDS)
def every(request: pytest.FixtureRequest, bench: Callable[[str], ContainerBench]) -> ContainerBench:
    """The test runs once with each engine."""
    return bench(request.param.partition("@")[0])


@pytest.fixture(params=RUNC_KINDS)
def shared_kernel(request: pytest.FixtureRequest, bench: Callable[[str], ContainerBench]) -> ContainerBench:
    """Those whose jobs run on the host's kernel."""
    return bench(request.param.partition("@")[0])
