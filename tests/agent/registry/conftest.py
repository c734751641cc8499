"""A registry on a small internet, and a puller of strangers' images."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.images import MemoryStore, puller_of
from support.secure_registry import REGISTRY, SecureRegistry, secure_registry

from computepool.agent import inputs
from computepool.agent.registry import pulling, session

Pull = Callable[..., str]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(pulling, "TRIES", 2)
    monkeypatch.setattr(session, "TRIES", 2)


@pytest.fixture(scope="module")
def kept_world() -> Iterator[SecureRegistry]:
    with secure_registry() as world:
        yield world


@pytest.fixture
def world(kept_world: SecureRegistry) -> SecureRegistry:
    kept_world.registry.behave()
    for noted in (kept_world.targets, kept_world.addresses, kept_world.lookups):
        noted.clear()
    return kept_world


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def pull(world: SecureRegistry, store: MemoryStore, tmp_path: Path) -> Pull:
    """Pull an image for a stranger; its digest. `fresh` is a node that has nothing yet."""

    def run(
        name: str = f"{REGISTRY}/team/model:1",
        digest: str | None = None,
        *,
        own: bool = False,
        say: Callable[[str], None] = lambda line: None,
        outside: dict | None = None,
        fresh: bool = False,
        **more,
    ) -> str:
        async def story() -> str:
            used = MemoryStore() if fresh else store
            folder = Path(tempfile.mkdtemp(dir=tmp_path)) if fresh else tmp_path
            puller = puller_of(used, folder, world.outside(**(outside or {})), **more)
            return await puller.ensure(name, digest, say, own=own)

        return asyncio.run(story())

    return run
