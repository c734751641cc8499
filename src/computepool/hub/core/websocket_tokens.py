"""Tokens of WebSockets.

A browser cannot set headers on a WebSocket. It offers the token as a subprotocol, `bearer.TOKEN`, beside
`computepool.v1`, and the hub answers with the latter alone. Everything after this file sees an Authorization header, so
routes authenticate a WebSocket as they do any request.
"""

from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

SUBPROTOCOL = "computepool.v1"
BEARER = b"bearer."
_PROTOCOLS, _AUTHORIZATION = b"sec-websocket-protocol", b"authorization"

Headers = list[tuple[bytes, bytes]]


def split_credentials(headers: Iterable[tuple[bytes, bytes]]) -> tuple[Headers, Headers]:
    """The headers that may be logged, and the Authorization headers: those that were sent, and one for each token
    among the subprotocols. A token without `computepool.v1` beside it is dropped: the browser would hang up anyway."""
    plain, credentials, offered = Headers(), Headers(), list[bytes]()
    for name, value in headers:
        if name.lower() == _AUTHORIZATION:
            credentials.append((_AUTHORIZATION, value))
        elif name.lower() == _PROTOCOLS:
            offered += [part.strip() for part in value.split(b",")]
        else:
            plain.append((name, value))
    others = [part for part in offered if not part.startswith(BEARER)]
    if SUBPROTOCOL.encode() in others:
        tokens = [part.removeprefix(BEARER) for part in offered if part.startswith(BEARER)]
        credentials += [(_AUTHORIZATION, b"Bearer " + token) for token in tokens]
    if others:
        plain.append((_PROTOCOLS, b", ".join(others)))
    return plain, credentials


class WebSocketTokens:
    """For every WebSocket of the app."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        plain, credentials = split_credentials(scope["headers"])
        offered = next((value for name, value in plain if name == _PROTOCOLS), b"").decode("latin-1").split(", ")
        seen = {**scope, "headers": [*plain, *credentials], "subprotocols": [part for part in offered if part]}

        async def agreeing(message: Message) -> None:
            if message["type"] == "websocket.accept" and SUBPROTOCOL in offered and not message.get("subprotocol"):
                message = {**message, "subprotocol": SUBPROTOCOL}
            await send(message)

        await self.app(seen, receive, agreeing)
