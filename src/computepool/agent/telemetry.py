"""How the node is doing, now and then: the load of its GPUs, what it has at hand, and what work costs its owner."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from computepool.agent.caching import CacheKeeper
from computepool.agent.clock import Clock
from computepool.agent.detect.monitor import GpuMonitor
from computepool.agent.outgoing import Outgoing
from computepool.agent.ports import Offload
from computepool.agent.workbook import WorkBook
from computepool.protocol.messages import GpuLoad, NodeReport

LOOK_SECONDS = 10.0
IDLE_LOOK_SECONDS = 60.0
"""Nobody works on the GPUs: their load is of little interest."""


class Telemetry:
    def __init__(
        self,
        *,
        outgoing: Outgoing,
        clock: Clock,
        offload: Offload,
        works: Callable[[], bool],
        monitor: GpuMonitor | None,
        caches: CacheKeeper | None,
        book: WorkBook | None,
    ) -> None:
        """`works` tells whether a job of the pool is running."""
        self._outgoing = outgoing
        self._clock = clock
        self._offload = offload
        self._works = works
        self._monitor = monitor
        self._caches = caches
        self.book = book
        self.loads: Sequence[GpuLoad] = ()
        if caches is not None:
            caches.on_change = self._tell_cached

    async def run(self) -> None:
        if self._caches is not None:
            await self._caches.tidy()
        before = self._clock.monotonic()
        try:
            while True:
                now = self._clock.monotonic()
                await self._look(now - before)
                before = now
                await asyncio.sleep(LOOK_SECONDS if self._works() else IDLE_LOOK_SECONDS)
        finally:
            if self.book is not None:
                self.book.save(self._clock.now().astimezone())

    async def _look(self, elapsed_seconds: float) -> None:
        if self._monitor is not None:
            self.loads = await self._offload(self._monitor.read)
            self._outgoing.put(NodeReport(gpus=tuple(self.loads)))
        # After a sleep of the machine much time has passed in which nothing worked.
        if self.book is not None and self._works() and elapsed_seconds < 2 * IDLE_LOOK_SECONDS:
            known = [load.power_watts for load in self.loads if load.power_watts is not None]
            local = self._clock.now().astimezone()
            self.book.add(local, elapsed_seconds, sum(known) if known else None)
            with contextlib.suppress(OSError):
                await self._offload(self.book.save_if_due, local)

    def _tell_cached(self) -> None:
        if self._caches is not None:
            self._outgoing.put(NodeReport(cached=self._caches.names))
