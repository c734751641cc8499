"""Routes that say who may call them.

Every route declares a scope and a visibility. The check runs before the body is read, from memory: no database, no
thread. `route_table.check_routes` stops the start of a hub in which a route declares nothing.

    routes = Routes(authenticate, tags=["jobs"])

    @routes.get("/jobs/{job_id}", scope=Scope.JOBS_READ, visible="own")
    async def show_job(job_id: str, caller: Caller) -> JobView: ...

    add_routes(app, routes.router)
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

from fastapi import APIRouter, Depends, FastAPI, Header, Query
from fastapi.openapi.models import HTTPBearer as BearerScheme
from fastapi.routing import APIRoute
from fastapi.security.base import SecurityBase
from starlette.requests import HTTPConnection
from starlette.routing import Match
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from computepool.hub.core.edge import connection_of
from computepool.hub.core.errors import Forbidden, Invalid, NotFound, PoolError, Unauthenticated
from computepool.hub.core.idempotency import KEY_LIMIT
from computepool.hub.core.lazy_route import LazyRoute
from computepool.hub.core.request_limits import bounded, check_query, held, parameters_of
from computepool.hub.core.shared_answers import SharedAnswers

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
ONLY_HEAD = "computepool.only_head"
"""In the scope of a request for HEAD that a route for GET answers: a stream need not begin."""
WITH_TOKEN: frozenset[Visible] = frozenset({"own", "admin"})
STRICT: frozenset[Visible] = frozenset({"public", "own", "admin"})
"""Where an unknown or a repeated query parameter is refused. What agents and payment processors send may be newer than
this hub."""


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
    WALLET_READ = "wallet:read"
    WALLET_WRITE = "wallet:write"
    WALLET_PAYOUT = "wallet:payout"
    TEAM_READ = "team:read"
    TEAM_WRITE = "team:write"
    SECRETS_WRITE = "secrets:write"
    WEBHOOKS_WRITE = "webhooks:write"
    ADMIN = "admin"
    """Both of the following, for clients of before they were two."""
    ADMIN_READ = "admin:read"
    ADMIN_WRITE = "admin:write"

    @property
    def is_read(self) -> bool:
        return self.value.endswith(":read")


_FOR_ADMINS = frozenset({Scope.ADMIN, Scope.ADMIN_READ, Scope.ADMIN_WRITE})


def with_implied(scopes: frozenset[Scope]) -> frozenset[Scope]:
    """With those that others stand for."""
    return scopes | _FOR_ADMINS if Scope.ADMIN in scopes else scopes


class Role(StrEnum):
    """What a user may do on the whole platform."""

    USER = "user"
    ADMIN = "admin"

    @property
    def scopes(self) -> frozenset[Scope]:
        """The most that a token of such a user may carry."""
        return _ADMIN_SCOPES if self is Role.ADMIN else _USER_SCOPES


_ADMIN_SCOPES = frozenset(Scope)
_USER_SCOPES = _ADMIN_SCOPES - _FOR_ADMINS


class TeamRole(StrEnum):
    """What a member may do within a team: a set of scopes."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"

    @property
    def scopes(self) -> frozenset[Scope]:
        return TEAM_SCOPES[self]


_VIEWER_SCOPES = frozenset(
    {Scope.JOBS_READ, Scope.ARTIFACTS_READ, Scope.NODES_READ, Scope.WALLET_READ, Scope.TEAM_READ}
)
_MEMBER_SCOPES = _VIEWER_SCOPES | {Scope.JOBS_WRITE, Scope.ARTIFACTS_WRITE}
_TEAM_ADMIN_SCOPES = _MEMBER_SCOPES | {
    Scope.NODES_WRITE, Scope.WALLET_WRITE, Scope.TEAM_WRITE, Scope.SECRETS_WRITE, Scope.WEBHOOKS_WRITE
}  # fmt: skip
TEAM_SCOPES: Mapping[TeamRole, frozenset[Scope]] = {
    TeamRole.VIEWER: _VIEWER_SCOPES,
    TeamRole.MEMBER: _MEMBER_SCOPES,
    TeamRole.ADMIN: _TEAM_ADMIN_SCOPES,
    TeamRole.OWNER: _TEAM_ADMIN_SCOPES | {Scope.WALLET_PAYOUT},
}
"""`account:*` and `admin:*` are about users and the platform: no team grants them."""


