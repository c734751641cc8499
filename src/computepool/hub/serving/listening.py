"""Accepts connections: each is counted by its address before a word is spoken, also before the handshake of TLS.

The event loop's own server asks the protocol only after the handshake, which is the expensive part. And where no file
descriptor is left it tries again in every turn of the loop.
"""

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Callable

import structlog

from computepool.hub.core.edge import Connection, TooManyConnections
from computepool.hub.core.errors import PoolError
from computepool.hub.serving.guard import ConnectionGuard
from computepool.hub.serving.http_connection import HttpConnection

ACCEPT_BATCH, TLS_ACCEPT_BATCH = 8, 4
"""Before a rest. A connection costs some 0.2 ms, and a handshake several times as much."""
REST_SECONDS = 0.004
"""In which those who are connected already are answered. 2,000 connections a second are left."""
BACK_OFF_SECONDS = 0.5
"""Where no file descriptor is left; those of idle connections become free within seconds."""
EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

log = structlog.get_logger()

MakeConnection = Callable[[Connection | TooManyConnections], HttpConnection]


class Listener:
    """Of one socket. It has the part of asyncio's Server that uvicorn uses."""

    def __init__(
        self,
        listener: socket.socket,
        backlog: int,
        guard: ConnectionGuard,
        make: MakeConnection,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._listener = listener
        self._guard = guard
        self._make = make
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._opening: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None
        listener.listen(backlog)
        listener.setblocking(False)
        self._listen()

    def close(self) -> None:
        """May be repeated."""
        if self._listener.fileno() < 0:
            return
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._listener)
        self._listener.close()
        for task in self._opening:
            task.cancel()

    async def wait_closed(self) -> None:
        if self._opening:
            await asyncio.wait(self._opening)

    def _listen(self) -> None:
        self._pause = None
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        for _ in range(ACCEPT_BATCH if self._tls is None else TLS_ACCEPT_BATCH):
            try:
                line, peer = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in EXHAUSTED:
                    raise
                self._back_off(error)
                return
            self._open(line, str(peer[0]))
        self._rest(REST_SECONDS)

    def _back_off(self, error: OSError) -> None:
        self._guard.note_refusal("no_descriptors")
        log.error("hub.out_of_descriptors", reason=error.strerror)
        self._rest(BACK_OFF_SECONDS)

    def _rest(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._pause = self._loop.call_later(seconds, self._listen)

    def _open(self, line: socket.socket, peer: str) -> None:
        edge, counted = self._guard.edge, None
        try:
            counted = edge.connect(peer)
            if self._tls is not None and not counted.is_proxy:
                counted.count_request()  # a handshake costs as much as a request
            place: Connection | TooManyConnections = counted
        except PoolError as error:
            if self._tls is not None or not isinstance(error, TooManyConnections):
                # It could only be told after a handshake.
                self._guard.note_refusal(error.code)
                if counted is not None:
                    counted.close()
                line.close()
                return
            place = error
        task = self._loop.create_task(self._speak(line, place))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _speak(self, line: socket.socket, place: Connection | TooManyConnections) -> None:
        protocol = self._make(place)
        try:
            with contextlib.suppress(OSError, AttributeError):  # a socket that is not TCP
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line.setblocking(False)
            seconds = self._guard.head_seconds if self._tls is not None else None
            await self._loop.connect_accepted_socket(
                lambda: protocol, line, ssl=self._tls, ssl_handshake_timeout=seconds
            )
        except (OSError, TimeoutError):  # of TLS, too: no handshake, and nobody to tell
            self._guard.note_refusal("handshake")
            line.close()
        finally:
            protocol.never_made()
