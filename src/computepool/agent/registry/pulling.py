"""An image's way from its registry into the engine. What is here already is not fetched again."""

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

from computepool.agent.clock import Clock
from computepool.agent.images import (
    ImageFailed,
    ImageMissing,
    ImageTooSlow,
    ImageUnavailable,
    RegistryUnreachable,
)
from computepool.agent.inputs import BadInput, InputCache, InputFailed, InputTooSlow
from computepool.agent.outside import Outside
from computepool.agent.ports import Offload
from computepool.agent.sandbox.containers import EngineError, EngineImages
from computepool.agent.sandbox.containers.images import engine_name

from .archive import ImageArchive
from .content import ImageManifest, ManifestList, read_diff_ids, read_manifest
from .layers import CheckedLayer, check_layer
from .names import ImageName, read_name
from .session import RegistrySession, digest_of, open_registry

TRIES = 3
PAUSE_SECONDS = 2.0
PROGRESS_SECONDS = 2.0
GROWTH = 3
"""What a layer takes in the engine's storage, before anybody knows: itself on its way in, and about twice of that."""
MAX_GROWTH, SMALL_BYTES = 100, 1 << 30
"""An image that unpacks to more than this, times its size and a little more, is a bomb."""
MEGABYTE = 1_000_000

Say = Callable[[str], None]


