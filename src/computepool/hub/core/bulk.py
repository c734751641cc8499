"""Bulk work, such as pieces of uploads, goes one piece at a time and leaves most of the hub's time to other requests.

The event loop and the interpreter's lock are shared by all requests. Without a limit a few uploads over a fast network
keep both busy, and every short request waits behind them.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter

REST_RATIO = 6.0
"""How long a rest is, for each second of work. Only the work inside a turn is measured. Reading a piece from its
socket, or sending it, takes the event loop about as long again, during the rest: less than a third of the time in
all."""
WORK_LIMIT_SECONDS = 0.003
"""What counts of one piece: one that took longer waited for the disk, which keeps nobody else from working."""
TIMER_SECONDS = 0.002
"""Shorter rests are saved up: timers are not finer than a millisecond."""


class BulkLane:
    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """By key. The first key is next, and goes to the end after its turn."""
        self._is_busy = False
        self._rest_seconds = 0.0

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Wait for a turn, and have the lane until the end of the block. Keys, such as addresses, take turns."""
        await self._enter(key)
        began = perf_counter()
        try:
            yield
        finally:
            self._leave(REST_RATIO * min(perf_counter() - began, WORK_LIMIT_SECONDS))

    async def _enter(self, key: str) -> None:
        if not self._is_busy:
            self._is_busy = True
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self._next()
            raise

    def _leave(self, rest_seconds: float) -> None:
        self._rest_seconds += rest_seconds
        if self._rest_seconds < TIMER_SECONDS:
            self._next()
        else:
            asyncio.get_running_loop().call_later(self._rest_seconds, self._next)
            self._rest_seconds = 0.0

    def _next(self) -> None:
        while self._waiting:
            key = next(iter(self._waiting))
            queue = self._waiting.pop(key)
            granted = queue.popleft()
            if queue:
                self._waiting[key] = queue
            if not granted.done():  # else it went away
                granted.set_result(None)
                return
        self._is_busy = False
