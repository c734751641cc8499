"""One connection that speaks HTTP: heads have a size and a time, bodies and readers have to move on."""

import asyncio
from typing import Any, cast
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from computepool.hub.core.edge import CONNECTION, Connection, TooBusyForStrangers, TooManyConnections, address_key
from computepool.hub.core.errors import PoolError, Unavailable
from computepool.hub.core.websocket_tokens import split_credentials
from computepool.hub.serving.guard import ConnectionGuard
from computepool.hub.serving.websocket_connection import WebSocketConnection
from computepool.protocol.messages import LINK_PATH

HEAD_LIMIT_BYTES = 64 * 1024
HEADERS_LIMIT = 100
PIPELINED_LIMIT = 8
"""Requests that wait on one connection for the answer to an earlier one."""
STALL_BYTES = 16 * 1024
"""Must be moved within the setting `limit_stall_seconds`."""
WRITE_BUFFER_BYTES = 64 * 1024
"""At least so much leaves whenever a full write buffer is emptied."""
UNWANTED_BYTES = 64 * 1024
"""Of a request that was answered before its end; more of it is not read."""
LINGER_SECONDS = 2.0
"""After a refusal: closed at once, the kernel would drop the answer before the client reads it."""
LINGERING_LIMIT = 500
WEBSOCKET_WAIT_SECONDS = 8.0
"""Before it begins. An agent gives up on an unanswered WebSocket after 10 s."""


class HeadTooLarge(PoolError):
    status = 431
    code = "head_too_large"

    def __init__(self) -> None:
        super().__init__(
            f"The head of the request is larger than {HEAD_LIMIT_BYTES} bytes, or has more than {HEADERS_LIMIT} "
            "headers.",
            hint="Send fewer or shorter headers and a shorter address.",
        )


class RequestTooSlow(PoolError):
    status = 408
    code = "too_slow"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} came too slowly.", hint="Try again on a better connection.")


class TooManyNewLinks(TooManyConnections):
    retry_after_seconds = 5

    def __init__(self) -> None:
        Unavailable.__init__(
            self,
            "Too many agents of this address, or of all, are connecting and have not proven yet who they are.",
            hint="Try again in a moment. An operator can raise the limit.",
        )


class NotHttp(PoolError):
    status = 400
    code = "bad_request"

    def __init__(self) -> None:
        super().__init__("This is not a request of HTTP/1.1, or too many at once on one connection.")