class Puller:
    """Brings images into one engine. `floor_bytes` of its disk stay free."""

    def __init__(
        self,
        store: EngineImages,
        layers: InputCache,
        outside: Outside,
        clock: Clock,
        offload: Offload,
        *,
        floor_bytes: int = 0,
        free_bytes: Callable[[], int | None] | None = None,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._store = store
        self._layers = layers
        self._outside = outside
        self._clock = clock
        self._offload = offload
        self._floor_bytes = floor_bytes
        self._free_bytes = free_bytes or store.free_bytes
        self._pause_seconds = pause_seconds
        self._turns: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    async def ensure(self, name: str, digest: str | None, progress: Say, *, own: bool) -> str:
        """See `Images`."""
        wanted = read_name(name, digest)
        # Two jobs that want the same: one of them pulls.
        async with self._turns.setdefault(wanted.reference, asyncio.Lock()):
            try:
                found = await self._ensure(wanted, progress, own=own)
                await self._store.use(found, wanted.tagged)
            except EngineError as error:
                raise ImageUnavailable(f"{wanted.reference} could not be pulled: {error}") from error
            except BadInput as error:
                raise ImageMissing(f"{wanted.reference}: {error}") from None
            except InputTooSlow as error:
                raise ImageTooSlow(f"{wanted.reference}: {error}") from None
            except InputFailed as error:
                # The cache has no room.
                raise ImageUnavailable(f"{wanted.reference}: {error}") from None
            except ImageFailed as error:
                raise type(error)(f"{wanted.reference}: {error}") from None
            return found

    async def _ensure(self, wanted: ImageName, progress: Say, *, own: bool) -> str:
        if wanted.digest and await self._store.has(wanted.digest, wanted.registry):
            return wanted.digest
        try:
            return await self._try_often(wanted, progress, own=own)
        except RegistryUnreachable as error:
            known = None if wanted.digest else await self._store.digest_last_used(wanted.tagged, wanted.registry)
            if known is None:
                raise
            progress(f"{error}; using {wanted.repository}@{known}, which this name meant when it was pulled last")
            return known

    async def _try_often(self, wanted: ImageName, progress: Say, *, own: bool) -> str:
        for left in reversed(range(TRIES)):
            try:
                async with open_registry(self._outside, wanted, own=own) as registry:
                    return await self._pull(registry, wanted, progress)
            except RegistryUnreachable as error:
                if not left:
                    raise
                progress(f"{error}; trying again")
                await asyncio.sleep(self._pause_seconds)
        raise AssertionError("the last try returns or raises")

    async def _pull(self, registry: RegistrySession, wanted: ImageName, progress: Say) -> str:
        digest = wanted.digest or await registry.digest_of_tag()
        if digest and await self._store.has(digest, wanted.registry):
            return digest
        progress(f"pulling {wanted.reference}")
        digest, manifest = await self._manifest(registry, wanted)
        if await self._store.has(digest, wanted.registry):
            return digest
        config = await registry.config(manifest.config)
        diff_ids = read_diff_ids(config, manifest)
        # An image that does not fit is not begun.
        self._check_room(manifest.size_bytes * GROWTH)
        told = PullProgress(wanted, manifest, progress, self._clock.monotonic)
        async with contextlib.AsyncExitStack() as lending:
            layers = await self._bring(registry, manifest, diff_ids, told, lending)
            archive = ImageArchive(engine_name(digest), config, manifest.config.digest, layers)
            self._check_room(archive.size_bytes + archive.unpacked_bytes)
            await self._store.load(self._pieces(archive), digest, diff_ids, wanted.tagged, wanted.registry)
        return digest

    async def _manifest(self, registry: RegistrySession, wanted: ImageName) -> tuple[str, ImageManifest]:
        """What the name means, by its digest, and what of it is for this machine."""
        content, kind = await registry.manifest(wanted.wanted)
        found = read_manifest(content, kind)
        if isinstance(found, ManifestList):
            chosen = found.choose(self._store.facts.architecture)
            found = read_manifest(*await registry.manifest(chosen.digest))
            if isinstance(found, ManifestList):
                raise ImageMissing("its list of manifests names another list")
        return digest_of(content), found

    async def _bring(
        self,
        registry: RegistrySession,
        manifest: ImageManifest,
        diff_ids: tuple[str, ...],
        progress: "PullProgress",
        lending: contextlib.AsyncExitStack,
    ) -> list[CheckedLayer]:
        """The layers, which stay in the cache until `lending` ends, each checked to be what the image says."""
        checked: dict[tuple[str, str], CheckedLayer] = {}
        unpacked = 0
        limit = SMALL_BYTES + MAX_GROWTH * manifest.size_bytes
        for layer, diff_id in zip(manifest.layers, diff_ids, strict=True):
            if (layer.digest, diff_id) in checked:
                continue
            note = progress.of(layer.digest)
            lent = self._layers.lend(layer.digest, layer.size_bytes, registry.layer(layer), progress=note)
            path = await lending.enter_async_context(lent)
            note(layer.size_bytes)
            if (size := path.stat().st_size) != layer.size_bytes:
                raise ImageMissing(f"its manifest gives {layer.digest} {layer.size_bytes} bytes, and it has {size}")
            found = await self._offload(check_layer, path, diff_id, limit - unpacked)
            unpacked += found.unpacked_bytes
            checked[layer.digest, diff_id] = found
        return [checked[layer.digest, diff_id] for layer, diff_id in zip(manifest.layers, diff_ids, strict=True)]

    def _check_room(self, needed_bytes: int) -> None:
        free = self._free_bytes()
        if free is not None and free - needed_bytes < self._floor_bytes:
            raise ImageUnavailable(
                f"no room for it: the node has {free / MEGABYTE:.0f} MB of disk left, about "
                f"{needed_bytes / MEGABYTE:.0f} MB are needed, and {self._floor_bytes / MEGABYTE:.0f} MB are always "
                "kept free"
            )

    async def _pieces(self, archive: ImageArchive) -> AsyncIterator[bytes]:
        pieces: Iterator[bytes] = archive.pieces()
        while (piece := await self._offload(next, pieces, None)) is not None:
            yield piece


@dataclass
class PullProgress:
    """How far a pull is, in a line now and then."""

    image: ImageName
    manifest: ImageManifest
    say: Say
    monotonic: Callable[[], float]
    _have: dict[str, int] = field(default_factory=dict)
    _said_at: float = float("-inf")

    def of(self, layer: str) -> Callable[[int], None]:
        def note(have_bytes: int) -> None:
            self._have[layer] = have_bytes
            now = self.monotonic()
            if now - self._said_at >= PROGRESS_SECONDS:
                self._said_at = now
                have, total = sum(self._have.values()), self.manifest.size_bytes
                self.say(f"pulling {self.image.reference}: {have / MEGABYTE:.0f} of {total / MEGABYTE:.0f} MB")

        return note
