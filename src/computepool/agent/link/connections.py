"""Opens real lines to a real hub."""

import random
from typing import TYPE_CHECKING

from computepool.agent.home import Identity, NodeRecord
from computepool.agent.link.base import Link
from computepool.agent.link.longpoll import POLL_PATH, PollLink
from computepool.agent.link.websocket import open_websocket
from computepool.agent.ports import LinkKind

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 10.0


class Connections:
    def __init__(self, node: NodeRecord, identity: Identity, agent_version: str, rng: random.Random) -> None:
        self._node = node
        self._identity = identity
        self._version = agent_version
        self._rng = rng
        self._client: httpx.AsyncClient | None = None

    async def __call__(self, kind: LinkKind) -> Link:
        if kind is LinkKind.WEBSOCKET:
            return await open_websocket(self._node.hub_url, self._version)
        return PollLink(self._post, self._node.node_id, self._identity, self._rng)

    async def _post(self, body: bytes, headers: dict[str, str], wait_seconds: float) -> tuple[int, bytes]:
        # Only those who poll pay for the HTTP client.
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(headers={"User-Agent": f"computepool-agent/{self._version}"})
        timeout = httpx.Timeout(wait_seconds, connect=CONNECT_SECONDS)
        try:
            response = await self._client.post(
                self._node.hub_url + POLL_PATH, content=body, headers=headers, timeout=timeout
            )
        except httpx.HTTPError as error:
            raise ConnectionError(f"{type(error).__name__} {error}".strip()) from None
        return response.status_code, response.content

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None
