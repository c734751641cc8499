"""Inputs by digest: from the cache, or downloaded, resumed where it broke off, and checked before anybody sees it."""

import asyncio
import contextlib
import functools
import itertools
import logging
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from computepool.agent.caching import Kept, NoRoom
from computepool.agent.partial import CONTENT, DIGEST_CHARS, Partial, TooLong, name_of_partial
from computepool.agent.ports import Offload, Transfer, TransferFailed
from computepool.agent.removal import remove_tree
from computepool.protocol.manifest import BundleRef
from computepool.protocol.receipt import EndReason

log = logging.getLogger(__name__)

DOWNLOAD_TRIES = 8
"""In a row without a single byte: a line that breaks often still brings a large file."""
RETRY_SECONDS = 1.0
RETRY_LIMIT_SECONDS = 30.0

Progress = Callable[[int], None]
"""Hears how many bytes have come."""
MakeRoom = Callable[[int], Awaitable[None]]
"""Makes room for so many bytes more. Raises NoRoom."""


async def _any_room(wanted_bytes: int) -> None:
    del wanted_bytes


class InputFailed(Exception):
    """An input could not be had on this node, or is not what its digest says."""

    reason = EndReason.INPUT


class BadInput(InputFailed):
    """It cannot be had anywhere as the spec says: the renter's to mend."""

    reason = EndReason.BAD_INPUT


class InputUnreachable(InputFailed):
    """Whoever has it does not answer, or not well, or there is no room for it: that speaks against nobody."""

    reason = EndReason.UNREACHABLE


class InputTooSlow(InputFailed):
    """Whoever the spec named brings it so slowly that it only keeps the node busy."""

    reason = EndReason.SLOW_INPUT


class Source(Protocol):
    """Where an input comes from."""

    @property
    def tag(self) -> str:
        """Keeps what came from here apart: who knows a digest alone gets nothing that was fetched for another."""
        ...

    @property
    def wrong(self) -> type[InputFailed]:
        """What it means if all came through, and has another digest."""
        ...

    async def bring(self, partial: Partial, make_room: MakeRoom) -> None:
        """All that is missing. Raises InputFailed; what has come until then is kept."""
        ...


async def persist(partial: Partial, fetch: Callable[[], Awaitable[None]], most_tries: int = DOWNLOAD_TRIES) -> None:
    """Try again as long as something comes. Raises TransferFailed."""
    tries, had = 0, partial.size_bytes
    while True:
        try:
            await fetch()
            return
        except TransferFailed as error:
            tries, had = (tries + 1, had) if partial.size_bytes <= had else (1, partial.size_bytes)
            if not error.retry or tries >= most_tries:
                raise
            log.info("input.retry", extra={"reason": str(error), "have_bytes": partial.size_bytes})
        await asyncio.sleep(min(RETRY_SECONDS * 2 ** (tries - 1), RETRY_LIMIT_SECONDS))


class FromHub:
    """The hub's own store, by signed URLs of the parts. It gives them only to jobs of whom the artifact belongs to."""

    tag = ""
    wrong = InputFailed

    def __init__(self, transfer: Transfer, ref: BundleRef, urls: tuple[str, ...]) -> None:
        self._transfer = transfer
        self._ref = ref
        self._urls = urls

    async def bring(self, partial: Partial, make_room: MakeRoom) -> None:
        if not self._urls and self._ref.size_bytes:
            raise InputUnreachable(f"the hub named no place to get {self._ref.digest} from")
        await make_room(max(0, self._ref.size_bytes - partial.size_bytes))
        for url in itertools.islice(self._urls, partial.part, None):
            try:
                await persist(partial, functools.partial(self._fetch, url, partial))
            except TransferFailed as error:
                raise InputUnreachable(str(error)) from None
            partial.end_part()

    async def _fetch(self, url: str, partial: Partial) -> None:
        await self._transfer.download(url, offset=partial.part_bytes, sink=partial)


@dataclass(eq=False)
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    wanted_by: int = 0


