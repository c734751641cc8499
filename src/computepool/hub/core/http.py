"""Routes that say who may call them.

Every route declares a scope and a visibility. The check runs before the body is read, from memory: no database, no
thread. `check_routes` stops the start of a hub in which a route declares nothing.

    routes = Routes(authenticate, tags=["jobs"])

    @routes.get("/jobs/{job_id}", scope=Scope.JOBS_READ, visible="own")
    async def show_job(job_id: str, caller: Caller) -> JobView: ...

    add_routes(app, routes.router)
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast, get_args

from fastapi import APIRouter, Depends, FastAPI, Header
from fastapi.openapi.models import HTTPBearer as BearerScheme
from fastapi.security.base import SecurityBase
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute, Mount
from starlette.types import Message, Receive, Send
from starlette.types import Scope as AsgiScope

from computepool.hub.core.edge import Connection, connection_of
from computepool.hub.core.errors import Forbidden, Invalid, PoolError, TooLarge, Unauthenticated
from computepool.hub.core.idempotency import KEY_LIMIT
from computepool.hub.core.lazy_route import LazyRoute

API_PREFIX = "/api/v1"
BODY_LIMIT_BYTES = 1024**2
"""Of a request's body, where the route does not say otherwise."""
STRANGERS_BODY_LIMIT_BYTES = 64 * 1024
"""The same where the route asks for no token."""

Visible = Literal["public", "own", "admin", "node", "signed"]
"""Who sees what a route shows.

public: anybody. own: the caller's own objects (the handler asks `owned_by`). admin: operators. node: an agent, proven
by its own key (the handler checks). signed: whoever holds a URL that the hub signed (the handler checks).
"""
BODILESS = frozenset({"GET", "HEAD"})
WITH_TOKEN: frozenset[Visible] = frozenset({"own", "admin"})


class Scope(StrEnum):
    """What a token may be used for."""

    JOBS_READ = "jobs:read"
    JOBS_WRITE = "jobs:write"
    NODES_READ = "nodes:read"
    NODES_WRITE = "nodes:write"
    ARTIFACTS_READ = "artifacts:read"
    ARTIFACTS_WRITE = "artifacts:write"
    ACCOUNT_READ = "account:read"
    ACCOUNT_WRITE = "account:write"
    ADMIN = "admin"


class Role(StrEnum):
    USER = "user"
    ADMIN = "admin"

    @property
    def scopes(self) -> frozenset[Scope]:
        """The most that a token of such a user may carry."""
        return _ADMIN_SCOPES if self is Role.ADMIN else _USER_SCOPES


_ADMIN_SCOPES = frozenset(Scope)
_USER_SCOPES = _ADMIN_SCOPES - {Scope.ADMIN}


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling, and with which rights."""

    user_id: str
    role: Role
    scopes: frozenset[Scope]
    owner_ids: frozenset[str]
    """Whose objects are the caller's own: the user, and the user's teams."""
    kind: Literal["access", "personal"]
    token_id: str | None = None
    """Of a personal token."""
    session_id: str | None = None
    """Of the session that an access token belongs to."""

    @property
    def is_admin(self) -> bool:
        """An admin's token without the admin scope is an ordinary user's."""
        return self.role is Role.ADMIN and Scope.ADMIN in self.scopes


Authenticate = Callable[[str], Principal]
"""The bearer token's owner, from memory; raises Unauthenticated."""

StillHolds = Callable[[Principal], bool]
"""Whether a caller who was let in would still be; from memory."""

_PRINCIPAL = "computepool.principal"
_CHECKED_BY = "computepool.gate"


class Gate:
    """What one route declares. A dependency of the route, so that it is found on it however routers are nested."""

    def __init__(
        self, visible: Visible, scope: Scope | None, authenticate: Authenticate | None, body_limit_bytes: int
    ) -> None:
        self.visible = visible
        self.scope = scope
        self.body_limit_bytes = body_limit_bytes
        self.strict_query = False
        """A parameter that the route does not know is an error: a filter must not be dropped in silence."""
        self.needs: Callable[[], None] | None = None
        self._authenticate = authenticate

    def check(self, scope: AsgiScope) -> None:
        """Raise unless the caller may pass; then `principal_of` knows them."""
        scope[_CHECKED_BY] = self
        if self._authenticate is not None:
            self._let_in(scope, self._authenticate)
        if self.needs is not None:
            self.needs()

    def _let_in(self, scope: AsgiScope, authenticate: Authenticate) -> None:
        principal = authenticate(bearer_token(scope))
        connection = connection_of(scope)
        if connection is not None:
            connection.sender_is_known()
            connection.count_request_of(principal.user_id)
        if self.scope is not None and self.scope not in principal.scopes:
            raise Forbidden(
                f"This token lacks the scope {self.scope}.",
                code="missing_scope",
                hint=f"Make one that has it: computepool token create NAME --scope {self.scope}"
                if self.scope in principal.role.scopes
                else "Your account cannot have it: ask an operator of this pool.",
            )
        if self.visible == "admin" and not principal.is_admin:
            raise Forbidden("Only an admin may do this.")
        scope[_PRINCIPAL] = principal

    async def __call__(self, connection: HTTPConnection) -> None:
        if connection.scope.get(_CHECKED_BY) is not self:
            self.check(connection.scope)


