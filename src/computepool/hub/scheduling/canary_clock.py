"""Sends canaries: now and then, to whichever node chance picks, so that each gets as many a day as the setting says."""

from collections.abc import Callable

from computepool.hub.core.context import Context
from computepool.hub.jobs.verification import NOTHING_ELSE, Consequences
from computepool.hub.scheduling.fleet import Fleet
from computepool.hub.trust.canaries import draw_below, draw_count, send
from computepool.hub.trust.consequences import means_of

TICK_SECONDS = 60.0
MOST_SECONDS = 5 * TICK_SECONDS
"""That count at one look: a machine that slept, or a clock that jumped, is no reason to make up for it."""


class CanaryClock:
    def __init__(self, context: Context, fleet: Fleet, started: Callable[[Consequences], None]) -> None:
        """`started` tells the scheduler's memory what is to be run."""
        self._context = context
        self._fleet = fleet
        self._started = started
        self._ticked_at = context.clock.monotonic()

    async def tick(self) -> None:
        """Chance has no memory: nothing is kept, and a restarted hub goes on as if it had never been away."""
        context, fleet = self._context, self._fleet
        now = context.clock.monotonic()
        seconds, self._ticked_at = min(now - self._ticked_at, MOST_SECONDS), now
        count = draw_count(len(fleet), context.settings.canary_rate_per_day, seconds, context.randbits)
        if not count:
            return
        nodes = list(fleet)
        for _ in range(count):
            node = nodes[draw_below(len(nodes), context.randbits)]
            if not node.takes_work or not node.availability.strangers or node.traits.simulated:
                continue
            after = await context.db.run(send, node.traits, context.now(), means_of(context))
            if after is not NOTHING_ELSE:
                self._started(after)
