"""What all connections of one server share: the edge, the times that they have, and the look at each of them."""

import asyncio
from collections import Counter
from typing import Protocol

import structlog

from computepool.hub.core.edge import Connection, Edge
from computepool.hub.core.edge_settings import EdgeSettings
from computepool.hub.serving.openings import Openings

LOOK_SECONDS = 1.0
TOLD_SECONDS = 10.0
"""Between two lines in the log about refusals."""

log = structlog.get_logger()


class WatchedConnection(Protocol):
    def look(self, now: float) -> None:
        """Once a second: end what takes too long."""


class ConnectionGuard:
    def __init__(self, edge: Edge, settings: EdgeSettings) -> None:
        self.edge = edge
        self.head_seconds = settings.limit_head_seconds
        self.stall_seconds = settings.limit_stall_seconds
        self.open: set[WatchedConnection] = set()
        self.openings = Openings()
        self.lingering = 0
        self.refused: Counter[str] = Counter()
        self._untold: Counter[str] = Counter()
        self._told_at = -TOLD_SECONDS

    def note_refusal(self, code: str) -> None:
        self.refused[code] += 1
        self._untold[code] += 1

    async def watch(self) -> None:
        """For as long as the server runs."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.look(loop.time())

    def look(self, now: float) -> None:
        for connection in list(self.open):
            connection.look(now)
        if self._untold and now - self._told_at >= TOLD_SECONDS:
            log.warning("edge.refused", **self._untold)
            self._untold.clear()
            self._told_at = now

    def count_unread(self, connection: Connection, transport: asyncio.Transport) -> None:
        """The write buffer of a connection is full. What all of them hold together is bounded."""
        if not connection.leave_unread(transport.get_write_buffer_size()):
            self.note_refusal("unread")
            transport.abort()
