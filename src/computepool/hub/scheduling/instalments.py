"""Settles what has run of long attempts, hour by hour, and tells those to leave for whom there is no more money.

What is due is read from the truth each time, and each is a transaction of its own: a hub that was away or was killed in
between goes on where it was, and bills nobody for more than was set aside.
"""

import structlog

from computepool.hub.core.context import Context
from computepool.hub.jobs.instalments import Instalment, list_due, settle_next
from computepool.hub.scheduling.evicting import EVICTED
from computepool.hub.scheduling.limits import Spent
from computepool.hub.scheduling.scheduler import Scheduler

log = structlog.get_logger()

SWEEP_SECONDS = 30.0
"""Much less than the grace that every hold has beyond its hour."""


class Instalments:
    def __init__(self, context: Context, scheduler: Scheduler) -> None:
        self._context = context
        self._scheduler = scheduler

    async def sweep(self) -> None:
        if not self._scheduler.occupancy.has_paid:
            return
        for attempt_id in await self._context.db.read(list_due, self._context.now()):
            try:
                done = await self._context.db.run(settle_next, attempt_id, self._context.now())
            except Exception:
                log.exception("instalment.failed", attempt_id=attempt_id)  # the next sweep tries again
                continue
            if done is not None:
                self._follow(done)

    def _follow(self, done: Instalment) -> None:
        """The commit is durable: now its node, and the limits, may know."""
        scheduler = self._scheduler
        if done.cost_micros:
            scheduler.limits.spend([Spent(done.owner_id, self._context.now().date(), done.cost_micros)])
        if not done.leaves:
            return
        log.info("attempt.out_of_money", attempt_id=done.attempt_id)
        node = scheduler.fleet.get(done.node_id)
        held = node.attempts.get(done.attempt_id) if node is not None else None
        if node is not None and held is not None and held.fence == done.fence:
            held.stopped_at, held.evicted = self._context.clock.monotonic(), True
            if node.line is not None:
                node.line.stop(done.attempt_id, done.fence, EVICTED)
