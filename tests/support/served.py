"""A small app behind the hub's own server, on a real socket in this process. Time is told, not waited for."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response, WebSocket, WebSocketDisconnect
from support.waiting import async_eventually, patience

from computepool.hub.commands import bind
from computepool.hub.core.edge import Edge, connection_of, limit_messages
from computepool.hub.core.errors import Unauthenticated
from computepool.hub.core.http import Caller, Principal, Role, Routes, Scope, add_routes
from computepool.hub.core.http_shell import install_shell
from computepool.hub.core.settings import Settings
from computepool.hub.serving.http_connection import HttpConnection
from computepool.hub.serving.server import EdgeServer


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> Any:
        assert self.status >= 400, f"answered {self.status}"
        return json.loads(self.body)["error"]


class Line:
    """One connection, spoken by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        """As much of it as the server takes: it may stop reading."""
        self.writer.write(data)
        try:
            async with asyncio.timeout(0.5 if len(data) > 1_000_000 else patience()):
                await self.writer.drain()
        except (ConnectionError, TimeoutError):
            pass

    async def get(self, path: str = "/api/v1/here", **headers: str) -> Answer:
        fields = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        await self.send(f"GET {path} HTTP/1.1\r\nHost: hub\r\n{fields}\r\n".encode())
        return await self.answer()

    async def answer(self) -> Answer:
        async with asyncio.timeout(patience()):
            first, *fields = (await self.reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
            headers = dict(field.lower().split(": ", 1) for field in fields)
            body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return Answer(int(first.split()[1]), headers, body)

    async def ended(self) -> bytes:
        """What came last, once the server has closed it."""
        async with asyncio.timeout(patience()):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""

    def close(self) -> None:
        self.writer.transport.abort()


@dataclass
class Served:
    server: EdgeServer
    running: asyncio.Task[None]
    port: int
    lines: list[Line]
    bodies: list[bytes]
    """What `POST open` was sent."""

    @property
    def connections(self) -> list[HttpConnection]:
        return [each for each in self.server.guard.open if isinstance(each, HttpConnection)]

    async def connect(self) -> Line:
        line = Line(*await asyncio.open_connection("127.0.0.1", self.port))
        self.lines.append(line)
        return line

    def pass_time(self, seconds: float) -> None:
        self.server.guard.look(asyncio.get_running_loop().time() + seconds)

    async def until(self, condition: Callable[[], Any], what: str) -> None:
        await async_eventually(condition, what)

    async def until_open(self, count: int) -> None:
        await self.until(lambda: len(self.server.guard.open) == count, f"{count} open connections")


def _authenticate(token: str) -> Principal:
    if not token.startswith("user"):
        raise Unauthenticated("Who?")
    return Principal(token, Role.USER, Role.USER.scopes, frozenset({token}), "access")


def _app(bodies: list[bytes]) -> FastAPI:
    app = FastAPI()
    install_shell(app)
    routes = Routes(_authenticate)

    @routes.get("/here", visible="public")
    async def here(request: Request) -> dict[str, Any]:
        assert request.client is not None
        return {"client": request.client.host, "scheme": request.url.scheme}

    @routes.get("/large", visible="public", response_class=Response)
    async def large() -> Response:
        return Response(bytes(15_000_000))

    @routes.get("/mine", visible="own", scope=Scope.JOBS_READ)
    async def mine(caller: Caller) -> str:
        return caller.user_id

    @routes.post("/open", visible="public")
    async def take(request: Request) -> int:
        bodies.append(await request.body())
        return len(bodies[-1])

    @routes.post("/wide", visible="signed", body_limit_bytes=4 * 1024**2)
    async def take_much(request: Request) -> int:
        return len(await request.body())

    @routes.get("/suspect", visible="public")
    async def suspect(request: Request) -> None:
        connection = connection_of(request.scope)
        assert connection is not None
        connection.check_failures()
        await connection.delay_failure()

    @routes.websocket("/agent/link", visible="public")
    @routes.websocket("/echo", visible="public")
    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        connection = connection_of(socket.scope)
        assert connection is not None
        try:
            while (text := await socket.receive_text()) != "known":
                await socket.send_text(text)
            connection.sender_is_known()
            limit_messages(socket.scope, 100)
            while True:
                await socket.send_text(await socket.receive_text())
        except WebSocketDisconnect:
            pass

    @routes.websocket("/mine", visible="own", scope=Scope.JOBS_READ)
    async def stream(socket: WebSocket, caller: Caller) -> None:
        await socket.accept()
        await socket.send_text(str(len(caller.user_id)))

    add_routes(app, routes.router)
    return app


@asynccontextmanager
async def served(tls: ssl.SSLContext | None = None, **settings: Any) -> AsyncIterator[Served]:
    chosen = Settings(**settings)
    bodies: list[bytes] = []
    loop = asyncio.get_running_loop()
    server = EdgeServer(_app(bodies), Edge.of(chosen, loop.time), chosen)
    server.config.load()
    server.config.ssl = tls
    stop, ready = asyncio.Event(), asyncio.Event()
    with bind("127.0.0.1", 0) as listener:
        running = asyncio.create_task(server.serve_until(stop, [listener], ready.set, _nothing))
        await ready.wait()
        found = Served(server, running, listener.getsockname()[1], [], bodies)
        try:
            yield found
        finally:
            for line in found.lines:
                line.close()
            for connection in list(server.server_state.connections):
                connection.transport.abort()
            stop.set()
            await running


async def _nothing() -> None:
    pass
