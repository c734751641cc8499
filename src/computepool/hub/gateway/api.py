from fastapi import APIRouter, Request, Response, WebSocket

from computepool.hub.core.edge import sender_is_known
from computepool.hub.core.http import Authenticate, Routes
from computepool.hub.gateway.handshake import Gateway
from computepool.hub.gateway.polls import SENDER_BYTES, Polls
from computepool.hub.gateway.websocket import WebSocketPipe
from computepool.protocol.messages import (
    MESSAGE_LIMIT_BYTES,
    POLL_HEAD_HEADER,
    POLL_HEAD_SIGNATURE_HEADER,
    POLL_SIGNATURE_HEADER,
)


def router(authenticate: Authenticate, gateway: Gateway, polls: Polls) -> APIRouter:
    routes = Routes(authenticate, tags=["agent"])

    @routes.websocket("/agent/link", visible="node")
    async def link(socket: WebSocket) -> None:
        await socket.accept()
        await gateway.serve(WebSocketPipe(socket), lambda: sender_is_known(socket.scope))

    @routes.post("/agent/poll", visible="node", body_limit_bytes=MESSAGE_LIMIT_BYTES, include_in_schema=False)
    async def poll(request: Request) -> Response:
        """The same messages where WebSockets are blocked. Proven by a signature of the node's key."""
        headers = request.headers
        if POLL_HEAD_HEADER in headers:
            head = await polls.check_head(headers[POLL_HEAD_HEADER], headers.get(POLL_HEAD_SIGNATURE_HEADER, ""))
            sender_is_known(request.scope)
            reply = await polls.exchange(await request.body(), head)
        else:
            reply = await polls.exchange(await _read(request, polls), headers.get(POLL_SIGNATURE_HEADER, ""))
        return Response(reply.to_bytes(), media_type="application/json")

    return routes.router


async def _read(request: Request, polls: Polls) -> bytes:
    """The body of an agent that sends no head, as long as it may be a node's. It is held against unknown senders."""
    body, checked = bytearray(), False
    async for chunk in request.stream():
        body += chunk
        if not checked and len(body) >= SENDER_BYTES:
            await polls.check_node(bytes(body[:SENDER_BYTES]))
            checked = True
    return bytes(body)
