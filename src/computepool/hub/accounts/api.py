from dataclasses import dataclass
from datetime import timedelta

from fastapi import APIRouter, Body, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from computepool.hub.accounts import repository, service
from computepool.hub.accounts.admin_api import add_users
from computepool.hub.accounts.directory import LiveToken, TokenDirectory
from computepool.hub.accounts.errors import MoreThanYouHave, NoSuchUser
from computepool.hub.accounts.sign_in import SignIn, Visitor
from computepool.hub.accounts.tables import USER_AGENT_LIMIT, PersonalToken
from computepool.hub.accounts.tokens import new_personal_token
from computepool.hub.accounts.views import (
    DeviceApproveRequest,
    DeviceCodeView,
    DeviceTokenRequest,
    LoginRequest,
    LogoutRequest,
    MeView,
    NewTokenView,
    OneTimeRequest,
    RefreshRequest,
    RegisterRequest,
    SessionList,
    SessionView,
    TokenList,
    TokenPair,
    TokenRequest,
    TokenView,
)
from computepool.hub.core.context import Context
from computepool.hub.core.http import Caller, IdempotencyKey, Principal, Routes, Scope, bearer_token
from computepool.hub.core.idempotency import claim, digest_of_fields, repeatable_bits

TOKEN_ROUTE = "POST tokens"


def router(context: Context, directory: TokenDirectory, sign_in: SignIn) -> APIRouter:
    routes = Routes(directory.authenticate, tags=["accounts"])
    _add_sign_in(routes, context, directory, sign_in)
    _add_device(routes, context, sign_in)
    _add_sessions(routes, context, sign_in)
    _add_tokens(routes, context, directory)
    add_users(routes, context, directory)
    return routes.router


def _add_sign_in(routes: Routes, context: Context, directory: TokenDirectory, sign_in: SignIn) -> None:
    @routes.post("/auth/register", visible="public", status_code=201)
    async def register(request: Request, body: RegisterRequest) -> TokenPair:
        """Make an account and sign in to it, where the operator lets people register."""
        return await sign_in.register(
            _visitor(request), email=body.email, password=body.password, name=body.name, country=body.country
        )

    @routes.post("/auth/login", visible="public")
    async def login(request: Request, body: LoginRequest) -> TokenPair:
        """Sign in with email and password. Tries that fail have to wait longer and longer."""
        return await sign_in.by_password(_visitor(request), body.email, body.password)

    @routes.post("/auth/refresh", visible="public")
    async def refresh(body: RefreshRequest) -> TokenPair:
        """Trade a refresh token for the next pair. Each can be used once; one that is used again ends its session."""
        return await sign_in.refresh(body.refresh_token)

    @routes.post("/auth/one-time", visible="public")
    async def one_time(request: Request, body: OneTimeRequest) -> TokenPair:
        """Trade the token of a sign-in link for a session."""
        return await sign_in.by_link(_visitor(request), body.token)

    @routes.post("/auth/logout", visible="public", status_code=204)
    async def logout(request: Request, body: LogoutRequest = Body(default=LogoutRequest())) -> None:
        """End the session of the refresh token; without one, that of the access token."""
        if body.refresh_token is not None:
            await sign_in.end_session_of(body.refresh_token)
            return
        caller = directory.authenticate(bearer_token(request.scope))
        if caller.session_id is not None:
            await sign_in.end_session(caller.user_id, caller.session_id)

    @routes.get("/me", visible="own", scope=Scope.ACCOUNT_READ)
    async def me(caller: Caller) -> MeView:
        """Who is asking, and what this token may do."""
        user = await context.db.read(repository.find_user, caller.user_id)
        if user is None:
            raise NoSuchUser(caller.user_id)
        return MeView(
            id=user.id,
            email=user.email,
            name=user.name,
            country=user.country,
            role=user.role,
            created_at=user.created_at,
            scopes=sorted(caller.scopes),
            token_kind=caller.kind,
            token_id=caller.token_id,
        )


def _add_device(routes: Routes, context: Context, sign_in: SignIn) -> None:
    @routes.post("/auth/device", visible="public")
    async def begin(request: Request) -> DeviceCodeView:
        """Begin a login on a device without a browser: a code for a person to type, and one to ask with."""
        hub_url = context.settings.public_url or str(request.base_url)
        return await sign_in.begin_device(_visitor(request), hub_url)

    @routes.post("/auth/device/token", visible="public")
    async def poll(request: Request, body: DeviceTokenRequest) -> TokenPair:
        """Ask whether the person has agreed yet. `authorization_pending` means: ask again after the interval."""
        return await sign_in.by_device(_visitor(request), body.device_code)

    @routes.post("/auth/device/approve", visible="own", scope=Scope.ACCOUNT_WRITE, status_code=204)
    async def approve(body: DeviceApproveRequest, caller: Caller) -> None:
        """Let the device with this code act for the caller, or deny it."""
        await sign_in.decide_device(caller, body.user_code, approve=body.approve)


