"""What surrounds every answer: errors in one shape, and headers that keep browsers safe. Plain ASGI, for speed."""

import secrets
from collections.abc import MutableMapping
from typing import Any

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DataError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketState

from computepool.hub.core.compression import Compression
from computepool.hub.core.errors import Invalid, PoolError
from computepool.hub.core.websocket_tokens import WebSocketTokens
from computepool.protocol.errors import ErrorBody, ErrorDetail, FieldError
from computepool.protocol.problem_words import words_for

log = structlog.get_logger()

PERMISSIONS_POLICY = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"
HSTS_SECONDS = 180 * 24 * 3600
SHOWN_VALUE_LIMIT = 80
"""Of a refused value, in characters, when it is told back."""
PRIVATE_WORDS = ("password", "token", "secret", "key", "code")
"""A field whose name has one of these is never told back."""
CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed", 413: "too_large", 415: "invalid"}


def install_shell(app: FastAPI, *, https: bool = False, storage_origin: str | None = None) -> None:
    """`https`: browsers are told to never come back without it. `storage_origin`: as of `content_policy`."""
    install_error_handlers(app)
    app.add_middleware(UnexpectedErrors)
    app.add_middleware(Compression)
    app.add_middleware(WebSocketTokens)
    app.add_middleware(SafeHeaders, https=https, policy=content_policy(storage_origin))


def content_policy(storage_origin: str | None = None, nonce: str | None = None) -> str:
    """What a page of the hub may load. `storage_origin`: of the bucket that browsers exchange artifacts with. `nonce`:
    that of the page's own style elements."""
    elsewhere = f" {storage_origin}" if storage_origin else ""
    styles = f" 'nonce-{nonce}'" if nonce else ""
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'{styles}; font-src 'self'; manifest-src 'self'; "
        f"img-src 'self' data: blob:{elsewhere}; media-src 'self' blob:{elsewhere}; worker-src 'self'; "
        f"connect-src 'self'{elsewhere}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types computepool"
    )


def install_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(PoolError, _tell_pool_error)
    app.add_exception_handler(RequestValidationError, _tell_invalid)
    app.add_exception_handler(HTTPException, _tell_http_error)
    app.add_exception_handler(DataError, _tell_unstorable)


async def _tell_pool_error(connection: HTTPConnection, error: Exception) -> Any:
    assert isinstance(error, PoolError)
    if isinstance(connection, WebSocket):
        await refuse_websocket(connection, error)
        return None
    return error_response(error)


async def _tell_invalid(_connection: HTTPConnection, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return error_response(Invalid("The request does not fit.", fields=[_field_error(e) for e in error.errors()]))


async def _tell_unstorable(_connection: HTTPConnection, error: Exception) -> Response:
    """PostgreSQL takes no text with a zero byte in it, wherever in a request that was. All else is our own mistake."""
    assert isinstance(error, DataError)
    if not any(words in str(error.orig) for words in ("NUL", "\\u0000")):  # the second of one within JSON
        raise error
    return error_response(Invalid("A text in the request has a zero byte in it."))


async def _tell_http_error(connection: HTTPConnection, error: Exception) -> Any:
    assert isinstance(error, HTTPException)
    if isinstance(connection, WebSocket):
        await connection.close(1008)
        return None
    if isinstance(error.__cause__, PoolError):
        return error_response(error.__cause__)
    code = CODES.get(error.status_code, "refused")
    message = str(error.detail)
    if error.status_code == 404:
        message = f"There is nothing at {connection.url.path}."
    if error.status_code == 405:
        message = f"{connection.scope['method']} is not possible at {connection.url.path}."
    headers = dict(error.headers) if error.headers else None
    return _json(error.status_code, ErrorBody(error=ErrorDetail(code=code, message=message)), headers)


def error_response(error: PoolError) -> Response:
    headers = {}
    if error.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="computepool"'
    if error.retry_after_seconds is not None:
        headers["Retry-After"] = str(error.retry_after_seconds)
    return _json(error.status, error.body(), headers)


async def refuse_websocket(websocket: WebSocket, error: PoolError) -> None:
    """Before it is accepted, with the HTTP answer where the server can; afterwards by closing with the error's code."""
    if websocket.application_state is WebSocketState.CONNECTING:
        if "websocket.http.response" in websocket.scope.get("extensions", {}):
            await websocket.send_denial_response(error_response(error))
        else:
            await websocket.close(1008)
    elif websocket.application_state is WebSocketState.CONNECTED:
        await websocket.close(1008, reason=error.code)


def _json(status: int, body: ErrorBody, headers: MutableMapping[str, str] | None = None) -> Response:
    return JSONResponse(body.model_dump(exclude_none=True), status_code=status, headers=headers)


def _field_error(problem: dict[str, Any]) -> FieldError:
    place = [str(part) for part in problem["loc"] if part not in ("body", "query", "path", "header")]
    name = ".".join(place) or str(problem["loc"][0])
    return FieldError(field=name, message=words_for(problem), value=_shown(name, problem.get("input")))


def _shown(name: str, value: object) -> str | None:
    if not isinstance(value, str | int | float) or any(word in name.lower() for word in PRIVATE_WORDS):
        return None
    text = str(value)
    return text if len(text) <= SHOWN_VALUE_LIMIT else text[:SHOWN_VALUE_LIMIT] + "…"


class UnexpectedErrors:
    """The last resort: our own mistake is logged with an id, and the client is told the id and nothing else."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except ClientDisconnect:
            return  # in the middle of its request: nobody hears an answer
        except Exception:
            error_id = secrets.token_hex(8)
            log.exception("request.failed", error_id=error_id, method=scope["method"], path=scope["path"])
            if started:
                raise  # too late for another answer: the server cuts the connection, so half is not taken for whole
            await _json(500, _internal(error_id))(scope, receive, send)


def _internal(error_id: str) -> ErrorBody:
    return ErrorBody(
        error=ErrorDetail(
            code="internal",
            message="The hub made a mistake.",
            hint=f"Tell its operator this id, which is in the hub's log: {error_id}",
        )
    )


class SafeHeaders:
    """Adds to each answer what it does not set itself, and takes the body from answers to HEAD."""

    def __init__(self, app: ASGIApp, *, https: bool = False, policy: str | None = None) -> None:
        self.app = app
        always = {
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "permissions-policy": PERMISSIONS_POLICY,
        }
        if https:
            always["strict-transport-security"] = f"max-age={HSTS_SECONDS}"
        self._always = [(name.encode(), value.encode()) for name, value in always.items()]
        self._policy = (policy or content_policy()).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_api = scope["path"].startswith("/api/")
        is_head = scope["method"] == "HEAD"

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"] = [*message["headers"], *self._always]
                given = dict(headers)
                if b"content-security-policy" not in given and given.get(b"content-type", b"").startswith(b"text/html"):
                    headers.append((b"content-security-policy", self._policy))
                if is_api and b"cache-control" not in given:
                    headers.append((b"cache-control", b"no-store"))
            elif is_head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self.app(scope, receive, dressed)
