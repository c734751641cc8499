"""The server as a whole."""

import asyncio
import contextlib
import functools
import socket
from collections.abc import Awaitable, Callable
from typing import cast

import uvicorn
from starlette.types import ASGIApp

from computepool.hub.core.edge import Edge
from computepool.hub.core.edge_settings import EdgeSettings
from computepool.hub.serving.guard import ConnectionGuard
from computepool.hub.serving.http_connection import HttpConnection
from computepool.hub.serving.listening import Listener
from computepool.hub.serving.websocket_connection import WebSocketConnection
from computepool.protocol.messages import MESSAGE_LIMIT_BYTES

KEEP_ALIVE_SECONDS = 75
"""Longer than most clients keep an idle connection (httpx: 5 s), so that they end it and no request meets its end."""
SHUTDOWN_SECONDS = 5
BACKLOG = 4096
ENDING_BATCH = 100
"""Connections that are ended in one turn of the event loop."""
GOODBYE_SECONDS = 0.1
"""What agents and readers are told before their connections end; whoever takes longer is told while they end."""
CLOSE_SECONDS = 0.3
"""For the client of an idle HTTPS connection to close it too. Most clients only notice with their next request."""
ENDED_SECONDS = 0.01
"""How often an ending server looks whether the last request is answered."""
TICK_SECONDS = 1.0
"""How often the Date header of answers is made anew."""


class EdgeServer(uvicorn.Server):
    """Uvicorn, ended by an event instead of by signals, which belong to whoever runs the process."""

    def __init__(self, app: ASGIApp, edge: Edge, settings: EdgeSettings) -> None:
        self.guard = ConnectionGuard(edge, settings)
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="on",
                backlog=BACKLOG,
                http=cast("type[asyncio.Protocol]", HttpConnection),
                ws=WebSocketConnection,
                ws_max_size=MESSAGE_LIMIT_BYTES,
                ws_per_message_deflate=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                server_header=False,
            )
        )

    async def serve_until(
        self,
        stop: asyncio.Event,
        sockets: list[socket.socket],
        ready: Callable[[], None],
        say_goodbye: Callable[[], Awaitable[None]],
    ) -> None:
        self._ready, self._ending = ready, asyncio.Event()
        beside = [asyncio.create_task(self._end_on(stop, say_goodbye)), asyncio.create_task(self.guard.watch())]
        try:
            await self._serve(sockets)
        finally:
            for task in beside:
                task.cancel()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([])
        make = functools.partial(
            HttpConnection,
            self.guard,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        listeners = [Listener(each, BACKLOG, self.guard, make, self.config.ssl) for each in sockets or []]
        self.servers = cast("list[asyncio.base_events.Server]", listeners)
        self._ready()

    async def main_loop(self) -> None:
        """Uvicorn would look ten times a second whether it is over."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), TICK_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        await self.end_connections()
        try:
            async with asyncio.timeout(SHUTDOWN_SECONDS):
                await self._all_ended()
        except TimeoutError:
            for task in self.server_state.tasks:
                task.cancel()
        await self.lifespan.shutdown()

    async def _all_ended(self) -> None:
        loop = asyncio.get_running_loop()
        closed_at = loop.time() + CLOSE_SECONDS
        while self.server_state.connections or self.server_state.tasks:
            await asyncio.sleep(ENDED_SECONDS)
            if loop.time() > closed_at:
                for connection in list(self.server_state.connections):
                    if isinstance(connection, HttpConnection):
                        connection.abort_if_idle()
        for server in self.servers:
            await server.wait_closed()

    async def end_connections(self) -> None:
        """Uvicorn would end all of them in one turn of the event loop, in which nobody else is answered."""
        connections = list(self.server_state.connections)
        for start in range(0, len(connections), ENDING_BATCH):
            for connection in connections[start : start + ENDING_BATCH]:
                connection.shutdown()
            await asyncio.sleep(0)

    async def _end_on(self, stop: asyncio.Event, say_goodbye: Callable[[], Awaitable[None]]) -> None:
        await stop.wait()
        self.should_exit = True
        goodbye = asyncio.ensure_future(say_goodbye())
        await asyncio.wait([goodbye], timeout=GOODBYE_SECONDS)
        self._ending.set()
        await goodbye