def _add_sessions(routes: Routes, context: Context, sign_in: SignIn) -> None:
    @routes.get("/sessions", visible="own", scope=Scope.ACCOUNT_READ)
    async def list_sessions(caller: Caller) -> SessionList:
        """Where the caller is signed in."""
        rows = await context.db.read(repository.list_live_sessions, caller.user_id, context.now())
        items = [
            SessionView(
                id=row.id,
                user_agent=row.user_agent,
                created_at=row.created_at,
                last_used_at=row.rotated_at,
                expires_at=row.expires_at,
                current=row.id == caller.session_id,
            )
            for row in rows
        ]
        return SessionList(items=items)

    @routes.delete("/sessions/{session_id}", visible="own", scope=Scope.ACCOUNT_WRITE, status_code=204)
    async def end_session(session_id: str, caller: Caller) -> None:
        """Sign one of them out, at once."""
        await sign_in.end_session(caller.user_id, session_id)


def _add_tokens(routes: Routes, context: Context, directory: TokenDirectory) -> None:
    @routes.get("/tokens", visible="own", scope=Scope.ACCOUNT_READ)
    async def list_tokens(caller: Caller) -> TokenList:
        """The caller's personal access tokens, without their text."""
        rows = await context.db.read(repository.list_tokens, caller.user_id)
        return TokenList(items=[_view(row) for row in rows])

    @routes.post("/tokens", visible="own", scope=Scope.ACCOUNT_WRITE, status_code=201)
    async def create_token(body: TokenRequest, caller: Caller, key: IdempotencyKey = None) -> NewTokenView:
        """Its text is in this answer alone, and in that to the same request repeated with the same key."""
        scopes = caller.scopes if body.scopes is None else body.scopes
        if not scopes <= caller.scopes:
            missing = ", ".join(sorted(scopes - caller.scopes))
            raise MoreThanYouHave(f"A token can give no more than you have now, and you lack: {missing}.")
        made = await context.db.run(_create_token, context, caller, body, scopes, key)
        if made.live is not None:
            directory.admit_token(made.live)
        return NewTokenView(**_view(made.row).model_dump(), token=made.token)

    @routes.delete("/tokens/{token_id}", visible="own", scope=Scope.ACCOUNT_WRITE, status_code=204)
    async def revoke_token(token_id: str, caller: Caller) -> Response:
        """It stops working at once."""
        revoked = await context.db.run(service.revoke_personal_token, caller, token_id, context.now())
        directory.revoke(revoked)
        return Response(status_code=204)


@dataclass(frozen=True)
class _Made:
    token: str
    row: PersonalToken
    live: LiveToken | None
    """None when an earlier request with the same key made it."""


def _create_token(
    session: Session, context: Context, caller: Principal, body: TokenRequest, scopes: frozenset[Scope], key: str | None
) -> _Made:
    token_id, now = context.new_id("token"), context.now()
    if key is not None:
        asked = digest_of_fields(name=body.name, scopes=body.scopes and sorted(body.scopes), days=body.expires_in_days)
        earlier = claim(session, caller.user_id, key, TOKEN_ROUTE, asked, token_id, now)
        token_id = earlier or token_id
        token = new_personal_token(repeatable_bits(context.secret_key, TOKEN_ROUTE, key, token_id))
        if earlier is not None:
            row = session.get_one(PersonalToken, earlier)
            if not set(row.scopes) <= caller.scopes:
                raise MoreThanYouHave("The token that this request made before can do more than you can now.")
            return _Made(token, row, live=None)
    else:
        token = new_personal_token(context.randbits)
    live = service.create_personal_token(
        session,
        token_id,
        token,
        caller.user_id,
        now,
        name=body.name,
        scopes=scopes,
        lifetime=timedelta(days=body.expires_in_days),
        actor=caller.user_id,
    )
    return _Made(token, session.get_one(PersonalToken, token_id), live)


def _view(row: PersonalToken) -> TokenView:
    return TokenView(
        id=row.id,
        name=row.name,
        scopes=row.scopes,
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
    )


def _visitor(request: Request) -> Visitor:
    address = request.client.host if request.client else "unknown"
    return Visitor(address, request.headers.get("user-agent", "")[:USER_AGENT_LIMIT])
