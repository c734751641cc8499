"""Requests of those who poll. Only they pay for the HTTP client: it is imported and made when the first one asks."""

import asyncio
import ssl
from typing import TYPE_CHECKING

from computepool.agent.ports import asked_to_wait_seconds

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 10.0


class Poster:
    """As many connections as there are requests under way: of a node, or of a thousand simulated ones."""

    def __init__(self, agent_version: str, tls: ssl.SSLContext | None = None) -> None:
        """`tls`: which certificates the hub may show, if not the usual ones."""
        self.agent_version = agent_version
        self.tls = tls
        self._client: httpx.AsyncClient | None = None

    async def post(self, url: str, body: bytes, headers: dict[str, str], wait_seconds: float) -> tuple[int, bytes]:
        """The status and the body. Raises ConnectionError where there is no answer. A hub that was asked too often is
        given the time that it asks for."""
        import httpx

        if self._client is None:
            agent = {"User-Agent": f"computepool-agent/{self.agent_version}"}
            verify = True if self.tls is None else self.tls
            self._client = httpx.AsyncClient(headers=agent, limits=httpx.Limits(max_connections=None), verify=verify)
        timeout = httpx.Timeout(wait_seconds, connect=CONNECT_SECONDS)
        try:
            response = await self._client.post(url, content=body, headers=headers, timeout=timeout)
        except httpx.HTTPError as error:
            raise ConnectionError(f"{type(error).__name__} {error}".strip()) from None
        if wait_seconds := asked_to_wait_seconds(response.status_code, response.headers):
            await asyncio.sleep(wait_seconds)
        return response.status_code, response.content

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None
