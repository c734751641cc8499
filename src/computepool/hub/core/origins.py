"""Which web pages may talk to the hub: its own, and those of origins that its operator names. Nobody else's.

The API takes bearer tokens and no cookies, so another site's page cannot act for somebody who is signed in. Without
CORS it cannot read an answer either.
"""

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from computepool.hub.core.errors import Forbidden
from computepool.hub.core.http_shell import refuse_websocket
from computepool.hub.core.representation import header_of
from computepool.hub.core.settings import Settings

OPEN_PATHS = ("/api/", "/openapi.json")
"""What other origins may be allowed to read; pages are for their own alone."""
PREFLIGHT_SECONDS = 2 * 3600
"""For which a browser remembers what is allowed. Chromium keeps nothing for longer."""
METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
REQUEST_HEADERS = "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, Range"
ANSWER_HEADERS = (
    "Content-Range, Date, ETag, Retry-After, X-Attempt, X-First-Line, X-First-Offset, X-Log-Bytes, X-Log-Complete, "
    "X-Next-Offset"
)


class ForeignPage(Forbidden):
    code = "foreign_page"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is not for pages of other sites.",
            hint="Use the pool's own address. An operator allows other origins with COMPUTEPOOL_CORS_ORIGINS.",
        )


def origin_of(url: str) -> str:
    """As browsers write it: in small letters, without the port that the scheme implies."""
    parts = urlsplit(url.lower())
    usual = {"http": ":80", "https": ":443"}[parts.scheme]
    return f"{parts.scheme}://{parts.netloc.removesuffix(usual)}"


def public_origin(settings: Settings) -> str | None:
    return origin_of(settings.public_url) if settings.public_url else None


class CrossOrigin:
    def __init__(self, app: ASGIApp, *, public: str | None, allowed: Collection[str]) -> None:
        self.app = app
        self._public = public
        self._allowed = frozenset(map(origin_of, allowed))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            origin = header_of(scope["headers"], b"origin")
            if origin and not self._is_welcome(origin, scope):
                await refuse_websocket(WebSocket(scope, receive, send), ForeignPage("This stream"))
                return
        elif scope["type"] == "http" and self._allowed and scope["path"].startswith(OPEN_PATHS):
            await self._with_cors(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _is_welcome(self, origin: str, scope: Scope) -> bool:
        """Also where the page came from the address that was asked for: a hub may have others beside its public one."""
        own = origin.partition("://")[2] == header_of(scope["headers"], b"host")
        return own or origin == self._public or origin in self._allowed

    async def _with_cors(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = header_of(scope["headers"], b"origin")
        is_allowed = origin in self._allowed
        if (
            is_allowed
            and scope["method"] == "OPTIONS"
            and header_of(scope["headers"], b"access-control-request-method")
        ):
            headers = {
                "access-control-allow-origin": origin,
                "access-control-allow-methods": METHODS,
                "access-control-allow-headers": REQUEST_HEADERS,
                "access-control-max-age": str(PREFLIGHT_SECONDS),
                "vary": "origin",
            }
            encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
            await send({"type": "http.response.start", "status": 204, "headers": encoded})
            await send({"type": "http.response.body", "body": b""})
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message["headers"], (b"vary", b"origin")]
                if is_allowed:
                    headers.append((b"access-control-allow-origin", origin.encode()))
                    headers.append((b"access-control-expose-headers", ANSWER_HEADERS.encode()))
                message = {**message, "headers": headers}
            await send(message)

        await self.app(scope, receive, marked)
