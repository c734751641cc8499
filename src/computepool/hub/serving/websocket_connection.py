"""One connection that speaks WebSocket: it took the place of an HttpConnection, and counts as that one did."""

from typing import Any, cast

import uvicorn
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

from computepool.hub.core.edge import CONNECTION, MESSAGE_LIMIT, Connection
from computepool.hub.core.errors import PoolError
from computepool.hub.core.websocket_tokens import Headers
from computepool.hub.serving.guard import ConnectionGuard

FRAGMENTS_LIMIT = 1_000
"""Of one message."""


class WebSocketConnection(WebSocketsSansIOProtocol):
    def __init__(
        self,
        guard: ConnectionGuard,
        connection: Connection,
        credentials: Headers,
        config: uvicorn.Config,
        server_state: Any,
        app_state: Any,
    ) -> None:
        """`credentials`: headers for the app that the library, which logs what it reads, does not get to see."""
        super().__init__(config, server_state, app_state)
        self._guard = guard
        self._connection = connection
        self._credentials = credentials

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.close()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        if not self.transport.is_closing():  # it may be asked twice
            super().shutdown()

    def data_received(self, data: bytes) -> None:
        if not self._connection.is_sender_known:
            try:
                self._connection.hold(len(data))
            except PoolError:
                self.transport.abort()
                return
        super().data_received(data)

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if not self.close_sent:
            scope = cast("dict[str, Any]", self.scope)
            scope["headers"] = [*scope["headers"], *self._credentials]
            scope[CONNECTION] = self._connection
            scope["extensions"][MESSAGE_LIMIT] = self._limit_messages

    def pause_writing(self) -> None:
        super().pause_writing()
        self._guard.count_unread(self._connection, self.transport)

    def resume_writing(self) -> None:
        self._connection.all_read()
        super().resume_writing()

    def handle_cont(self, event: Frame) -> None:
        """Fragments count, not only their bytes: an empty one has none."""
        if len(self.frames) >= FRAGMENTS_LIMIT:
            self._fail(CloseCode.MESSAGE_TOO_BIG, "too many fragments")
        else:
            super().handle_cont(event)

    def handle_ping(self) -> None:
        """Whoever asks without reading the answers is not answered: they would pile up here."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.transport.abort()

    def _limit_messages(self, limit_bytes: int) -> None:
        self.conn.max_message_size = limit_bytes

    def _fail(self, code: CloseCode, reason: str) -> None:
        self.conn.fail(code, reason)
        self.handle_parser_exception()
