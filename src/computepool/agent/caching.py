"""What the node keeps so that it need not be fetched or built again, within the room that its owner gives it.

Images, inputs and environments are one budget: what was used longest ago goes first, whatever it is. Free space below
the owner's floor is never used, however much the budget would allow.
"""

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from computepool.agent.ports import Offload
from computepool.protocol.messages import CACHED_LIMIT

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Kept:
    """One thing in a cache."""

    name: str
    """As the hub is told: a digest, or `image:` and a name; empty for what only this node understands."""
    size_bytes: int
    used_at: float
    """Seconds since the epoch: of all clocks, that of the files."""
    remove: Callable[[], Awaitable[bool]]


class Shelf(Protocol):
    async def kept(self) -> Sequence[Kept]:
        """What may be removed now. What is in use is not among it."""
        ...


@dataclass(frozen=True)
class Room:
    """What the owner gives."""

    cache_bytes: int
    keep_free_bytes: int


class NoRoom(Exception):
    """The disk would have less free space than its owner wants, and nothing is left to be removed."""


class CacheKeeper:
    def __init__(
        self,
        disk: Path,
        shelves: Sequence[Shelf],
        room: Callable[[], Room],
        offload: Offload,
        free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
    ) -> None:
        self._disk = disk
        self._shelves = shelves
        self._room = room
        self._offload = offload
        self._free_bytes = free_bytes
        self._turn = asyncio.Lock()
        self.used_bytes = 0
        self.names: tuple[str, ...] = ()
        """What is at hand, newest first."""
        self.on_change: Callable[[], None] = lambda: None

    @property
    def limit_bytes(self) -> int:
        return self._room().cache_bytes

    async def tidy(self, wanted_bytes: int = 0) -> None:
        """Make room for so much more. Raises NoRoom if the owner's floor would not hold."""
        async with self._turn:
            kept = sorted(
                [one for shelf in self._shelves for one in await shelf.kept()],
                key=lambda one: one.used_at,
                reverse=True,
            )
            room, total = self._room(), sum(one.size_bytes for one in kept)
            while kept and (
                total + wanted_bytes > room.cache_bytes or await self._lacks(room.keep_free_bytes + wanted_bytes)
            ):
                oldest = kept.pop()
                total -= oldest.size_bytes
                if await _removed(oldest):
                    log.info("cache.removed", extra={"what": oldest.name or "(unnamed)", "bytes": oldest.size_bytes})
            self._tell(total, tuple(dict.fromkeys(one.name for one in kept if one.name)))
            if wanted_bytes and await self._lacks(room.keep_free_bytes + wanted_bytes):
                raise NoRoom(
                    f"{wanted_bytes} bytes would leave less than {room.keep_free_bytes} free on the node's disk"
                )

    async def _lacks(self, free_bytes: int) -> bool:
        return await self._offload(self._free_bytes, self._disk) < free_bytes

    def _tell(self, used_bytes: int, names: tuple[str, ...]) -> None:
        self.used_bytes = used_bytes
        if set(names[:CACHED_LIMIT]) != set(self.names):
            self.names = names[:CACHED_LIMIT]
            self.on_change()


async def _removed(one: Kept) -> bool:
    try:
        return await one.remove()
    except Exception as error:
        # An engine that is away, a file system that is read-only: the others can still go.
        log.warning("cache.not_removed", extra={"what": one.name, "reason": f"{type(error).__name__}: {error}"})
        return False
