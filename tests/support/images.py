"""A puller with a cache of its own, and a store without an engine, for tests."""

import io
import json
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from computepool.agent.clock import SystemClock
from computepool.agent.egress import Resolver
from computepool.agent.inputs import InputCache
from computepool.agent.outside import Outside
from computepool.agent.ports import offload_to_threads
from computepool.agent.registry import Puller
from computepool.agent.sandbox.containers.images import engine_name
from computepool.agent.transfer import HttpTransfer


def layer_cache(folder: Path) -> InputCache:
    folder.mkdir(exist_ok=True)
    return InputCache(folder, HttpTransfer("http://nowhere.invalid"), offload_to_threads)


def puller_of(store: Any, folder: Path, outside: Outside | None = None, **more: Any) -> Puller:
    """Tries again without a pause."""
    clock = SystemClock()
    used = outside or Outside(clock=clock, lookup=Resolver().lookup)
    options = {"pause_seconds": 0.0, **more}
    return Puller(store, layer_cache(folder / "layers"), used, clock, offload_to_threads, **options)


class MemoryStore:
    """An engine's images without an engine: it reads the archives that it is given, as an engine does."""

    def __init__(self, architecture: str = "amd64") -> None:
        self.facts = SimpleNamespace(architecture=architecture, kind="memory")
        self.files: dict[str, list[bytes]] = {}
        """By digest: the layers as they were given."""
        self.given_by: dict[str, set[str]] = {}
        self.names: dict[str, str] = {}

    def free_bytes(self) -> int | None:
        return None

    async def has(self, digest: str, registry: str) -> bool:
        return registry in self.given_by.get(digest, ())

    async def digest_last_used(self, name: str, registry: str) -> str | None:
        digest = self.names.get(name)
        return digest if digest and registry in self.given_by[digest] else None

    async def use(self, digest: str, name: str) -> None:
        self.names[name] = digest

    async def load(self, archive: AsyncIterator[bytes], digest: str, diff_ids: Any, name: str, registry: str) -> None:
        content = io.BytesIO(b"".join([piece async for piece in archive]))
        with tarfile.open(fileobj=content, mode="r:") as tar:
            (manifest,) = json.loads(_member(tar, "manifest.json"))
            assert manifest["RepoTags"] == [engine_name(digest)]
            config = json.loads(_member(tar, manifest["Config"]))
            assert config["rootfs"]["diff_ids"] == list(diff_ids)
            assert len(diff_ids) == len(manifest["Layers"])
            self.files[digest] = [_member(tar, layer) for layer in manifest["Layers"]]
        self.given_by.setdefault(digest, set()).add(registry)


def _member(tar: tarfile.TarFile, name: str) -> bytes:
    file = tar.extractfile(name)
    assert file is not None
    return file.read()