class TokenGate(Gate, SecurityBase):
    """A gate that wants a bearer token, and says so in the OpenAPI document."""

    model = BearerScheme(description="A personal access token, or an access token from auth/login.")
    scheme_name = "bearer"


def principal_of(connection: HTTPConnection) -> Principal:
    """Who passed the gate of this route. A mistake, and so a KeyError, where the route asks for no token."""
    principal: Principal = connection.scope[_PRINCIPAL]
    return principal


async def _caller(connection: HTTPConnection) -> Principal:
    return principal_of(connection)


Caller = Annotated[Principal, Depends(_caller)]
"""A handler's parameter of this type is who called it."""

IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=KEY_LIMIT)]
"""A handler's parameter of this type is the key that makes its request repeatable; see `idempotency.claim`."""


def bearer_token(scope: AsgiScope) -> str:
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if not given:
        raise Unauthenticated("This needs a token.", hint="Sign in with: computepool login URL")
    if len(given) > 1:
        raise Unauthenticated("More than one Authorization header was sent.")
    header: str = given[0].decode("latin-1")
    kind, _, token = header.partition(" ")
    token = token.strip()
    if kind.lower() != "bearer" or not token:
        raise Unauthenticated("The Authorization header is not `Bearer TOKEN`.")
    return token


class GatedRoute(LazyRoute):
    """Asks its gate before anything of the request is read, and bounds the body."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._gate = gate_of(self)

    async def handle(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        gate = self._gate
        if gate is not None and scope["method"] in (self.methods or ()):
            gate.check(scope)
            if "\0" in scope["path"] or b"%00" in scope["query_string"]:
                raise Invalid("The address has a zero byte in it.")  # nothing is called so, and PostgreSQL cannot look
            if gate.strict_query:
                _refuse_unknown(QueryParams(scope["query_string"]), {one.alias for one in self.dependant.query_params})
            receive = _bounded(scope, receive, gate.body_limit_bytes)
            connection = connection_of(scope)
            if connection is not None and not connection.is_sender_known and scope["method"] not in BODILESS:
                try:
                    await super().handle(scope, _held(connection, receive), send)
                finally:
                    connection.release()
                return
        await super().handle(scope, receive, send)


def _refuse_unknown(asked: QueryParams, known: set[str]) -> None:
    for name in asked:
        if name not in known:
            raise Invalid(f"There is no parameter {name[:60]!r} here.", hint=f"Known are {', '.join(sorted(known))}.")


def _bounded(scope: AsgiScope, receive: Receive, limit_bytes: int) -> Receive:
    """The server keeps a declared length; only a body without one is counted as it comes."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            if int(value) > limit_bytes:
                raise TooLarge(_too_large(limit_bytes))
            return receive
    received_bytes = 0

    async def counting() -> Message:
        nonlocal received_bytes
        message = await receive()
        received_bytes += len(message.get("body", b""))
        if received_bytes > limit_bytes:
            raise HTTPException(413, _too_large(limit_bytes))  # FastAPI takes others, while it reads, for a broken body
        return message

    return counting


def _held(connection: Connection, receive: Receive) -> Receive:
    """What unknown senders make the hub keep is bounded for all of them together."""

    async def holding() -> Message:
        message = await receive()
        try:
            connection.hold(len(message.get("body", b"")))
        except PoolError as error:
            raise HTTPException(error.status) from error  # as above
        return message

    return holding


def _too_large(limit_bytes: int) -> str:
    return f"The request is larger than the {limit_bytes} bytes taken here."


Handler = TypeVar("Handler", bound=Callable[..., Any])