@dataclass(frozen=True, slots=True)
class Membership:
    """A user's role in one team."""

    team_id: str
    handle: str
    role: TeamRole


class Memberships:
    """All teams of one user. The sets are made once, not for each request."""

    __slots__ = ("_by_name", "_granting", "by_id", "home_id")

    def __init__(self, user_id: str, teams: Iterable[Membership], managed_by: str | None = None) -> None:
        """`managed_by`: the user is a service account of this team, and owns nothing itself."""
        self.by_id = {team.team_id: team for team in teams}
        self._by_name = {team.handle: team for team in self.by_id.values()} | self.by_id
        self.home_id = managed_by or user_id
        """Whose objects a request is about that names no team."""
        own = frozenset() if managed_by is not None else frozenset({user_id})
        self._granting = {
            scope: own.union(team.team_id for team in self.by_id.values() if scope in team.role.scopes)
            for scope in Scope
        }

    def owners_granting(self, scope: Scope) -> frozenset[str]:
        return self._granting[scope]

    def find(self, name: str) -> Membership | None:
        """By the team's handle or id."""
        return self._by_name.get(name)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling, and with which rights."""

    user_id: str
    role: Role
    scopes: frozenset[Scope]
    owner_ids: frozenset[str]
    """Whose objects are the caller's own: the user, and the teams that grant the scope of the route."""
    kind: Literal["access", "personal"]
    token_id: str | None = None
    """Of a personal token."""
    session_id: str | None = None
    """Of the session that an access token belongs to."""
    memberships: Memberships | None = None
    """None: of no team."""
    scope: Scope | None = None
    """Of the route whose gate the caller passed."""
    _bound: "dict[Scope, Principal]" = field(default_factory=dict, compare=False, repr=False)

    def bound_to(self, scope: Scope) -> "Principal":
        """As the handlers of a route with this scope see the caller: with the owners that grant it. Their checks ask
        for `owner_ids`, so a role in a team never allows more than its scopes."""
        bound = self._bound.get(scope)
        if bound is None:
            owners = self.owner_ids if self.memberships is None else self.memberships.owners_granting(scope)
            bound = self._bound[scope] = replace(self, owner_ids=owners, scope=scope, _bound={})
        return bound

    def owners_granting(self, scope: Scope) -> frozenset[str]:
        """Owners at whom the caller may do what needs this scope, whatever the scope of the route."""
        if scope not in self.scopes:
            return frozenset()
        return self.owner_ids if self.memberships is None else self.memberships.owners_granting(scope)

    def owns(self, owner_id: str) -> bool:
        """Whether the route may show or change this owner's objects to the caller. Raises RoleTooLow for a team that
        the caller belongs to with too low a role."""
        if owner_id in self.owner_ids:
            return True
        if self.scope is not None and (refused := self.role_too_low(self.scope, owner_id)) is not None:
            raise refused
        return False

    def role_too_low(self, scope: Scope, owner_id: str) -> "RoleTooLow | None":
        """Why the caller may not do what needs this scope at a team that they belong to."""
        membership = self.memberships.by_id.get(owner_id) if self.memberships is not None else None
        if membership is None or scope in membership.role.scopes:
            return None
        return RoleTooLow(membership, scope)

    @property
    def home_id(self) -> str:
        """Whose objects a request is about that names no team: the user's, or those of a service account's team."""
        return self.user_id if self.memberships is None else self.memberships.home_id

    @property
    def is_admin(self) -> bool:
        """Whether the caller acts as an admin on this route: reading needs one scope, changing the other. An admin's
        token without it is an ordinary user's."""
        reads = self.scope is not None and self.scope.is_read
        needed = Scope.ADMIN_READ if reads else Scope.ADMIN_WRITE
        return self.role is Role.ADMIN and needed in self.scopes


Authenticate = Callable[[str], Principal]
"""The bearer token's owner, from memory; raises Unauthenticated."""

_PRINCIPAL = "computepool.principal"
_CHECKED_BY = "computepool.gate"


class MissingScope(Forbidden):
    code = "missing_scope"

    def __init__(self, scope: Scope, *, is_possible: bool) -> None:
        super().__init__(
            f"This token lacks the scope {scope}.",
            hint=f"Make one that has it: computepool token create NAME --scope {scope}"
            if is_possible
            else "Your account cannot have it: ask an operator of this pool.",
        )


