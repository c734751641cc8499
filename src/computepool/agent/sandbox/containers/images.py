"""Images that jobs bring: pulled by digest, remembered, and removed again when there is no room for them.

Only what was pulled here for a job is ever used for one, or removed. The owner's own images are neither shown to a
stranger by name nor thrown away: an image that was there before stays the owner's.
"""

import asyncio
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from computepool.agent.clock import Clock
from computepool.agent.images import ImageMissing, ImageUnavailable
from computepool.agent.sandbox.interface import Offload

from .engine import Engine, EngineError, EngineFacts, EngineGone, EngineRefused
from .pull import DIGEST, Name, Pull, read_name

TRIES = 3
PAUSE_SECONDS = 2.0


@dataclass(frozen=True)
class StoredImage:
    """An image that a job brought. `is_ours` says that it was not there before, and may be removed."""

    digest: str
    name: str
    reference: str
    size_bytes: int
    last_used_at: datetime
    is_ours: bool


class ImageStore(Protocol):
    async def ensure(self, name: str, digest: str | None, progress: Callable[[str], None]) -> str: ...

    async def list(self) -> "list[StoredImage]": ...

    async def remove(self, digest: str) -> bool: ...


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
        floor_bytes: int = 0,
        free_bytes: Callable[[], int | None] | None = None,
        pause_seconds: float = PAUSE_SECONDS,
        passed: Callable[[int], None] = lambda count: None,
    ) -> None:
        """`passed` hears of the bytes that pulls bring, as far as the engine tells."""
        self._engine = engine
        self._facts = facts
        self._state = state
        self._clock = clock
        self._offload = offload
        self._floor_bytes = floor_bytes
        self._free_bytes = free_bytes or self._free_in_storage
        self._pause_seconds = pause_seconds
        self._passed = passed
        self._images = load_images(state)
        self._pulling: dict[str, asyncio.Lock] = {}

    def _free_in_storage(self) -> int | None:
        try:
            return shutil.disk_usage(self._facts.storage).free
        except OSError:
            return None  # in a virtual machine of the engine's own, say

    async def ensure(self, name: str, digest: str | None, progress: Callable[[str], None]) -> str:
        """The digest of the image, which is here when this returns. Raises what `Images.ensure` does."""
        wanted = read_name(name, digest)
        # Two jobs that want the same: one of them pulls.
        async with self._pulling.setdefault(wanted.reference, asyncio.Lock()):
            try:
                return await self._ensure(wanted, progress)
            except EngineError as error:
                raise ImageUnavailable(f"{wanted.reference} could not be pulled: {error}") from error

    async def _ensure(self, wanted: Name, progress: Callable[[str], None]) -> str:
        if wanted.digest and await self._is_here(wanted.digest):
            return await self._used(wanted.digest)
        try:
            return await self._pull(await self._pinned(wanted), progress)
        except ImageUnavailable as error:
            known = next((one.digest for one in self._images.values() if one.name == wanted.reference), None)
            if known is None or not await self._is_here(known):
                raise
            progress(f"{error}; using {wanted.repository}@{known}, which this name meant when it was pulled last")
            return await self._used(known)

    async def _is_here(self, digest: str) -> bool:
        known = self._images.get(digest)
        return known is not None and await self._engine.find_image(known.reference) is not None

    async def _pinned(self, wanted: Name) -> Name:
        """Docker can say what a tag means now, so that the owner's own tag of this name stays as it is."""
        if wanted.digest or self._facts.kind != "docker":
            return wanted
        try:
            said = await self._engine.ask("GET", f"/distribution/{wanted.reference}/json")
            found = str(said["Descriptor"]["digest"])
        except (EngineRefused, KeyError, TypeError):
            return wanted  # the pull then says what is wrong
        return Name(wanted.repository, wanted.tag, found) if DIGEST.fullmatch(found) else wanted

    async def _pull(self, wanted: Name, progress: Callable[[str], None]) -> str:
        if wanted.digest and await self._is_here(wanted.digest):
            return await self._used(wanted.digest)
        before = {str(image["Id"]) for image in await self._engine.list_images()}
        progress(f"pulling {wanted.reference}")
        pull = Pull(
            self._engine, wanted, progress, self._free_bytes, self._floor_bytes, self._clock.monotonic, self._passed
        )
        for left in reversed(range(TRIES)):
            try:
                await pull.run()
                break
            except ImageUnavailable as error:
                if not left or isinstance(error.__cause__, EngineGone) or "no room" in str(error):
                    raise
                progress(f"{error}; trying again")
                await asyncio.sleep(self._pause_seconds)
        digest = await self._remember(wanted, before)
        if not pull.counted_bytes and self._images[digest].is_ours:
            # Podman tells nothing: then rather too much than too little.
            self._passed(self._images[digest].size_bytes)
        return digest

    async def _remember(self, wanted: Name, before: set[str]) -> str:
        found = await self._engine.find_image(wanted.reference)
        if found is None:
            raise ImageUnavailable(f"{wanted.reference} was pulled, but the engine does not show it")
        digests = [str(one).rpartition("@")[2] for one in found.get("RepoDigests") or []]
        digest = wanted.digest or next((one for one in digests if DIGEST.fullmatch(one)), None)
        if digest is None or digest not in digests:
            raise ImageMissing(f"{wanted.reference} has no digest that could be held on to")
        known = self._images.get(digest)
        self._images[digest] = StoredImage(
            digest=digest,
            name=f"{wanted.repository}:{wanted.tag}",
            reference=wanted.reference,
            size_bytes=int(found.get("Size") or 0),
            last_used_at=self._clock.now(),
            is_ours=known.is_ours if known else str(found["Id"]) not in before,
        )
        await self._save()
        return digest

    async def _used(self, digest: str) -> str:
        known = self._images[digest]
        self._images[digest] = StoredImage(**{**asdict(known), "last_used_at": self._clock.now()})
        await self._save()
        return digest

    async def list(self) -> "list[StoredImage]":
        """What was pulled here and still is, least recently used first."""
        for digest in [one for one in self._images if not await self._is_here(one)]:
            del self._images[digest]
        return sorted(self._images.values(), key=lambda image: image.last_used_at)

    async def remove(self, digest: str) -> bool:
        """False if it stays: a container uses it, or it is the owner's."""
        known = self._images.get(digest)
        if known is None or not known.is_ours:
            return False
        try:
            await self._engine.remove_image(known.reference)
        except EngineRefused as error:
            if error.status != 404:
                return False
        self._images.pop(digest, None)
        await self._save()
        return True

    async def _save(self) -> None:
        # Not above: what proves a sandbox must not need what the agent's home does.
        from computepool.agent.home import write_atomically

        kept = [{**asdict(image), "last_used_at": image.last_used_at.isoformat()} for image in self._images.values()]
        # Where they are is for whoever uninstalls the agent, in another environment than the agent's.
        written = {"socket": str(self._engine.path), "images": kept}
        await self._offload(write_atomically, self._state, json.dumps(written, indent=1).encode())


def load_images(state: Path) -> dict[str, StoredImage]:
    """Nothing if the file cannot be read: what it named then counts as the owner's, and is never removed."""
    try:
        entries = json.loads(state.read_bytes())["images"]
        images = [
            StoredImage(
                digest=str(entry["digest"]),
                name=str(entry["name"]),
                reference=str(entry["reference"]),
                size_bytes=int(entry["size_bytes"]),
                last_used_at=datetime.fromisoformat(entry["last_used_at"]).astimezone(UTC),
                is_ours=bool(entry["is_ours"]),
            )
            for entry in entries
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {image.digest: image for image in images}
