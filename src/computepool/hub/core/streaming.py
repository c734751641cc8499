"""Streams to people, over a WebSocket, as server-sent events or as a file: what is sent goes out at the reader's pace,
until it ends, or the reader leaves or is signed out."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from computepool.hub.core.http import ONLY_HEAD
from computepool.protocol.errors import SIGNED_OUT

CLOSING_SECONDS = 1.0
QUIET_SECONDS = 15.0
"""After so long without a frame a comment is sent, so that nobody in between takes the connection for dead."""
Serve = Callable[[Callable[[AsyncGenerator[str, None], Awaitable[object]], Awaitable[None]]], Awaitable[None]]
"""Opens what a stream needs, calls its argument with the frames and what tells that the reader is signed out."""


READERS_MESSAGES = 100
Hear = Callable[[str | bytes], Awaitable[None]]


def hear_nothing() -> Hear:
    """For streams whose readers have nothing to say: one that talks all the same is left."""
    said = 0

    async def hear(_said: str | bytes) -> None:
        nonlocal said
        said += 1
        if said >= READERS_MESSAGES:
            raise WebSocketDisconnect

    return hear


async def serve_frames(
    socket: WebSocket,
    frames: AsyncGenerator[str, None],
    signed_out: Awaitable[object],
    hear: Hear,
) -> None:
    """`signed_out` returns when the reader's token is revoked; `hear` gets what the reader says."""
    sending = asyncio.create_task(_send_all(socket, frames))
    leaving = asyncio.create_task(_until_gone(socket, hear))
    dismissed = asyncio.ensure_future(signed_out)
    tasks: tuple[asyncio.Future[Any], ...] = (sending, leaving, dismissed)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        is_dismissed = dismissed.done()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await frames.aclose()
    if not sending.cancelled():
        sending.result()
    elif is_dismissed:
        # A reader that takes nothing does not take this either; then the server ends the connection when we return.
        with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
            async with asyncio.timeout(CLOSING_SECONDS):
                await socket.close(SIGNED_OUT, "signed out: the token was revoked")


async def _send_all(socket: WebSocket, frames: AsyncGenerator[str, None]) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the reader went away
        async for frame in frames:
            await socket.send_text(frame)
        await socket.close()


async def _until_gone(socket: WebSocket, hear: Hear) -> None:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        said = message.get("text")
        await hear(said if said is not None else message.get("bytes") or b"")


class EventSource(Response):
    """Frames as server-sent events."""

    media_type = "text/event-stream"

    def __init__(self, serve: Serve, status_code: int = 200) -> None:
        super().__init__(status_code=status_code, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._serve = serve

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get(ONLY_HEAD):
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return

        async def stream(frames: AsyncGenerator[str, None], signed_out: Awaitable[object]) -> None:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            sending = asyncio.create_task(_send_events(send, frames))
            leaving = asyncio.create_task(_until_disconnected(receive))
            dismissed = asyncio.ensure_future(signed_out)
            tasks: tuple[asyncio.Future[Any], ...] = (sending, leaving, dismissed)
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await frames.aclose()
            if not leaving.cancelled():
                return
            if not sending.cancelled():
                sending.result()
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._serve(stream)


async def _send_events(send: Send, frames: AsyncGenerator[str, None]) -> None:
    waiting: asyncio.Future[str] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(frames))
            await asyncio.wait((waiting,), timeout=QUIET_SECONDS)
            body = b":\n\n"
            if waiting.done():
                try:
                    body = _as_event(waiting.result())
                except StopAsyncIteration:
                    return
                waiting = None
            await send({"type": "http.response.body", "body": body, "more_body": True})
    finally:
        if waiting is not None:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)


def _as_event(frame: str) -> bytes:
    message = json.loads(frame)
    head = f"id: {message['id']}\n" if "id" in message else ""
    return f"{head}event: {message['type']}\ndata: {frame}\n\n".encode()


class FileStream(Response):
    """A body of known length, made while it is sent. Where `pieces` fails, the connection is cut: the reader sees by
    the Content-Length that something is missing."""

    def __init__(
        self,
        pieces: AsyncGenerator[bytes, None],
        size_bytes: int,
        *,
        status_code: int = 200,
        headers: Mapping[str, str],
        media_type: str,
    ) -> None:
        super().__init__(status_code=status_code, headers=dict(headers), media_type=media_type)
        self.headers["content-length"] = str(size_bytes)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if not scope.get(ONLY_HEAD):
            sending = asyncio.create_task(self._send_pieces(send))
            leaving = asyncio.create_task(_until_disconnected(receive))
            try:
                await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (sending, leaving):
                    task.cancel()
                await asyncio.gather(sending, leaving, return_exceptions=True)
            if sending.cancelled():
                return
            sending.result()
        await self._pieces.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_pieces(self, send: Send) -> None:
        async with contextlib.aclosing(self._pieces):
            async for piece in self._pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