@dataclass
class Routes:
    """An APIRouter whose routes cannot be added without saying who may call them."""

    authenticate: Authenticate
    prefix: str = API_PREFIX
    tags: list[str] = field(default_factory=list)
    needs: Callable[[], None] | None = None
    """Raises where this hub has nothing of what these routes are about. Asked before anything that was sent is read."""
    finish: Callable[[Any], Any] | None = None
    """Done to every answer before it is sent."""

    def __post_init__(self) -> None:
        self.router = APIRouter(prefix=self.prefix, tags=[*self.tags], route_class=GatedRoute)

    def route(
        self,
        method: str,
        path: str,
        *,
        visible: Visible,
        scope: Scope | None = None,
        body_limit_bytes: int | None = None,
        strict_query: bool = False,
        **options: Any,
    ) -> Callable[[Handler], Handler]:
        """`options` are FastAPI's own, such as `status_code` or `response_model`."""
        gate = self._gate(visible, scope, body_limit_bytes)
        gate.strict_query, gate.needs = strict_query, self.needs
        declared = {"x-visible": visible} | ({"x-scope": gate.scope.value} if gate.scope else {})
        extra = declared | options.pop("openapi_extra", {})
        add = self.router.api_route(
            path, methods=[method], dependencies=[Depends(gate)], openapi_extra=extra, **options
        )
        return add if self.finish is None else _finished(add, self.finish)

    def get(
        self, path: str, *, visible: Visible, scope: Scope | None = None, **options: Any
    ) -> Callable[[Handler], Handler]:
        return self.route("GET", path, visible=visible, scope=scope, **options)

    def post(
        self, path: str, *, visible: Visible, scope: Scope | None = None, **options: Any
    ) -> Callable[[Handler], Handler]:
        return self.route("POST", path, visible=visible, scope=scope, **options)

    def put(
        self, path: str, *, visible: Visible, scope: Scope | None = None, **options: Any
    ) -> Callable[[Handler], Handler]:
        return self.route("PUT", path, visible=visible, scope=scope, **options)

    def patch(
        self, path: str, *, visible: Visible, scope: Scope | None = None, **options: Any
    ) -> Callable[[Handler], Handler]:
        return self.route("PATCH", path, visible=visible, scope=scope, **options)

    def delete(
        self, path: str, *, visible: Visible, scope: Scope | None = None, **options: Any
    ) -> Callable[[Handler], Handler]:
        return self.route("DELETE", path, visible=visible, scope=scope, **options)

    def websocket(self, path: str, *, visible: Visible, scope: Scope | None = None) -> Callable[[Handler], Handler]:
        """Refused before it is accepted: the client sees the HTTP status."""
        gate = self._gate(visible, scope, None)
        return self.router.websocket(path, dependencies=[Depends(gate)])

    def _gate(self, visible: Visible, scope: Scope | None, body_limit_bytes: int | None) -> Gate:
        if visible not in get_args(Visible):
            raise ValueError(f"visible={visible!r}: expected one of {', '.join(get_args(Visible))}")
        if body_limit_bytes is None:
            body_limit_bytes = BODY_LIMIT_BYTES if visible in WITH_TOKEN else STRANGERS_BODY_LIMIT_BYTES
        if visible not in WITH_TOKEN:
            if scope is not None:
                raise ValueError(f"a route that is visible={visible!r} asks for no token, so it cannot ask for a scope")
            return Gate(visible, None, None, body_limit_bytes)
        if visible == "admin":
            scope = scope or Scope.ADMIN
        if scope is None:
            raise ValueError(f"a route that is visible={visible!r} must name a scope")
        return TokenGate(visible, scope, self.authenticate, body_limit_bytes)


def _finished(add: Callable[[Handler], Handler], finish: Callable[[Any], Any]) -> Callable[[Handler], Handler]:
    def added(handler: Handler) -> Handler:
        @functools.wraps(handler)
        async def and_finish(*args: Any, **kwargs: Any) -> Any:
            return finish(await handler(*args, **kwargs))

        add(cast("Handler", and_finish))
        return handler

    return added


def add_routes(app: FastAPI, *routers: APIRouter) -> None:
    """Flat, not by include_router: FastAPI matches an included router twice for each request."""
    for router in routers:
        app.router.routes.extend(router.routes)


class RouteEntry(NamedTuple):
    method: str
    """An HTTP method, or WS."""
    path: str
    scope: Scope | None
    visible: Visible


class UndeclaredRouteError(Exception):
    """A route says nothing about who may call it."""


def check_routes(app: FastAPI, *, public_mounts: Iterable[str] = ()) -> None:
    """Call it when the app is complete. `public_mounts` are folders of files that anybody may read."""
    known = {app.openapi_url, app.docs_url, app.redoc_url, app.swagger_ui_oauth2_redirect_url, *public_mounts}
    missing = [path for path, route in _walk(app.routes) if gate_of(route) is None and path not in known]
    if missing:
        raise UndeclaredRouteError(f"routes that declare no scope and visibility: {', '.join(sorted(set(missing)))}")


def route_table(app: FastAPI) -> list[RouteEntry]:
    """Every declared route, for the docs and for the tests that try each of them."""
    table: list[RouteEntry] = []
    for path, route in _walk(app.routes):
        gate = gate_of(route)
        if gate is not None:
            methods = getattr(route, "methods", None) or ("WS",)
            table += [RouteEntry(method, path, gate.scope, gate.visible) for method in methods]
    return sorted(table, key=lambda entry: (entry.path, entry.method))


def gate_of(route: object) -> Gate | None:
    for depends in getattr(route, "dependencies", ()):
        if isinstance(depends.dependency, Gate):
            return depends.dependency
    return None


def _walk(routes: Iterable[BaseRoute], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every leaf with its whole path: through mounted apps, and through routers that FastAPI includes lazily."""
    for route in routes:
        included = getattr(route, "effective_route_contexts", None)
        if included is not None:
            for context in included():
                leaf = context.starlette_route or context
                yield from _walk([leaf], prefix)
        elif isinstance(route, Mount) and route.routes:
            yield from _walk(route.routes, prefix + route.path)
        else:
            yield prefix + getattr(route, "path", repr(route)), route
