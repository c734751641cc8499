"""Opens real lines to a real hub."""

import random

from computepool.agent.home import Identity, NodeRecord
from computepool.agent.link.base import Link
from computepool.agent.link.longpoll import POLL_PATH, PollLink
from computepool.agent.link.posting import Poster
from computepool.agent.link.websocket import open_websocket
from computepool.agent.ports import LinkKind


class Connections:
    def __init__(self, node: NodeRecord, identity: Identity, agent_version: str, rng: random.Random) -> None:
        self._node = node
        self._identity = identity
        self._version = agent_version
        self._rng = rng
        self._poster = Poster(agent_version, node.tls)

    async def __call__(self, kind: LinkKind) -> Link:
        if kind is LinkKind.WEBSOCKET:
            return await open_websocket(self._node.hub_url, self._version, self._node.tls)
        return PollLink(self._post, self._node.node_id, self._identity, self._rng)

    async def _post(self, body: bytes, headers: dict[str, str], wait_seconds: float) -> tuple[int, bytes]:
        return await self._poster.post(self._node.hub_url + POLL_PATH, body, headers, wait_seconds)

    async def close(self) -> None:
        await self._poster.close()
