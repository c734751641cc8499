"""A link over a WebSocket."""

import contextlib

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from computepool.hub.gateway.pipe import PipeClosed


class WebSocketPipe:
    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def receive(self) -> bytes | str:
        try:
            message = await self._socket.receive()
        except (WebSocketDisconnect, RuntimeError) as error:
            raise PipeClosed from error
        if message["type"] == "websocket.disconnect":
            raise PipeClosed
        raw: bytes | str = message.get("bytes") or message.get("text") or ""
        return raw

    async def send(self, raw: bytes) -> None:
        try:
            await self._socket.send_text(raw.decode())
        except (WebSocketDisconnect, RuntimeError) as error:
            raise PipeClosed from error

    async def close(self) -> None:
        if self._socket.application_state is WebSocketState.CONNECTED:
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                await self._socket.close()
