"""A WebSocket to an app in the same loop, spoken as a server would: no network, no threads."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.types import ASGIApp
from support.contract import check_message
from support.seen_codes import note
from support.waiting import patience


class Closed(Exception):
    """The app ended it; the code says how."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Denied(Exception):
    """It was never accepted; the app answered with HTTP."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"{status}: {body[:200]!r}")
        self.status = status
        answer = json.loads(body) if body else {}
        note(answer)
        self.error: Any = answer.get("error")


class Socket:
    def __init__(self, path: str) -> None:
        self.path = path
        self.to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.from_app: asyncio.Queue[Any] = asyncio.Queue()
        self.subprotocol: str | None = None
        """The one that the app chose."""

    async def send(self, data: str | bytes) -> None:
        kind = "text" if isinstance(data, str) else "bytes"
        await self.to_app.put({"type": "websocket.receive", kind: data})

    async def receive(self) -> Any:
        """The next message, as JSON."""
        async with asyncio.timeout(patience()):
            message = await self.from_app.get()
        if message["type"] == "websocket.close":
            raise Closed(message.get("code", 1000))
        told = json.loads(message.get("text") or message.get("bytes"))
        check_message(self.path, told)
        return told


@asynccontextmanager
async def connected(app: ASGIApp, path: str, headers: Mapping[str, str] | None = None) -> AsyncIterator[Socket]:
    url = urlsplit(path)
    socket = Socket(path)
    scope = {
        "type": "websocket",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "ws",
        "path": unquote(url.path),
        "raw_path": url.path.encode(),
        "query_string": url.query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
        "client": ("127.0.0.1", 1),
        "server": ("hub.test", 80),
        "subprotocols": [],
        "extensions": {"websocket.http.response": {}},
    }
    await socket.to_app.put({"type": "websocket.connect"})

    async def run() -> None:
        await app(scope, socket.to_app.get, socket.from_app.put)

    task = asyncio.create_task(run())
    try:
        await _accepted(socket)
        yield socket
    finally:
        await socket.to_app.put({"type": "websocket.disconnect", "code": 1000})
        async with asyncio.timeout(patience()):
            await task


async def _accepted(socket: Socket) -> None:
    async with asyncio.timeout(patience()):
        first = await socket.from_app.get()
        if first["type"] == "websocket.accept":
            socket.subprotocol = first.get("subprotocol")
            return
        if first["type"] == "websocket.close":
            raise Closed(first.get("code", 1000))
        body = b""
        while True:
            part = await socket.from_app.get()
            body += part.get("body", b"")
            if not part.get("more_body"):
                raise Denied(first["status"], body)