class InputCache:
    """`make_room` is asked before a download, and told after it: by default nothing is ever removed."""

    def __init__(self, folder: Path, transfer: Transfer, offload: Offload, *, make_room: MakeRoom = _any_room) -> None:
        self._folder = folder
        self._transfer = transfer
        self._offload = offload
        self.make_room = make_room
        self._turns: dict[str, _Turn] = {}
        self._lent: Counter[str] = Counter()

    def from_hub(self, ref: BundleRef, urls: tuple[str, ...]) -> Source:
        return FromHub(self._transfer, ref, urls)

    @contextlib.asynccontextmanager
    async def lend(
        self,
        digest: str,
        size_bytes: int | None,
        source: Source,
        *,
        limit_bytes: int | None = None,
        progress: Progress = lambda have_bytes: None,
    ) -> AsyncIterator[Path]:
        """The file with these bytes, which stays while it is lent, whatever else needs room."""
        name = _name_of(digest, source)
        self._lent[name] += 1
        try:
            yield await self.get_from(digest, size_bytes, source, limit_bytes=limit_bytes, progress=progress)
        finally:
            self._lent[name] -= 1

    async def get(self, bundle: BundleRef, urls: tuple[str, ...], progress: Progress = lambda have_bytes: None) -> Path:
        return await self.get_from(bundle.digest, bundle.size_bytes, self.from_hub(bundle, urls), progress=progress)

    async def get_from(
        self,
        digest: str,
        size_bytes: int | None,
        source: Source,
        *,
        limit_bytes: int | None = None,
        progress: Progress = lambda have_bytes: None,
    ) -> Path:
        """The file with these bytes. Two attempts that want it at once download it once.

        Where nobody knows its size, `limit_bytes` is the most that is taken.
        """
        name = _name_of(digest, source)
        limit = size_bytes if size_bytes is not None else limit_bytes
        path = self._folder / name
        async with self._turn(name):
            if not _is_whole(path, size_bytes):
                try:
                    await self._download(path, digest, limit or 0, source, progress)
                except NoRoom as error:
                    raise InputUnreachable(str(error)) from None
                await self.make_room(0)
            elif limit is not None and path.stat().st_size > limit:
                raise source.wrong(f"it has {path.stat().st_size} bytes, and {limit} are allowed")
        return path

    async def kept(self) -> list[Kept]:
        return await self._offload(self._list)

    def _list(self) -> list[Kept]:
        found = []
        with contextlib.suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            for entry in entries:
                is_whole = re.fullmatch(CONTENT, entry.name) is not None
                name = entry.name if is_whole else name_of_partial(entry.name)
                if name is not None and not self._is_in_use(name):
                    info = entry.stat()
                    remove = functools.partial(self._remove, name, Path(entry.path))
                    told = f"sha256:{name[:DIGEST_CHARS]}" if is_whole else ""
                    found.append(Kept(told, info.st_size, info.st_mtime, remove))
        return found

    def _is_in_use(self, name: str) -> bool:
        return name in self._turns or self._lent[name] > 0

    async def _remove(self, name: str, path: Path) -> bool:
        if self._is_in_use(name):
            return False
        await self._offload(path.unlink, missing_ok=True)
        return True

    @contextlib.asynccontextmanager
    async def _turn(self, name: str) -> AsyncIterator[None]:
        """One at a time. The lock stays while anybody waits for it: one that is just let go looks free to others."""
        turn = self._turns.setdefault(name, _Turn())
        turn.wanted_by += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.wanted_by -= 1
            if not turn.wanted_by:
                del self._turns[name]

    def clear_strays(self) -> None:
        """Files that nobody could go on with. Those that can be resumed stay, and go like all else that is kept."""
        for path in self._folder.glob("*.part"):
            if name_of_partial(path.name) is None:
                remove_tree(path)

    async def _download(self, path: Path, digest: str, limit: int, source: Source, progress: Progress) -> None:
        """A second time from the beginning, if what an earlier try had left may have been the trouble."""
        while True:
            partial = Partial(self._folder, path.name, limit, progress)
            resumed = partial.was_there_bytes > 0
            try:
                if resumed:
                    await self._offload(partial.take_up)
                await source.bring(partial, self.make_room)
            except TooLong as error:
                partial.drop()
                if not resumed:
                    raise source.wrong(str(error)) from None
                continue
            except (BadInput, OSError):
                # What nobody can use, or what fills the owner's disk.
                partial.drop()
                raise
            except BaseException:
                partial.close()
                raise
            if partial.digest == digest:
                partial.keep_as(path)
                return
            size, came = partial.size_bytes, partial.digest
            partial.drop()
            if not resumed:
                raise source.wrong(f"what was downloaded is {came} of {size} bytes, not {digest}")
            log.info("input.anew", extra={"digest": digest})


def _name_of(digest: str, source: Source) -> str:
    """Of its file. It is another's word until it was looked at."""
    kind, _, hexadecimal = digest.partition(":")
    name = f"{hexadecimal}.{source.tag}" if source.tag else hexadecimal
    if kind != "sha256" or re.fullmatch(CONTENT, name) is None:
        raise InputFailed(f"{digest!r} is not a SHA-256 digest")
    return name


def _is_whole(path: Path, size_bytes: int | None) -> bool:
    """A file gets its name only after it was checked, and the folder is closed to everybody else."""
    try:
        found = path.stat().st_size
    except FileNotFoundError:
        return False
    if size_bytes is not None and size_bytes != found:
        return False
    with contextlib.suppress(OSError):
        os.utime(path)
    return True
