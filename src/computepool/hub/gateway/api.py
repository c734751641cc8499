from fastapi import APIRouter, Request, Response, WebSocket

from computepool.hub.core.http import Authenticate, Routes
from computepool.hub.gateway.handshake import Gateway
from computepool.hub.gateway.polls import Polls
from computepool.hub.gateway.websocket import WebSocketPipe
from computepool.protocol.messages import MESSAGE_LIMIT_BYTES, POLL_SIGNATURE_HEADER


def router(authenticate: Authenticate, gateway: Gateway, polls: Polls) -> APIRouter:
    routes = Routes(authenticate, tags=["agent"])

    @routes.websocket("/agent/link", visible="node")
    async def link(socket: WebSocket) -> None:
        await socket.accept()
        await gateway.serve(WebSocketPipe(socket))

    @routes.post("/agent/poll", visible="node", body_limit_bytes=MESSAGE_LIMIT_BYTES, include_in_schema=False)
    async def poll(request: Request) -> Response:
        """The same messages where WebSockets are blocked. Proven by a signature of the node's key."""
        body = await request.body()
        reply = await polls.exchange(body, request.headers.get(POLL_SIGNATURE_HEADER, ""))
        return Response(reply.to_bytes(), media_type="application/json")

    return routes.router
