"""What the fleet knows of its nodes' pasts. What is closed for a while opens by the clock, without anybody looking."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from computepool.hub.core.context import Context
from computepool.hub.market.standing import Standing
from computepool.hub.scheduling.fleet import Fleet


class Standings:
    def __init__(self, context: Context, fleet: Fleet, wake: Callable[[], None]) -> None:
        self._context = context
        self._fleet = fleet
        self._wake = wake
        self._timed: dict[str, asyncio.TimerHandle] = {}

    def put(self, node_id: str, standing: Standing) -> None:
        """The commit that changed it is durable."""
        node = self._fleet.get(node_id)
        if node is not None:
            if node.traits.standing != standing:
                node.traits = replace(node.traits, standing=standing)
            self.watch(node_id)

    def put_all(self, standings: Mapping[str, Standing]) -> None:
        for node_id, standing in standings.items():
            self.put(node_id, standing)

    def watch(self, node_id: str) -> None:
        """Open the node when its quarantine is over, or it may be asked again after it declined.

        By the wall clock, which may go slower than the timer's: then it is not yet time, and we wait on.
        """
        earlier = self._timed.pop(node_id, None)
        if earlier is not None:
            earlier.cancel()
        node = self._fleet.get(node_id)
        if node is None:
            return
        standing = node.traits.standing
        if standing.quarantined_until is None and standing.declined_until is None:
            return
        now = self._context.now()
        opened = replace(
            standing,
            quarantined_until=_still(standing.quarantined_until, now),
            declined_until=_still(standing.declined_until, now),
        )
        if opened != standing:
            node.traits = replace(node.traits, standing=opened)
            self._wake()
        ends = [end for end in (opened.quarantined_until, opened.declined_until) if end is not None]
        if ends:
            seconds = (min(ends) - now).total_seconds()
            self._timed[node_id] = asyncio.get_running_loop().call_later(seconds, self.watch, node_id)


def _still(until: datetime | None, now: datetime) -> datetime | None:
    return until if until is not None and until > now else None