class HttpConnection(HttpToolsProtocol):
    def __init__(self, guard: ConnectionGuard, place: Connection | TooManyConnections, **options: Any) -> None:
        """`place`: what the connection counts as, or why there is none for it."""
        super().__init__(**options)
        self._guard = guard
        self._connection = place if isinstance(place, Connection) else None
        self._no_place = place if isinstance(place, TooManyConnections) else None
        self._is_made = False
        self._head_since: float | None = None
        """Since when the head of a request is awaited, or under way."""
        self._is_message_open = False
        self._fed_bytes = 0
        self._raw_bytes = 0
        """Of the message so far; of its first piece all, even if it began in the middle."""
        self._body_bytes = 0
        self._raw_bytes_at_answer = 0
        self._refusal: PoolError | None = None
        self._refused_at: float | None = None
        self._websocket_waits_since: float | None = None
        self._is_link = False
        self._drains = 0
        self._late_since: float | None = None
        self._moved = 0
        self._moved_at = 0.0

    # ── connecting ───────────────────────────────────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._is_made = True
        self._head_since = self.loop.time()
        self._guard.open.add(self)
        if self._no_place is not None:
            self._refuse(self._no_place)

    def never_made(self) -> None:
        """Nothing more will happen, if nothing has yet: a handshake that failed."""
        if not self._is_made and self._connection is not None:
            self._connection.close()
            self._connection = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._guard.open.discard(self)
        if self._refused_at is not None:
            self._guard.lingering -= 1
        if self._connection is not None:
            self._guard.openings.leave(self._connection, self._connection.address)
            self._connection.close()
            self._connection = None
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        """It waits before it costs what a WebSocket costs: an agent's link for room, because its sender is not known,
        and any other for its turn."""
        assert self._connection is not None
        self._websocket_waits_since = self.loop.time()
        self._is_link = unquote(self.url.partition(b"?")[0].decode("latin-1")) == LINK_PATH
        queue = self._guard.edge.new_links if self._is_link else self._guard.openings
        queue.enter(self._connection, self._connection.address, self._begin_websocket)

    def _begin_websocket(self) -> None:
        """As uvicorn does it; the new protocol takes this one's place at the edge, too."""
        assert self._connection is not None
        self._websocket_waits_since = None
        self._guard.open.discard(self)
        self.connections.discard(self)
        head = [self.scope["method"].encode(), b" ", self.url, b" HTTP/1.1\r\n"]
        plain, credentials = split_credentials(self.scope["headers"])
        for name, value in plain:
            head += [name, b": ", value, b"\r\n"]
        protocol = WebSocketConnection(
            self._guard, self._connection, credentials, self.config, self.server_state, self.app_state
        )
        protocol.connection_made(self.transport)
        protocol.client = self.scope["client"]
        protocol.scheme = "wss" if self.scope["scheme"] == "https" else "ws"
        protocol.data_received(b"".join([*head, b"\r\n"]))
        self.transport.set_protocol(protocol)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def data_received(self, data: bytes) -> None:
        if self._refused_at is not None:
            return
        if self._websocket_waits_since is not None:  # nobody sends before a WebSocket is accepted
            self._refuse(NotHttp())
            return
        self._unset_keepalive_if_required()
        self._fed_bytes = len(data)
        self._raw_bytes += len(data)
        try:
            self.parser.feed_data(data)
            if self._is_message_open:
                self._check_open_message(len(data))
        except httptools.HttpParserUpgrade:
            if self._should_upgrade():  # else it was answered without
                self.handle_websocket_upgrade()
        except (httptools.HttpParserError, PoolError) as error:
            self._refuse(self._refusal or (error if isinstance(error, PoolError) else NotHttp()))

    def _check_open_message(self, count: int) -> None:
        """What is not body is head, trailers, or the sizes of chunks: never much, and not more than the body itself."""
        if self._raw_bytes - 2 * self._body_bytes > HEAD_LIMIT_BYTES:
            raise HeadTooLarge
        if self._head_since is not None:
            if self._connection is not None:
                self._connection.hold(count)
        elif self._raw_bytes - self._raw_bytes_at_answer > UNWANTED_BYTES and self.cycle.response_complete:
            self._hang_up()

    # The parser calls these. It makes an error of its own of what they raise, so `_stop` keeps what it was.

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= PIPELINED_LIMIT:
            self._stop(NotHttp())
        self._is_message_open = True
        self._raw_bytes, self._body_bytes = self._fed_bytes, 0
        if self._head_since is None:
            self._head_since = self.loop.time()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        headers = self.headers
        if len(headers) >= HEADERS_LIMIT:
            self._stop(HeadTooLarge())
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        headers.append((name, value))

    def on_headers_complete(self) -> None:
        connection = self._connection
        assert connection is not None
        self._head_since = None
        connection.release()
        if self._raw_bytes > HEAD_LIMIT_BYTES and self._head_bytes() > HEAD_LIMIT_BYTES:
            self._stop(HeadTooLarge())
        if connection.is_proxy:
            self._hear_proxy(connection)
        try:
            connection.count_request()
        except PoolError as error:
            self._stop(error)
        connection.is_sender_known = False
        cast("dict[str, Any]", self.scope)[CONNECTION] = connection
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_message_open = False
        super().on_message_complete()

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _unsent_bytes(self) -> int:
        """Of the open message's body, as far as its length was declared."""
        declared = next((int(value) for name, value in self.headers if name == b"content-length"), 0)
        return declared - self._body_bytes

    def _hear_proxy(self, connection: Connection) -> None:
        client = None
        for name, value in self.headers:
            if name == b"x-forwarded-for":
                client = self._guard.edge.forwarded_for(value.decode("latin-1"))
            elif name == b"x-forwarded-proto" and value in (b"http", b"https"):
                self.scope["scheme"] = value.decode()
        if client is not None:
            self.scope["client"] = (client, 0)
        assert self.scope["client"] is not None
        connection.address = address_key(self.scope["client"][0])

    def _stop(self, error: PoolError) -> None:
        self._refusal = error
        raise error

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_response_complete(self) -> None:
        self.cycle.body.clear()  # of an answer that did not wait for it; the next request may be long in coming
        self._raw_bytes_at_answer = self._raw_bytes
        super().on_response_complete()
        is_answered_early = self._is_message_open and self.cycle.response_complete
        if is_answered_early and self._unsent_bytes() > UNWANTED_BYTES and not self.transport.is_closing():
            self._hang_up()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._connection is not None:
            self._guard.count_unread(self._connection, self.transport)

    def resume_writing(self) -> None:
        self._drains += 1
        if self._connection is not None:
            self._connection.all_read()
        super().resume_writing()

    def _refuse(self, error: PoolError) -> None:
        """Tell why, as far as that is possible, and read nothing more."""
        self._guard.note_refusal(error.code)
        self.pipeline.clear()
        self.headers = []
        answered, cycle = False, self._cycle()
        if cycle is not None and not cycle.response_complete:
            answered = cycle.response_started
            cycle.disconnected = True
            cycle.message_event.set()
        if not answered:
            self.transport.write(_answer(error))
        self._hang_up()

    def _hang_up(self) -> None:
        self._unset_keepalive_if_required()
        self._refused_at = self.loop.time()
        self._guard.lingering += 1
        if self._connection is not None:
            self._connection.release()
            self._guard.edge.new_links.leave(self._connection)
            self._guard.openings.leave(self._connection, self._connection.address)
        if self._guard.lingering > LINGERING_LIMIT or not self.transport.can_write_eof():
            self.transport.close()
        elif not self.transport.is_closing():
            self.flow.pause_reading()
            self.transport.write_eof()

    def abort_if_idle(self) -> None:
        """Do not wait for the other side to close it."""
        cycle = self._cycle()
        if (cycle is None or cycle.response_complete) and not self.transport.get_write_buffer_size():
            self.transport.abort()

    def _cycle(self) -> RequestResponseCycle | None:
        return self.cycle  # None before the first request, whatever its type says

    # ── the look, once a second ──────────────────────────────────────────────────────────────────────────────────────

    def look(self, now: float) -> None:
        cycle, unread = self._cycle(), self.transport.get_write_buffer_size()
        if self._refused_at is not None or self._websocket_waits_since is not None:
            self._look_at_its_end(now)
        elif unread:
            if self._is_stalled(self._drains * WRITE_BUFFER_BYTES - unread, now):
                self._guard.note_refusal(RequestTooSlow.code)
                self.transport.abort()
        elif self._head_since is not None:
            if now - self._head_since > self._guard.head_seconds:
                if self._raw_bytes:
                    self._refuse(RequestTooSlow("The head of the request"))
                else:
                    self.transport.close()  # opened in advance, as browsers do, and not needed
        elif cycle is None or cycle.response_complete:
            self._look_between_requests(now)
        elif cycle.more_body and not self.flow.read_paused:
            if self._is_stalled(self._raw_bytes, now):
                self._refuse(RequestTooSlow("The body of the request"))
        else:
            self._moved_at = now  # it waits for us

    def _look_at_its_end(self, now: float) -> None:
        """Of a connection that was refused, or of a WebSocket that waits."""
        if self._refused_at is not None:
            if now - self._refused_at > LINGER_SECONDS:
                self.transport.abort()
        elif self._websocket_waits_since is not None and now - self._websocket_waits_since > WEBSOCKET_WAIT_SECONDS:
            self._refuse(TooManyNewLinks() if self._is_link else TooBusyForStrangers())

    def _look_between_requests(self, now: float) -> None:
        """The keep-alive timer ends an idle connection. It stops with the first byte, even of no request."""
        if not self._is_message_open and self.timeout_keep_alive_task is not None:
            self._late_since = None
        elif self._late_since is None:
            self._late_since = now
        elif now - self._late_since > self._guard.head_seconds:
            self.transport.abort()

    def _is_stalled(self, moved: int, now: float) -> bool:
        if abs(moved - self._moved) >= STALL_BYTES or not self._moved_at:
            self._moved, self._moved_at = moved, now
        return now - self._moved_at > self._guard.stall_seconds


def _answer(error: PoolError) -> bytes:
    body = error.body().model_dump_json(exclude_none=True).encode()
    head = [STATUS_LINE[error.status].decode(), "content-type: application/json\r\n"]
    if error.retry_after_seconds is not None:
        head.append(f"retry-after: {error.retry_after_seconds}\r\n")
    head.append(f"content-length: {len(body)}\r\nconnection: close\r\n\r\n")
    return "".join(head).encode() + body
