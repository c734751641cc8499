"""What the fleet knows of its nodes' pasts. Quarantines end by the clock, without anybody looking for them."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

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
        """Open the node for its probe when its quarantine is over.

        By the wall clock, which may go slower than the timer's: then it is not yet time, and we wait on.
        """
        earlier = self._timed.pop(node_id, None)
        if earlier is not None:
            earlier.cancel()
        node = self._fleet.get(node_id)
        until = node.traits.standing.quarantined_until if node is not None else None
        if node is None or until is None:
            return
        seconds = (until - self._context.now()).total_seconds()
        if seconds > 0:
            self._timed[node_id] = asyncio.get_running_loop().call_later(seconds, self.watch, node_id)
        else:
            node.traits = replace(node.traits, standing=replace(node.traits.standing, quarantined_until=None))
            self._wake()
