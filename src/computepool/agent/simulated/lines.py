"""The lines of simulated nodes: real ones, which can be cut on purpose, and which do not all open at once."""

import asyncio
import contextlib
import random
import ssl

from computepool.agent.home import Identity, NodeRecord
from computepool.agent.link.base import Link, LinkClosed, LinkUnavailable
from computepool.agent.link.longpoll import POLL_PATH, PollLink
from computepool.agent.link.posting import Poster
from computepool.agent.link.websocket import open_websocket
from computepool.agent.ports import LinkKind
from computepool.protocol.messages import NodeReport

OPENING_AT_ONCE = 24
"""A thousand handshakes in the same moment would all be late."""


class Exchange(Poster):
    """What the lines of all nodes share."""

    def __init__(self, agent_version: str, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(agent_version, tls)
        self.opening = asyncio.Semaphore(OPENING_AT_ONCE)


class Lines:
    """Those of one node."""

    def __init__(self, node: NodeRecord, identity: Identity, exchange: Exchange, rng: random.Random) -> None:
        self._node = node
        self._identity = identity
        self._exchange = exchange
        self._rng = rng
        self._down_until = 0.0
        self._link: Link | None = None

    async def __call__(self, kind: LinkKind) -> Link:
        self._link = None
        async with self._exchange.opening:
            if asyncio.get_running_loop().time() < self._down_until:
                raise LinkUnavailable("the simulated line is down", away=True)
            if kind is LinkKind.WEBSOCKET:
                link = await open_websocket(self._node.hub_url, self._exchange.agent_version, self._exchange.tls)
            else:
                link = PollLink(self._post, self._node.node_id, self._identity, self._rng)
        self._link = link
        return link

    async def _post(self, body: bytes, headers: dict[str, str], wait_seconds: float) -> tuple[int, bytes]:
        return await self._exchange.post(self._node.hub_url + POLL_PATH, body, headers, wait_seconds)

    async def cut(self, seconds: float) -> None:
        """No line for so long."""
        self._down_until = asyncio.get_running_loop().time() + seconds
        if self._link is not None:
            await self._link.close()

    async def drop(self) -> None:
        """Nobody is at this end any more. The hub sees it, as it does when a process is killed."""
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def report(self, report: NodeReport) -> None:
        """Only on a line that is up; one that broke in between has other troubles."""
        if self._link is not None:
            with contextlib.suppress(LinkClosed):
                await self._link.send(report.to_bytes())
