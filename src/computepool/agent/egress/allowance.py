"""How much of the host's monthly data jobs may use, counted over all of them, across restarts and crashes.

What is on disk is never less than what was used: room is booked there ahead, in blocks, and given back at the end. A
crash costs the host's jobs at most one block.
"""

import asyncio
import json
import logging
import os
from contextvars import ContextVar
from pathlib import Path

from computepool.agent.clock import Clock
from computepool.agent.sandbox.interface import Offload

log = logging.getLogger(__name__)

BLOCK_BYTES = 16 * 1024 * 1024
MONTHS_KEPT = 24


for_strangers: ContextVar[bool] = ContextVar("for_strangers", default=False)
"""Whether what a task moves is for a stranger's attempt. The owner's own work uses nothing of the allowance."""


def count_for_strangers(allowance: "Allowance", count: int) -> None:
    if for_strangers.get():
        allowance.note(count)


class Allowance:
    """One for the whole agent. `limit_bytes` None: counted, without an end."""

    def __init__(self, file: Path, clock: Clock, *, limit_bytes: int | None, offload: Offload) -> None:
        self.limit_bytes = limit_bytes
        self._file = file
        self._clock = clock
        self._offload = offload
        self._writing = asyncio.Lock()
        self._used = _load(file)
        # What the disk says; at the start the two are the same.
        self._booked = dict(self._used)
        self._booking: asyncio.Task[None] | None = None

    @property
    def used_bytes(self) -> int:
        """In this calendar month (UTC)."""
        return self._used.get(self._month(), 0)

    @property
    def left_bytes(self) -> int | None:
        """None if there is no limit."""
        return None if self.limit_bytes is None else max(0, self.limit_bytes - self.used_bytes)

    async def take(self, count: int) -> bool:
        """Count bytes that are about to be passed on; False if that is more than is left, and then nothing counts."""
        month = self._month()
        if self.limit_bytes is not None and self._used.get(month, 0) + count > self.limit_bytes:
            return False
        # Counted before any waiting, so that two who take at once cannot both have the last bytes.
        self._used[month] = self._used.get(month, 0) + count
        if self._used[month] > self._booked.get(month, 0):
            await self._book(month)
        return True

    def note(self, count: int) -> None:
        """Count what has passed already and could not be held back: an image, a bundle, a result. May go over."""
        month = self._month()
        self._used[month] = self._used.get(month, 0) + count
        is_booking = self._booking is not None and not self._booking.done()
        if self._used[month] > self._booked.get(month, 0) - BLOCK_BYTES // 2 and not is_booking:
            self._booking = asyncio.get_running_loop().create_task(self._book(month, BLOCK_BYTES // 2))

    async def close(self) -> None:
        if self._booking is not None:
            await asyncio.wait([self._booking])
        async with self._writing:
            if self._used != self._booked:
                await self._write(dict(self._used))

    async def _book(self, month: str, ahead: int = 0) -> None:
        async with self._writing:
            if self._used[month] + ahead > self._booked.get(month, 0):
                await self._write(self._used | {month: self._used[month] + BLOCK_BYTES})

    async def _write(self, months: dict[str, int]) -> None:
        kept = dict(sorted(months.items())[-MONTHS_KEPT:])
        await self._offload(_store, self._file, kept)
        self._booked = kept

    def _month(self) -> str:
        return self._clock.now().strftime("%Y-%m")


def _load(file: Path) -> dict[str, int]:
    try:
        months = json.loads(file.read_bytes())["used_bytes"]
        return {str(month): int(used) for month, used in months.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("allowance.unreadable file=%s error=%s: counting from zero", file, error)
        return {}


def _store(file: Path, months: dict[str, int]) -> None:
    fresh = file.with_suffix(".new")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, json.dumps({"used_bytes": months}).encode())
        os.fsync(fd)
    finally:
        os.close(fd)
    fresh.replace(file)
    folder = os.open(file.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
