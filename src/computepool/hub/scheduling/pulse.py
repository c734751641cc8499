"""Every minute one sample of the pool as a whole: what waits and runs, who is there, how much of it is in use."""

import asyncio

from computepool.hub.history.metrics import PoolMetrics, Values
from computepool.hub.history.recorder import History
from computepool.hub.scheduling.fleet import FleetNode
from computepool.hub.scheduling.scheduler import Scheduler

PULSE_SECONDS = 60.0
COUNTED_AT_ONCE = 1000
"""Nodes looked at without letting others run."""


class Pulse:
    def __init__(self, scheduler: Scheduler, history: History) -> None:
        self._scheduler = scheduler
        self._history = history

    async def tick(self) -> None:
        tally, history = self._scheduler.tally, self._history
        while tally.waited:
            history.add_pool({PoolMetrics.WAITING: tally.waited.popleft()})
        while tally.began:
            history.add_pool({PoolMetrics.START: tally.began.popleft()})
        history.add_pool(await self._count())

    async def _count(self) -> Values:
        """Simulated nodes count as nodes, as everywhere where a pool counts what it has."""
        online = running = 0
        cores = busy_cores = gpus = busy_gpus = 0
        nodes: list[FleetNode] = list(self._scheduler.fleet)
        for start in range(0, len(nodes), COUNTED_AT_ONCE):
            for node in nodes[start : start + COUNTED_AT_ONCE]:
                running += len(node.attempts)
                if node.takes_work:
                    online += 1
                    cores += node.traits.cpu_millis
                    busy_cores += node.traits.cpu_millis - node.free.cpu_millis
                    gpus += len(node.traits.gpus)
                    busy_gpus += len(node.traits.gpus) - len(node.free.gpus)
            await asyncio.sleep(0)
        return {
            PoolMetrics.QUEUE: len(self._scheduler.queue),
            PoolMetrics.ONLINE: online,
            PoolMetrics.RUNNING: running,
            PoolMetrics.GPUS: busy_gpus / gpus if gpus else None,
            PoolMetrics.CORES: busy_cores / cores if cores else None,
        }
