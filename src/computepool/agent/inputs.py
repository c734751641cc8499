"""Inputs by digest: from the cache, or downloaded, resumed where it broke off, and checked before anybody sees it."""

import asyncio
import contextlib
import functools
import hashlib
import itertools
import logging
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from computepool.agent.caching import Kept, NoRoom
from computepool.agent.ports import Offload, Transfer, TransferFailed
from computepool.protocol.manifest import BundleRef

log = logging.getLogger(__name__)

DOWNLOAD_TRIES = 8
RETRY_SECONDS = 1.0
RETRY_LIMIT_SECONDS = 30.0


DIGEST_CHARS = 64
MakeRoom = Callable[[int], Awaitable[None]]
"""Makes room for so many bytes more. Raises NoRoom."""


async def _any_room(wanted_bytes: int) -> None:
    del wanted_bytes


class InputFailed(Exception):
    """An input could not be had on this node, or is not what its digest says."""


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
        self._numbers = itertools.count()
        self._lent: Counter[str] = Counter()

    @contextlib.asynccontextmanager
    async def lend(
        self, bundle: BundleRef, urls: tuple[str, ...], progress: Callable[[int], None] = lambda have_bytes: None
    ) -> AsyncIterator[Path]:
        """The file with these bytes, which stays while it is lent, whatever else needs room."""
        self._lent[bundle.digest] += 1
        try:
            yield await self.get(bundle, urls, progress)
        finally:
            self._lent[bundle.digest] -= 1

    async def get(
        self, bundle: BundleRef, urls: tuple[str, ...], progress: Callable[[int], None] = lambda have_bytes: None
    ) -> Path:
        """The file with these bytes. Two attempts that want it at once download it once; `progress` hears how far."""
        kind, _, name = bundle.digest.partition(":")
        if kind != "sha256" or len(name) != DIGEST_CHARS or not name.isalnum():
            raise InputFailed(f"{bundle.digest!r} is not a SHA-256 digest")
        path = self._folder / name
        async with self._turn(name):
            if not _is_whole(path, bundle.size_bytes):
                try:
                    await self.make_room(bundle.size_bytes)
                except NoRoom as error:
                    raise InputFailed(str(error)) from None
                await self._download(path, bundle, urls, progress)
                await self.make_room(0)
        return path

    async def kept(self) -> list[Kept]:
        return await self._offload(self._list)

    def _list(self) -> list[Kept]:
        found = []
        with contextlib.suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            for entry in entries:
                if len(entry.name) == DIGEST_CHARS and not self._is_in_use(entry.name):
                    info = entry.stat()
                    remove = functools.partial(self._remove, Path(entry.path))
                    found.append(Kept(f"sha256:{entry.name}", info.st_size, info.st_mtime, remove))
        return found

    def _is_in_use(self, name: str) -> bool:
        return name in self._turns or self._lent[f"sha256:{name}"] > 0

    async def _remove(self, path: Path) -> bool:
        if self._is_in_use(path.name):
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

    def clear_partial(self) -> None:
        for path in self._folder.glob("*.part"):
            path.unlink(missing_ok=True)

    async def _download(
        self, path: Path, bundle: BundleRef, urls: tuple[str, ...], progress: Callable[[int], None]
    ) -> None:
        if not urls:
            raise InputFailed(f"the hub named no place to get {bundle.digest} from")
        partial = path.with_name(f"{path.name}.{next(self._numbers)}.part")
        try:
            with partial.open("wb") as file:
                parts = _Parts(file, bundle.size_bytes, progress)
                for url in urls:
                    await self._download_part(url, parts)
                parts.check(bundle)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    async def _download_part(self, url: str, parts: "_Parts") -> None:
        parts.next_part()
        for attempt in range(DOWNLOAD_TRIES):
            try:
                await self._transfer.download(url, offset=parts.part_bytes, sink=parts)
                return
            except TransferFailed as error:
                if not error.retry or attempt == DOWNLOAD_TRIES - 1:
                    raise InputFailed(str(error)) from None
                log.info("input.retry", extra={"reason": str(error), "have_bytes": parts.part_bytes})
            await asyncio.sleep(min(RETRY_SECONDS * 2**attempt, RETRY_LIMIT_SECONDS))


class _Parts:
    """One file put together from parts, each of which may break off and go on, or begin again."""

    def __init__(self, file: BinaryIO, limit_bytes: int, progress: Callable[[int], None]) -> None:
        self._progress = progress
        self._file = file
        self._limit = limit_bytes
        self._hash = self._hash_at_part = hashlib.sha256()
        self._part_start = 0
        self.part_bytes = 0

    def next_part(self) -> None:
        self._part_start += self.part_bytes
        self.part_bytes = 0
        self._hash_at_part = self._hash.copy()

    def begin(self, offset: int) -> None:
        if offset != self.part_bytes:
            self._hash = self._hash_at_part.copy()
            self.part_bytes = 0
            self._file.seek(self._part_start)
            self._file.truncate()

    def write(self, data: bytes) -> None:
        if self._part_start + self.part_bytes + len(data) > self._limit:
            raise InputFailed(f"the download is larger than the {self._limit} bytes it should have")
        self._file.write(data)
        self._hash.update(data)
        self.part_bytes += len(data)
        self._progress(self._part_start + self.part_bytes)

    def check(self, bundle: BundleRef) -> None:
        size, digest = self._part_start + self.part_bytes, "sha256:" + self._hash.hexdigest()
        if size != bundle.size_bytes or digest != bundle.digest:
            raise InputFailed(f"what was downloaded is {digest} of {size} bytes, not {bundle.digest}")


def _is_whole(path: Path, size_bytes: int) -> bool:
    """A file gets its name only after it was checked, and the folder is closed to everybody else."""
    try:
        if path.stat().st_size != size_bytes:
            return False
    except FileNotFoundError:
        return False
    with contextlib.suppress(OSError):
        os.utime(path)
    return True
