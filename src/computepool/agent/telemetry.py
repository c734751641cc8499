"""How the node is doing, now and then: its load and that of its GPUs, what attempts use, what it has at hand, and what
work costs its owner."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from computepool.agent.caching import CacheKeeper
from computepool.agent.clock import Clock
from computepool.agent.detect.machine_load import MachineMeter
from computepool.agent.detect.monitor import GpuMonitor
from computepool.agent.outgoing import Outgoing
from computepool.agent.ports import Offload
from computepool.agent.usage import SAMPLE_SECONDS, UsageSampler
from computepool.agent.workbook import WorkBook
from computepool.protocol.messages import GpuLoad, NodeReport

LOOK_SECONDS = 10.0
"""While something runs: also how often samples of attempts are sent."""
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
        sampler: UsageSampler,
        monitor: GpuMonitor | None,
        machine: MachineMeter | None,
        caches: CacheKeeper | None,
        book: WorkBook | None,
    ) -> None:
        """`works` tells whether a job of the pool is running."""
        self._outgoing = outgoing
        self._clock = clock
        self._offload = offload
        self._works = works
        self._sampler = sampler
        self._monitor = monitor
        self._machine = machine
        self._caches = caches
        self.book = book
        self.loads: Sequence[GpuLoad] = ()
        self._work_began = asyncio.Event()
        if caches is not None:
            caches.on_change = self._tell_cached

    def look_for_work(self) -> None:
        """Something may run now: its first sample does not wait for the next look at an idle machine."""
        if self._works():
            self._work_began.set()

    async def run(self) -> None:
        if self._caches is not None:
            await self._caches.tidy()
        before = self._clock.monotonic()
        due = before
        try:
            while True:
                now = self._clock.monotonic()
                if now >= due or (self._sampler.has_samples and not self._works()):
                    await self._look(now - before)
                    before, due = now, now + LOOK_SECONDS
                if self._works():
                    await self._sampler.sample(self.loads)
                await self._pause()
        finally:
            if self.book is not None:
                self.book.save(self._clock.now().astimezone())

    async def _pause(self) -> None:
        if self._works():
            await asyncio.sleep(SAMPLE_SECONDS)
            return
        self._work_began.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(IDLE_LOOK_SECONDS):
                await self._work_began.wait()

    async def _look(self, elapsed_seconds: float) -> None:
        report = NodeReport()
        if self._monitor is not None:
            self.loads = await self._offload(self._monitor.read)
            report = report.model_copy(update={"gpus": tuple(self.loads)})
        if self._machine is not None:
            load = await self._offload(self._machine.read, self._clock.monotonic())
            report = report.model_copy(update={"machine": load})
        if self._outgoing.open:
            report = report.model_copy(update={"usage": self._sampler.take_all()})
        if self._monitor is not None or self._machine is not None or report.usage:
            self._outgoing.put(report)
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