class RoleTooLow(Forbidden):
    code = "role_too_low"

    def __init__(self, membership: Membership, scope: Scope) -> None:
        super().__init__(
            f"Your role in the team {membership.handle} is {membership.role}, which does not include {scope}.",
            hint="Ask an owner or an admin of the team for another role.",
        )


class NoSuchTeam(NotFound):
    code = "no_such_team"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no team {name[:60]} that you belong to.", hint="See yours: computepool team list")


class Gate:
    """What one route declares. A dependency of the route, so that it is found on it however routers are nested."""

    def __init__(
        self, visible: Visible, scope: Scope | None, authenticate: Authenticate | None, body_limit_bytes: int
    ) -> None:
        self.visible = visible
        self.scope = scope
        self.body_limit_bytes = body_limit_bytes
        self.strict_query = False
        """A parameter that the route does not know, or that comes again though it takes one value, is an error."""
        self.stream_parameters: dict[str, bool] | None = None
        """The same for a WebSocket, whose handler reads its parameters itself. None: others are not refused."""
        self.needs: Callable[[], None] | None = None
        self.shared: SharedAnswers | None = None
        """Where everybody gets the same answer, it is made at most once a second."""
        self.errors: tuple[type[PoolError], ...] = ()
        """That its handler raises, besides those which follow from what the route takes; for the document."""
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
            raise MissingScope(self.scope, is_possible=self.scope in principal.role.scopes)
        if self.scope is not None:
            principal = principal.bound_to(self.scope)
        if self.visible == "admin" and not principal.is_admin:
            raise Forbidden("Only an admin may do this.")
        scope[_PRINCIPAL] = principal

    async def __call__(self, connection: HTTPConnection) -> None:
        if connection.scope.get(_CHECKED_BY) is not self:
            self.check(connection.scope)
        if self.stream_parameters is not None:
            check_query(connection.scope["query_string"], self.stream_parameters)


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


async def _acting_for(
    connection: HTTPConnection,
    team: Annotated[
        str | None, Query(max_length=40, description="For this team, by handle or id; otherwise for yourself.")
    ] = None,
) -> str:
    return owner_for(principal_of(connection), team)


ActingFor = Annotated[str, Depends(_acting_for)]
"""A handler's parameter of this type is the owner that the request is about: the caller, or the team it names, at which
the caller has the scope of the route."""


