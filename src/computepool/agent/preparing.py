"""Before a job's first command: its image, bundle and inputs, and the checkpoint that it goes on from.

Not billed, unless the attempt ends because what its spec named came too slowly (ADR 0045).
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from computepool.agent.archive import ArchiveLimits, extract
from computepool.agent.attempt import Attempt, EndRequest
from computepool.agent.faults import AttemptOver, FaultPlace, at
from computepool.agent.images import ImageMissing, Images, ImageTooSlow, ImageUnavailable
from computepool.agent.inputs import InputFailed, Source
from computepool.agent.placement import WORK, checkpoint_place
from computepool.agent.placing import place_input, place_links
from computepool.agent.progress import Progress
from computepool.agent.restoring import empty_checkpoint_folder, make_checkpoint_folder, put_back
from computepool.agent.sandbox.interface import Sandbox
from computepool.agent.web import FromWeb
from computepool.agent.workshop import Workshop
from computepool.protocol.manifest import BundleRef, InputRef
from computepool.protocol.receipt import EndReason

log = logging.getLogger(__name__)

T = TypeVar("T")


class FetchTime:
    """How long the places that the spec named may keep the job's slot, all together. None for as long as they need."""

    def __init__(self, limit_seconds: float | None) -> None:
        self._limit_seconds = self._left_seconds = limit_seconds

    @contextlib.asynccontextmanager
    async def spent_on(self, what: str) -> AsyncIterator[None]:
        """Raises AttemptOver once the time is over."""
        loop = asyncio.get_running_loop()
        started, timeout = loop.time(), asyncio.timeout(self._left_seconds)
        try:
            async with timeout:
                yield
        except TimeoutError:
            if not timeout.expired():
                raise
            raise AttemptOver(
                EndReason.SLOW_INPUT,
                f"{what} was not here after {self._limit_seconds or 0:.0f} seconds, the limit for all that comes from"
                " elsewhere: name a faster place, make it smaller, or upload it to the pool as an artifact",
            ) from None
        finally:
            if self._left_seconds is not None:
                self._left_seconds = max(0.0, self._left_seconds - (loop.time() - started))


@dataclass(frozen=True)
class Fetching:
    progress: Progress
    time: FetchTime


@dataclass(frozen=True)
class Prepared:
    image_digest: str | None = None


def raise_if_ending(attempt: Attempt) -> None:
    if attempt.ending is not None:
        raise AttemptOver(attempt.ending.reason, attempt.ending.detail)


async def prepare(shop: Workshop, attempt: Attempt, sandbox: Sandbox, folder: Path) -> Prepared:
    """A stop interrupts it. Raises AttemptOver."""
    manifest = attempt.manifest
    nothing = (manifest.bundle, manifest.image, manifest.saved, manifest.checkpoint) == (None, None, None, None)
    if nothing and not manifest.inputs and not manifest.links:
        return Prepared()
    shop.tell(attempt, "preparing")
    return await interruptible(attempt, lambda: _prepare(shop, attempt, sandbox, folder))


async def interruptible(attempt: Attempt, work: Callable[[], Awaitable[T]]) -> T:
    """The result, unless the attempt is asked to end before: then AttemptOver says why."""
    raise_if_ending(attempt)
    task = asyncio.ensure_future(work())

    def interrupt(_: EndRequest) -> None:
        task.cancel()

    attempt.on_end_request = interrupt
    try:
        return await task
    except asyncio.CancelledError:
        if attempt.was_interrupted:
            raise_if_ending(attempt)
        raise
    finally:
        attempt.on_end_request = None


async def _prepare(shop: Workshop, attempt: Attempt, sandbox: Sandbox, folder: Path) -> Prepared:
    # The owner's own job keeps nobody else from the machine.
    fetching = Fetching(Progress(shop.clock, attempt.say), FetchTime(None if attempt.own else shop.fetch_seconds))
    async with at(FaultPlace.IMAGE, attempt):
        image_digest = await _pull(shop, attempt, fetching)
    unpacked_bytes = 0
    if attempt.manifest.bundle is not None:
        unpacked_bytes = await _unpack_bundle(shop, attempt, folder, attempt.manifest.bundle, fetching)
    if attempt.manifest.inputs:
        await _place_inputs(shop, attempt, folder, unpacked_bytes, fetching)
    async with at(FaultPlace.RESTORE, attempt):
        if attempt.manifest.saved is not None:
            await _restore(shop, attempt, folder, fetching)
        elif attempt.manifest.checkpoint is not None:
            await shop.offload(make_checkpoint_folder, folder, checkpoint_place(attempt.manifest))
    async with at(FaultPlace.PUT, attempt):
        await shop.offload(place_links, folder, folder / WORK, attempt.manifest.links)
        await shop.offload(sandbox.adopt, folder)
    return Prepared(image_digest)


async def _pull(shop: Workshop, attempt: Attempt, fetching: Fetching) -> str | None:
    name = attempt.manifest.image
    if name is None:
        return None
    if shop.images is None:
        raise AttemptOver(EndReason.DECLINED, "this node has no engine for images")

    def told(line: str) -> None:
        attempt.progress = {"what": line}
        fetching.progress.line(line)

    try:
        await shop.tidy_caches()
        async with fetching.time.spent_on(f"the image {name}"):
            digest = await _pull_pinned(shop.images, attempt, name, told)
    except ImageMissing as error:
        raise AttemptOver(EndReason.START_FAILED, str(error)) from None
    except ImageTooSlow as error:
        raise AttemptOver(EndReason.SLOW_INPUT, str(error)) from None
    except ImageUnavailable as error:
        # Of what size and make it is, the job decides: that it cannot be kept here speaks against nobody.
        raise AttemptOver(EndReason.UNREACHABLE, str(error)) from None
    finally:
        attempt.progress = None
    fetching.progress.done(f"image {name} is here")
    await shop.tidy_caches()
    return digest


