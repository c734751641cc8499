"""All simulated nodes of one process: started one after the other, watched together, ended in good order."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from computepool.agent.clock import Clock, SystemClock
from computepool.agent.egress.addresses import Address
from computepool.agent.outside import Outside
from computepool.agent.ports import allow_open_files, offload_to_threads
from computepool.agent.simulated.lines import Exchange
from computepool.agent.simulated.node import Shared, SimulatedNode
from computepool.agent.simulated.roster import Member
from computepool.agent.simulated.sandbox import Manner
from computepool.agent.simulated.transfers import SharedTransfer

STARTS_PER_SECOND = 60.0
"""Their heartbeats then do not come in one moment either."""
LOADS_EVERY_SECONDS = 10.0
FILES_PER_NODE = 4
"""A line, a journal, a log or two."""


@dataclass(frozen=True)
class Counts:
    nodes: int
    up: int
    paused: int
    dismissed: int
    running: int
    done: int
    failed: int
    stopped: int


class Crowd:
    def __init__(
        self,
        members: Sequence[Member],
        *,
        agent_version: str,
        seed: int,
        average_seconds: float,
        clock: Clock | None = None,
    ) -> None:
        self._members = members
        self._version = agent_version
        self._clock = clock or SystemClock()
        self._manner = Manner(seed, average_seconds, Counter())
        self._nodes: list[SimulatedNode] = []

    @property
    def dismissed(self) -> dict[str, str]:
        """Why the hub does not want them any more, by node id."""
        return {node.node_id: node.dismissed for node in self._nodes if node.dismissed}

    def counts(self) -> Counts:
        ended = self._manner.ended
        return Counts(
            nodes=len(self._members),
            up=sum(node.is_up for node in self._nodes),
            paused=sum(node.is_paused for node in self._nodes),
            dismissed=len(self.dismissed),
            running=sum(node.running for node in self._nodes),
            done=ended["done"],
            failed=ended["failed"],
            stopped=ended["stopped"],
        )

    async def run(self, until: asyncio.Event) -> None:
        """Until the event; then everything is given back, and the lines are closed. There is at least one member."""
        allow_open_files(len(self._members) * FILES_PER_NODE)
        hub = self._members[0].home.node()
        exchange = Exchange(self._version, hub.tls)
        transfer = SharedTransfer(hub.hub_url, hub.tls)
        shared = Shared(
            clock=self._clock,
            offload=offload_to_threads,
            exchange=exchange,
            transfer=transfer,
            outside=Outside(clock=self._clock, lookup=_nowhere),
            manner=self._manner,
        )
        self._nodes = [SimulatedNode(member, shared) for member in self._members]
        work, ended = asyncio.create_task(self._work()), asyncio.create_task(until.wait())
        try:
            await asyncio.wait({ended, work}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            work.cancel()
            ended.cancel()
            await asyncio.gather(work, ended, return_exceptions=True)
            await asyncio.gather(*(node.stop() for node in self._nodes))
            await exchange.close()
            await transfer.close()

    async def _work(self) -> None:
        for node in self._nodes:
            node.start()
            await asyncio.sleep(1 / STARTS_PER_SECOND)
        while True:
            # One after the other, so that each tells once in a while and never all at once.
            for node in self._nodes:
                await asyncio.sleep(LOADS_EVERY_SECONDS / len(self._nodes))
                await node.tell_loads()


async def _nowhere(name: str, port: int) -> list[Address]:
    """Nothing is run, so nothing goes out."""
    del name, port
    return []
