from fastapi import APIRouter, Request, Response, WebSocket

from computepool.hub.core.edge import TooManyFailures, connection_of, sender_is_known
from computepool.hub.core.errors import Forbidden, Invalid, TooLarge
from computepool.hub.core.http import STRANGERS_BODY_LIMIT_BYTES, Routes
from computepool.hub.engine import Engine
from computepool.hub.gateway.polls import SENDER_BYTES, Polls
from computepool.hub.gateway.websocket import WebSocketPipe
from computepool.protocol.messages import (
    MESSAGE_LIMIT_BYTES,
    POLL_HEAD_HEADER,
    POLL_HEAD_SIGNATURE_HEADER,
    POLL_SIGNATURE_HEADER,
)


def router(engine: Engine) -> APIRouter:
    gateway, polls = engine.gateway, engine.polls
    routes = Routes(engine.directory.authenticate, tags=["agent"])

    @routes.websocket("/agent/link", visible="node")
    async def link(socket: WebSocket) -> None:
        await socket.accept()
        await gateway.serve(WebSocketPipe(socket), lambda: sender_is_known(socket.scope))

    @routes.post("/agent/poll", visible="node", body_limit_bytes=MESSAGE_LIMIT_BYTES, include_in_schema=False)
    async def poll(request: Request) -> Response:
        """The same messages where WebSockets are blocked. Proven by a signature of the node's key."""
        headers, connection = request.headers, connection_of(request.scope)
        try:
            if POLL_HEAD_HEADER in headers:
                signature = headers.get(POLL_HEAD_SIGNATURE_HEADER, "")
                head = await polls.check_head(headers[POLL_HEAD_HEADER], signature, connection)
                sender_is_known(request.scope)
                reply = await polls.exchange(await request.body(), head)
            else:
                reply = await polls.exchange(await _read(request, polls), headers.get(POLL_SIGNATURE_HEADER, ""))
        except (Forbidden, Invalid, TooLarge, TooManyFailures):
            if connection is not None:
                await connection.delay_failure()
            raise
        return Response(reply.to_bytes(), media_type="application/json")

    return routes.router


async def _read(request: Request, polls: Polls) -> bytes:
    """The body of an agent that sends no head. It is held against unknown senders, and small unless it begins with the
    id of an open session, which only the node and the hub know."""
    body, checked, is_known = bytearray(), False, False
    declared_bytes = int(request.headers.get("content-length", 0))
    async for chunk in request.stream():
        body += chunk
        if not checked and len(body) >= SENDER_BYTES:
            is_known = await polls.check_node(bytes(body[:SENDER_BYTES]), connection_of(request.scope))
            checked = True
        if checked and not is_known and max(len(body), declared_bytes) > STRANGERS_BODY_LIMIT_BYTES:
            raise TooLarge(
                f"The first request of a polled session has at most {STRANGERS_BODY_LIMIT_BYTES} bytes.",
                hint="Upgrade the agent: newer ones prove who they are before they send the body.",
            )
    if not checked:
        await polls.check_node(bytes(body), connection_of(request.scope))
    return bytes(body)
