"""The line as one WebSocket, opened from here."""

import asyncio
import contextlib
import ssl

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, WebSocketException

from computepool.agent.link.base import Link, LinkClosed, LinkUnavailable
from computepool.agent.ports import asked_to_wait_seconds
from computepool.protocol.messages import LINK_PATH, MESSAGE_LIMIT_BYTES
from computepool.protocol.pinning import COMPARE_KEYS, PinMismatch

OPEN_SECONDS = 10.0
CLOSE_SECONDS = 1.0
WRITE_BUFFER_BYTES = 256 * 1024
"""Beyond this much on its way, a send waits: what is behind it stays on the node's disk."""

_HUB_IS_AWAY = frozenset({429, 502, 503, 504})
"""Answers of a proxy in front of a hub that restarts; they say nothing about WebSockets."""

_MAY_BE_A_WALL = (TimeoutError, ConnectionResetError, BrokenPipeError)
"""How it looks when something on the way swallows WebSockets or cuts them; other errors come before a connection."""


class WebSocketLink:
    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, raw: bytes) -> None:
        try:
            await self._connection.send(raw, text=True)
        except ConnectionClosed as closed:
            raise LinkClosed(str(closed)) from None

    async def receive(self) -> bytes:
        try:
            data = await self._connection.recv(decode=False)
        except ConnectionClosed as closed:
            raise LinkClosed(str(closed)) from None
        return data

    async def close(self) -> None:
        with contextlib.suppress(WebSocketException, OSError):
            await self._connection.close()


def link_url(hub_url: str) -> str:
    """`https://hub` becomes `wss://hub/api/v1/agent/link`."""
    return "ws" + hub_url.removeprefix("http") + LINK_PATH


async def open_websocket(hub_url: str, agent_version: str, tls: ssl.SSLContext | None = None) -> Link:
    """`tls`: which certificates the hub may show, if not the usual ones."""
    try:
        # No compression: logs are small pieces, and a context per agent costs the hub memory. No pings: heartbeats
        # are answered, so they find a dead line on their own.
        connection = await connect(
            link_url(hub_url),
            ssl=tls,
            compression=None,
            ping_interval=None,
            max_size=MESSAGE_LIMIT_BYTES,
            open_timeout=OPEN_SECONDS,
            close_timeout=CLOSE_SECONDS,
            write_limit=WRITE_BUFFER_BYTES,
            user_agent_header=f"computepool-agent/{agent_version}",
        )
    except InvalidStatus as refused:
        status = refused.response.status_code
        message = f"the WebSocket was answered with HTTP {status}"
        # A busy hub says when to come back. It would be no less busy with polls.
        wait_seconds = asked_to_wait_seconds(status, refused.response.headers)
        await asyncio.sleep(wait_seconds)
        raise LinkUnavailable(message, blocked=status not in _HUB_IS_AWAY, away=wait_seconds > 0) from None
    except InvalidHandshake as strange:
        raise LinkUnavailable(f"no WebSocket was spoken: {strange}", blocked=True) from None
    except PinMismatch as mismatch:
        hint = "run the join line that is printed there: this machine stays the node that it is"
        raise LinkUnavailable(f"{mismatch.told(hub_url)}. {COMPARE_KEYS}, {hint}", away=True) from None
    except (TimeoutError, OSError, WebSocketException) as error:
        away = isinstance(error, OSError) and not isinstance(error, _MAY_BE_A_WALL)
        raise LinkUnavailable(f"{type(error).__name__}: {error}".rstrip(": "), away=away) from None
    return WebSocketLink(connection)
