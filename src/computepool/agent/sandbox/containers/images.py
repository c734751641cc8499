"""Images that jobs bring: given to the engine as archives, remembered, and removed when there is no room for them.

Each has a name of ours in the engine. Only what has one is ever used for a job, or removed: the owner's own images are
neither shown to a stranger nor thrown away, also where they share layers with ours.
"""

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from computepool.agent.clock import Clock
from computepool.agent.images import ImageMissing, ImageUnavailable
from computepool.agent.sandbox.interface import Offload

from .engine import Engine, EngineFacts, EngineGone, EngineRefused

REPOSITORY = "localhost/computepool-image"
LOAD_SILENCE_SECONDS = 900.0
"""Podman says nothing until all of an image is unpacked."""
# What an engine says of the machine itself. The rest is about the image, which the renter chose.
_NODES_TROUBLE = re.compile(
    r"no space left|disk quota|read-only file system|input/output error|cannot allocate memory|insufficient (U|G)IDs",
    re.IGNORECASE,
)


def engine_name(digest: str) -> str:
    """What the image with this digest, in its registry, is called in the engine."""
    return f"{REPOSITORY}:{digest.removeprefix('sha256:')}"


@dataclass(frozen=True)
class StoredImage:
    """An image that a job brought."""

    digest: str
    """As the registry knows it: of its manifest, or of a list of manifests."""
    name: str
    """As the newest job wrote it, with a tag."""
    reference: str
    """Its name in the engine."""
    size_bytes: int
    last_used_at: datetime
    registries: tuple[str, ...] = ()
    """Those that gave all of it: to jobs that name another one it is not here."""


class EngineImages:
    """The images of one engine. `state` is a file of this store's own."""

    def __init__(
        self,
        engine: Engine,
        facts: EngineFacts,
        *,
        state: Path,
        clock: Clock,
        offload: Offload = asyncio.to_thread,
    ) -> None:
        self.facts = facts
        self._engine = engine
        self._state = state
        self._clock = clock
        self._offload = offload
        self._images = load_images(state)

    def free_bytes(self) -> int | None:
        """Where the engine keeps images. None if that cannot be seen. Blocking."""
        try:
            return shutil.disk_usage(self.facts.storage).free
        except OSError:
            return None  # in a virtual machine of the engine's own, say

    async def has(self, digest: str, registry: str) -> bool:
        """Whether it is here, and this registry has given it. Raises EngineError."""
        known = self._images.get(engine_name(digest))
        return known is not None and registry in known.registries and await self._is_here(known)

    async def digest_last_used(self, name: str, registry: str) -> str | None:
        """What this name, with its tag, meant here last. Raises EngineError."""
        found = [image for image in self._images.values() if image.name == name and registry in image.registries]
        newest = max(found, key=lambda image: image.last_used_at, default=None)
        return newest.digest if newest is not None and await self._is_here(newest) else None

    async def use(self, digest: str, name: str) -> None:
        """A job is about to run it, and called it so."""
        if (known := self._images.get(engine_name(digest))) is not None:
            self._images[known.reference] = replace(known, name=name, last_used_at=self._clock.now())
            await self._save()

    async def load(
        self, archive: AsyncIterator[bytes], digest: str, diff_ids: Sequence[str], name: str, registry: str
    ) -> None:
        """`archive` names the image as `engine_name` does, and has the layers `diff_ids`.

        Raises ImageMissing, ImageUnavailable, EngineError.
        """
        reference = engine_name(digest)
        await self._engine.version()  # an engine that is not there at all is no image's doing
        try:
            await self._engine.load_image(archive, silence_seconds=LOAD_SILENCE_SECONDS)
            found = await self._engine.find_image(reference)
        except EngineGone as error:
            raise ImageUnavailable(f"the engine gave up in the middle of it: {error}") from error
        except EngineRefused as error:
            if _NODES_TROUBLE.search(str(error)):
                raise ImageUnavailable(f"this node's engine could not keep it: {error}") from error
            raise ImageMissing(f"{self.facts.kind} does not take it: {error}") from error
        if found is None:
            raise ImageMissing(f"{self.facts.kind} took it, and does not show it")
        if list((found.get("RootFS") or {}).get("Layers") or []) != list(diff_ids):
            # An engine that reads a configuration otherwise than the agent would take layers that it has of others.
            await self._engine.remove_image(reference)
            raise ImageMissing(f"{self.facts.kind} reads other layers from its configuration than it was given")
        known = self._images.get(reference)
        registries = dict.fromkeys((*(known.registries if known else ()), registry))
        self._images[reference] = StoredImage(
            digest=digest,
            name=name,
            reference=reference,
            size_bytes=int(found.get("Size") or 0),
            last_used_at=self._clock.now(),
            registries=tuple(registries),
        )
        await self._save()

    async def list(self) -> "list[StoredImage]":
        """What jobs brought and still is here, least recently used first."""
        for image in list(self._images.values()):
            if not await self._is_here(image):
                self._images.pop(image.reference, None)
        return sorted(self._images.values(), key=lambda image: image.last_used_at)

    async def remove(self, reference: str) -> bool:
        """False if it stays: a container uses it, or it is none of ours."""
        if reference not in self._images:
            return False
        try:
            await self._engine.remove_image(reference)
        except EngineRefused as error:
            if error.status != 404:
                return False
        self._images.pop(reference, None)
        await self._save()
        return True

    async def _is_here(self, image: StoredImage) -> bool:
        return await self._engine.find_image(image.reference) is not None

    async def _save(self) -> None:
        # Not above: what proves a sandbox must not need what the agent's home does.
        from computepool.agent.home import write_atomically

        kept = [{**asdict(image), "last_used_at": image.last_used_at.isoformat()} for image in self._images.values()]
        # Where they are is for whoever uninstalls the agent, in another environment than the agent's.
        written = {"socket": str(self._engine.path), "images": kept}
        await self._offload(write_atomically, self._state, json.dumps(written, indent=1).encode())


def load_images(state: Path) -> dict[str, StoredImage]:
    """By their names in the engine; nothing if the file cannot be read: what it named is then never removed.

    Agents before these had the engine pull, under names of registries: those images are listed and removed as before,
    those that were the owner's (`is_ours` is false) are left alone, and none of them is used.
    """
    try:
        entries = json.loads(state.read_bytes())["images"]
        images = [
            StoredImage(
                digest=str(entry["digest"]),
                name=str(entry["name"]),
                reference=str(entry["reference"]),
                size_bytes=int(entry["size_bytes"]),
                last_used_at=datetime.fromisoformat(entry["last_used_at"]).astimezone(UTC),
                registries=tuple(map(str, entry.get("registries", ()))),
            )
            for entry in entries
            if entry.get("is_ours", True)
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {image.reference: image for image in images}