def owner_for(principal: Principal, name: str | None) -> str:
    """The owner for whom the caller wants to act: the team of this handle or id, or without one the caller. Raises
    NoSuchTeam, RoleTooLow."""
    if name is None:
        owner_id = principal.home_id
    elif name == principal.user_id and name == principal.home_id:
        owner_id = name
    else:
        membership = principal.memberships.find(name) if principal.memberships is not None else None
        if membership is None:
            raise NoSuchTeam(name)
        owner_id = membership.team_id
    if not principal.owns(owner_id):
        raise NoSuchTeam(name or owner_id)
    return owner_id


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
    """Asks its gate before anything of the request is read, and bounds the body. A route for GET answers HEAD too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.gate = gate_of(self)
        self._begins_with = self.path.partition("{")[0]

    def matches(self, scope: AsgiScope) -> tuple[Match, AsgiScope]:
        # Every request asks the routes one by one, and most of them need not look at it closer.
        if not scope["path"].startswith(self._begins_with) and not scope.get("root_path"):
            return Match.NONE, {}
        match, child_scope = super().matches(scope)
        if match is Match.PARTIAL and scope["method"] == "HEAD" and "GET" in (self.methods or ()):
            match = Match.FULL
        return match, child_scope

    async def handle(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        gate = self.gate
        methods = self.methods or ()
        if scope["method"] == "HEAD" and "HEAD" not in methods and "GET" in methods:
            # A copy: the shell knows by its own that no body may be sent.
            scope = {**scope, "method": "GET", ONLY_HEAD: True}
        if gate is not None and scope["method"] in methods:
            gate.check(scope)
            if "\0" in scope["path"] or b"%00" in scope["query_string"]:
                raise Invalid("The address has a zero byte in it.")  # nothing is called so, and PostgreSQL cannot look
            if gate.strict_query:
                check_query(scope["query_string"], self._known_parameters)
            receive = bounded(scope, receive, gate.body_limit_bytes)
            if gate.shared is not None:
                key = scope["query_string"] if self.dependant.query_params else b""
                if self.dependant.path_params:
                    key = scope["path"].encode() + b"?" + key
                await gate.shared.answer(key, super().handle, scope, receive, send)
                return
            connection = connection_of(scope)
            if connection is not None and not connection.is_sender_known and scope["method"] not in BODILESS:
                try:
                    await super().handle(scope, held(connection, receive), send)
                finally:
                    connection.release()
                return
        await super().handle(scope, receive, send)

    @functools.cached_property
    def _known_parameters(self) -> dict[str, bool]:
        return parameters_of(self.dependant)


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
    errors: Sequence[type[PoolError]] = ()
    """That any of these routes may answer with, besides those which follow from what a route takes."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Said of every operation in the OpenAPI document."""

    def __post_init__(self) -> None:
        self.router = APIRouter(
            prefix=self.prefix, tags=[*self.tags], route_class=GatedRoute, generate_unique_id_function=operation_id
        )

    def route(
        self,
        method: str,
        path: str,
        *,
        visible: Visible,
        scope: Scope | None = None,
        body_limit_bytes: int | None = None,
        errors: Sequence[type[PoolError]] = (),
        shared_seconds: int | None = None,
        **options: Any,
    ) -> Callable[[Handler], Handler]:
        """`errors` are what the handler raises, for the document. `shared_seconds`: everybody gets the same answer,
        made at most once a second, which browsers and proxies may keep for so long. `options` are FastAPI's own, such
        as `status_code`, `responses`, or the `name` that the operation's id is made of if the handler's own does not
        serve."""
        gate = self._gate(method, visible, scope, body_limit_bytes)
        gate.strict_query = self.prefix == API_PREFIX and visible in STRICT
        gate.needs, gate.errors = self.needs, (*self.errors, *errors)
        if shared_seconds is not None:
            if visible != "public" or method != "GET":
                raise ValueError(f"{method} {path}: only what a public route shows can be shared")
            gate.shared = SharedAnswers(shared_seconds)
        declared = {**self.extra, "x-visible": visible} | ({"x-scope": gate.scope.value} if gate.scope else {})
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

    def websocket(
        self, path: str, *, visible: Visible, scope: Scope | None = None, parameters: Sequence[str] | None = None
    ) -> Callable[[Handler], Handler]:
        """Refused before it is accepted: the client sees the HTTP status. `parameters` are those that the query may
        have; None where newer clients and agents send more, which is ignored."""
        gate = self._gate("GET", visible, scope, None)
        gate.stream_parameters = None if parameters is None else dict.fromkeys(sorted(parameters), False)
        return self.router.websocket(path, dependencies=[Depends(gate)])

    def _gate(self, method: str, visible: Visible, scope: Scope | None, body_limit_bytes: int | None) -> Gate:
        if visible not in get_args(Visible):
            raise ValueError(f"visible={visible!r}: expected one of {', '.join(get_args(Visible))}")
        if body_limit_bytes is None:
            body_limit_bytes = BODY_LIMIT_BYTES if visible in WITH_TOKEN else STRANGERS_BODY_LIMIT_BYTES
        if visible not in WITH_TOKEN:
            if scope is not None:
                raise ValueError(f"a route that is visible={visible!r} asks for no token, so it cannot ask for a scope")
            return Gate(visible, None, None, body_limit_bytes)
        if visible == "admin" and scope is None:
            scope = Scope.ADMIN_READ if method in BODILESS else Scope.ADMIN_WRITE
        if scope is None:
            raise ValueError(f"a route that is visible={visible!r} must name a scope")
        return TokenGate(visible, scope, self.authenticate, body_limit_bytes)


def operation_id(route: APIRoute) -> str:
    """The route's area and what it does there: `jobs_submit`. It does not change with the path.

    The handler's name (or the route's, where it has one of its own) gives up the word that the area says already:
    `submit_job` and `list_jobs` of the area `jobs` are `jobs_submit` and `jobs_list`.
    """
    area = str(route.tags[0] if route.tags else "").replace("-", "_")
    said = {area, area + "s", area.removesuffix("s"), *area.split("_")}
    words = [word for word in route.name.split("_") if word not in said]
    return "_".join([area, *words] if area else words)


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


def gate_of(route: object) -> Gate | None:
    for depends in getattr(route, "dependencies", ()):
        if isinstance(depends.dependency, Gate):
            return depends.dependency
    return None
