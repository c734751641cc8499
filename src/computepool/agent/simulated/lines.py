"""The lines of simulated nodes: real ones, which can be cut on purpose, and which do not all open at once."""

import asyncio
import contextlib
import random
from typing import TYPE_CHECKING

from computepool.agent.home import Identity, NodeRecord
from computepool.agent.link.base import Link, LinkClosed, LinkUnavailable
from computepool.agent.link.longpoll import POLL_PATH, PollLink
from computepool.agent.link.websocket import open_websocket
from computepool.agent.ports import LinkKind
from computepool.protocol.messages import NodeReport

if TYPE_CHECKING:
    import httpx

OPENING_AT_ONCE = 24
"""A thousand handshakes in the same moment would all be late."""
CONNECT_SECONDS = 10.0


class Exchange:
    """What the lines of all nodes share."""

    def __init__(self, agent_version: str) -> None:
        self.agent_version = agent_version
        self.opening = asyncio.Semaphore(OPENING_AT_ONCE)
        self._client: httpx.AsyncClient | None = None

    async def post(self, url: str, body: bytes, headers: dict[str, str], wait_seconds: float) -> tuple[int, bytes]:
        # Only those who poll pay for the HTTP client, and all of them together for one.
        import httpx

        if self._client is None:
            agent = {"User-Agent": f"computepool-agent/{self.agent_version}"}
            self._client = httpx.AsyncClient(headers=agent, limits=httpx.Limits(max_connections=None))
        timeout = httpx.Timeout(wait_seconds, connect=CONNECT_SECONDS)
        try:
            response = await self._client.post(url, content=body, headers=headers, timeout=timeout)
        except httpx.HTTPError as error:
            raise ConnectionError(f"{type(error).__name__} {error}".strip()) from None
        return response.status_code, response.content

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None


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
                link = await open_websocket(self._node.hub_url, self._exchange.agent_version)
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