async def _pull_pinned(images: Images, attempt: Attempt, name: str, told: Callable[[str], None]) -> str:
    """What the name meant to the job's first attempt, wherever that is still to be had."""
    pinned = attempt.manifest.image_digest
    try:
        return await images.ensure(name, pinned, told, own=attempt.own)
    except ImageMissing:
        if pinned is None:
            raise
    attempt.say(f"{name} was {pinned} in an earlier attempt; that is gone, and what the name means now is used")
    return await images.ensure(name, None, told, own=attempt.own)


async def _unpack_bundle(shop: Workshop, attempt: Attempt, folder: Path, bundle: BundleRef, fetching: Fetching) -> int:
    """Returns how many bytes that made."""
    wanted = _stored(shop, attempt, bundle)
    async with _lent(shop, attempt, wanted, "fetching the bundle", fetching) as archive, at(FaultPlace.UNPACK, attempt):
        limits = ArchiveLimits(disk_bytes=attempt.manifest.grant.disk_bytes)
        return (await shop.offload(extract, archive, folder / WORK, limits=limits)).bytes


async def _place_inputs(shop: Workshop, attempt: Attempt, folder: Path, used_bytes: int, fetching: Fetching) -> None:
    """File by file, and each content once, however many paths it has."""
    disk_bytes = attempt.manifest.grant.disk_bytes
    by_digest: dict[str, list[InputRef]] = {}
    for one in attempt.manifest.inputs:
        by_digest.setdefault(one.digest, []).append(one)
    for same in by_digest.values():
        paths = [one.path for one in same]
        one = next((one for one in same if one.url is None), same[0])
        _check_room(attempt, used_bytes + (one.size_bytes or 0) * len(paths))
        wanted = _input(shop, attempt, one, max(0, disk_bytes - used_bytes))
        async with _lent(shop, attempt, wanted, f"fetching input {paths[0]}", fetching) as content:
            used_bytes += content.stat().st_size * len(paths)
            _check_room(attempt, used_bytes)
            async with at(FaultPlace.PUT, attempt):
                await shop.offload(place_input, folder / WORK, paths, content)


def _check_room(attempt: Attempt, needed_bytes: int) -> None:
    disk_bytes = attempt.manifest.grant.disk_bytes
    if needed_bytes > disk_bytes:
        detail = f"bundle and inputs need {needed_bytes} bytes, and the job's disk has {disk_bytes}"
        raise AttemptOver(EndReason.BAD_INPUT, f"{detail}: ask for more with resources.disk")


def _input(shop: Workshop, attempt: Attempt, one: InputRef, room_bytes: int) -> "Wanted":
    if one.url is None:
        return _stored(shop, attempt, BundleRef(digest=one.digest, size_bytes=one.size_bytes or 0))
    if shop.outside is None:
        raise AttemptOver(EndReason.DECLINED, "this node gives jobs no way out")
    source = FromWeb(shop.outside, one.url, own=attempt.own, limit_bytes=room_bytes)
    return Wanted(one.digest, None, source, room_bytes, url=one.url)


async def _restore(shop: Workshop, attempt: Attempt, folder: Path, fetching: Fetching) -> None:
    """File by file: a checkpoint may be larger than all that the node keeps."""
    saved, place = attempt.manifest.saved, checkpoint_place(attempt.manifest)
    assert saved is not None
    await shop.offload(empty_checkpoint_folder, folder, place)
    paths: dict[str, list[str]] = {}
    sizes = {file.digest: file.size_bytes for file in saved.files}
    for file in saved.files:
        paths.setdefault(file.digest, []).append(file.path)
    for digest, targets in paths.items():
        ref = BundleRef(digest=digest, size_bytes=sizes[digest])
        what = f"fetching checkpoint {saved.number}, {targets[0]}"
        async with _lent(shop, attempt, _stored(shop, attempt, ref), what, fetching) as content:
            await shop.offload(put_back, folder, place, targets, content)
    log.info("checkpoint.restored", extra={"attempt_id": attempt.id, "number": saved.number})


@dataclass(frozen=True)
class Wanted:
    """Something to fetch: how large it is where that is known, and else the most that it may be."""

    digest: str
    size_bytes: int | None
    source: Source
    limit_bytes: int | None = None
    url: str | None = None
    """Where the spec says that it is; None for what the hub keeps."""


def _stored(shop: Workshop, attempt: Attempt, ref: BundleRef) -> Wanted:
    """What the hub keeps."""
    source = shop.cache.from_hub(ref, attempt.downloads.get(ref.digest, ()))
    return Wanted(ref.digest, ref.size_bytes, source)


@contextlib.asynccontextmanager
async def _lent(shop: Workshop, attempt: Attempt, wanted: Wanted, what: str, fetching: Fetching) -> AsyncIterator[Path]:
    def told(have_bytes: int) -> None:
        attempt.progress = {"what": what, "done_bytes": have_bytes, "total_bytes": wanted.size_bytes}
        fetching.progress.bytes(what, have_bytes, wanted.size_bytes)

    lent = shop.cache.lend(
        wanted.digest, wanted.size_bytes, wanted.source, limit_bytes=wanted.limit_bytes, progress=told
    )
    async with contextlib.AsyncExitStack() as lending:
        async with at(FaultPlace.FETCH, attempt):
            limited = fetching.time.spent_on(wanted.url) if wanted.url is not None else contextlib.nullcontext()
            try:
                async with limited:
                    path = await lending.enter_async_context(lent)
            except InputFailed as error:
                raise AttemptOver(error.reason, str(error)) from None
            finally:
                attempt.progress = None
        yield path
