"""Signing in, sessions, tokens, and the people an admin looks after."""

import contextlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Body, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from computepool.hub.accounts import repository, service
from computepool.hub.accounts.browser_cookie import BrowserCookie
from computepool.hub.accounts.directory import LiveToken, TokenDirectory
from computepool.hub.accounts.errors import (
    BadCredentials,
    BadSignInLink,
    BadToken,
    DeviceLoginRefused,
    EmailTaken,
    MoreThanYouHave,
    NoSuchSession,
    NoSuchUser,
    NoSuchUserCode,
    RegistrationClosed,
    TokenLimitReached,
    TooManyTries,
)
from computepool.hub.accounts.service import Visitor
from computepool.hub.accounts.sign_in import DeviceCodeView, SignIn, TokenPair
from computepool.hub.accounts.tables import ADDRESS_LIMIT, EMAIL_LIMIT, USER_AGENT_LIMIT, PersonalToken
from computepool.hub.accounts.tokens import new_personal_token, show_user_code
from computepool.hub.api.account_views import (
    DeviceApproveRequest,
    DeviceLoginView,
    DeviceLookRequest,
    DeviceTokenRequest,
    LoginRequest,
    LogoutRequest,
    NewTokenView,
    OneTimeRequest,
    RefreshRequest,
    RegisterRequest,
    SessionList,
    TokenList,
    TokenRequest,
    TokenView,
)
from computepool.hub.api.admin_users import session_view
from computepool.hub.core.context import Context
from computepool.hub.core.errors import Unauthenticated
from computepool.hub.core.http import Caller, IdempotencyKey, Principal, Routes, Scope, bearer_token, with_implied
from computepool.hub.core.http_shell import error_response
from computepool.hub.core.idempotency import claim, digest_of_fields, repeatable_bits
from computepool.hub.core.origins import ForeignPage
from computepool.hub.core.paging import Cursor
from computepool.hub.engine import Engine

TOKEN_ROUTE = "POST tokens"
Limit = Annotated[int, Query(ge=1, le=repository.LIST_LIMIT)]
PageLimit = Annotated[int, Query(ge=1, le=500)]
Search = Annotated[str | None, Query(max_length=EMAIL_LIMIT)]


def router(engine: Engine) -> APIRouter:
    context, directory, sign_in = engine.context, engine.directory, engine.sign_in
    routes = Routes(directory.authenticate, tags=["accounts"])
    cookie = BrowserCookie(context.settings)
    _add_sign_in(routes, sign_in, cookie)
    _add_renewal(routes, directory, sign_in, cookie)
    _add_device(routes, context, sign_in)
    _add_sessions(routes, context, sign_in)
    _add_tokens(routes, context, directory)
    return routes.router


def _add_sign_in(routes: Routes, sign_in: SignIn, cookie: BrowserCookie) -> None:
    @routes.post(
        "/auth/register", visible="public", status_code=201, errors=[RegistrationClosed, EmailTaken, TooManyTries]
    )
    async def register(request: Request, response: Response, body: RegisterRequest) -> TokenPair:
        """Make an account and sign in to it, where the operator lets people register."""
        pair = await sign_in.register(
            visitor_of(request), email=body.email, password=body.password, name=body.name, country=body.country
        )
        return hand_over(cookie, request, response, pair, wanted=body.browser)

    @routes.post("/auth/login", visible="public", errors=[BadCredentials, TooManyTries])
    async def login(request: Request, response: Response, body: LoginRequest) -> TokenPair:
        """Sign in with email and password. Tries that fail have to wait longer and longer."""
        pair = await sign_in.by_password(visitor_of(request), body.email, body.password)
        return hand_over(cookie, request, response, pair, wanted=body.browser)

    @routes.post("/auth/one-time", name="sign_in_once", visible="public", errors=[BadSignInLink, TooManyTries])
    async def one_time(request: Request, response: Response, body: OneTimeRequest) -> TokenPair:
        """Trade the token of a sign-in link for a session."""
        pair = await sign_in.by_link(visitor_of(request), body.token)
        return hand_over(cookie, request, response, pair, wanted=body.browser)


def _add_renewal(routes: Routes, directory: TokenDirectory, sign_in: SignIn, cookie: BrowserCookie) -> None:
    """The two routes that read the browser's cookie."""

    @routes.post("/auth/refresh", visible="public", response_model=TokenPair, errors=[BadToken, ForeignPage])
    async def refresh(
        request: Request, response: Response, body: RefreshRequest = Body(default=RefreshRequest())
    ) -> TokenPair | Response:
        """Trade a refresh token for the next pair. Each can be used once; one that is used again ends its session.

        A browser leaves it out and sends its cookie, from a page of the hub itself.
        """
        if body.refresh_token is not None:
            pair = await sign_in.refresh(body.refresh_token)
            return hand_over(cookie, request, response, pair, wanted=body.browser)
        kept = cookie.find(request)
        if kept is None:
            raise BadToken("There is no refresh token.", code="bad_refresh_token", hint="Sign in again.")
        cookie.check_page(request)
        try:
            pair = await sign_in.refresh(kept)
        except BadToken as error:
            refused = error_response(error)
            cookie.drop(refused)  # it will never do again
            return refused
        assert pair.refresh_token is not None
        cookie.put(response, pair.refresh_token)
        return pair.model_copy(update={"refresh_token": None})

    @routes.post(
        "/auth/logout",
        visible="public",
        status_code=204,
        response_class=Response,
        errors=[BadToken, Unauthenticated, NoSuchSession],
    )
    async def logout(request: Request, body: LogoutRequest = Body(default=LogoutRequest())) -> Response:
        """End the session of the refresh token; without one, that of the access token, and that of the browser's cookie
        if the request comes from a page of the hub itself."""
        answer = Response(status_code=204)
        kept = cookie.find(request)
        is_browser = kept is not None and cookie.is_own_page(request)
        if body.refresh_token is not None:
            await sign_in.end_session_of(body.refresh_token)
        elif "authorization" in request.headers or kept is None:
            # A browser signs out by its cookie, also when its access token has expired.
            with contextlib.suppress(Unauthenticated) if is_browser else contextlib.nullcontext():
                caller = directory.authenticate(bearer_token(request.scope))
                if caller.session_id is not None:
                    await sign_in.end_session(caller.user_id, caller.session_id)
        else:
            cookie.check_page(request)
        if kept is not None and is_browser:
            cookie.drop(answer)
            with contextlib.suppress(Unauthenticated):  # one that is not ours has no session
                await sign_in.end_session_of(kept)
        return answer


def hand_over(
    cookie: BrowserCookie, request: Request, response: Response, pair: TokenPair, *, wanted: bool
) -> TokenPair:
    """A new session's tokens: the refresh token in the cookie where a browser asked for that, else in the answer."""
    if not cookie.is_for(request, wanted=wanted):
        return pair
    assert pair.refresh_token is not None
    cookie.put(response, pair.refresh_token)
    return pair.model_copy(update={"refresh_token": None})


def _add_device(routes: Routes, context: Context, sign_in: SignIn) -> None:
    @routes.post("/auth/device", name="begin_device_login", visible="public", errors=[TooManyTries])
    async def begin(request: Request) -> DeviceCodeView:
        """Begin a login on a device without a browser: a code for a person to type, and one to ask with."""
        hub_url = context.settings.public_url or str(request.base_url)
        return await sign_in.begin_device(visitor_of(request), hub_url)

    @routes.post(
        "/auth/device/token", name="poll_device_login", visible="public", errors=[DeviceLoginRefused, TooManyTries]
    )
    async def poll(request: Request, body: DeviceTokenRequest) -> TokenPair:
        """Ask whether the person has agreed yet. `authorization_pending` means: ask again after the interval."""
        return await sign_in.by_device(visitor_of(request), body.device_code)

    @routes.post(
        "/auth/device/look",
        name="look_at_device_login",
        visible="own",
        scope=Scope.ACCOUNT_WRITE,
        errors=[NoSuchUserCode, TooManyTries],
    )
    async def look(request: Request, body: DeviceLookRequest, caller: Caller) -> DeviceLoginView:
        """What waits for this code: which program, from where and since when, and what it will be able to do."""
        found = await sign_in.look_at_device(caller, body.user_code)
        return DeviceLoginView(
            user_code=show_user_code(found.user_code),
            user_agent=found.user_agent or "",
            address=found.address or "",
            same_address=found.address == visitor_of(request).address,
            created_at=found.created_at,
            age_seconds=int((context.now() - found.created_at).total_seconds()),
            expires_at=found.expires_at,
            scopes=sorted(caller.role.scopes),
        )

    @routes.post(
        "/auth/device/approve",
        name="decide_device_login",
        visible="own",
        scope=Scope.ACCOUNT_WRITE,
        status_code=204,
        errors=[NoSuchUserCode, TooManyTries],
    )
    async def approve(body: DeviceApproveRequest, caller: Caller) -> None:
        """Let the device with this code act for the caller, or deny it."""
        await sign_in.decide_device(caller, body.user_code, approve=body.approve)


def _add_sessions(routes: Routes, context: Context, sign_in: SignIn) -> None:
    @routes.get("/sessions", visible="own", scope=Scope.ACCOUNT_READ)
    async def list_sessions(
        caller: Caller, limit: PageLimit = repository.LIST_LIMIT, cursor: Cursor = None
    ) -> SessionList:
        """Where the caller is signed in."""
        rows, after = await context.db.read(repository.list_live_sessions, caller.user_id, context.now(), cursor, limit)
        return SessionList(items=[session_view(row, caller.session_id) for row in rows], next=after)

    @routes.delete("/sessions", visible="own", scope=Scope.ACCOUNT_WRITE, status_code=204)
    async def end_sessions(caller: Caller, keep_current: bool = False) -> None:
        """Sign out everywhere, at once; with `keep_current` everywhere else. Personal tokens stay: see `tokens`."""
        await sign_in.end_sessions(caller, keep_current=keep_current)

    @routes.delete("/sessions/{session_id}", visible="own", scope=Scope.ACCOUNT_WRITE, status_code=204)
    async def end_session(session_id: str, caller: Caller) -> None:
        """Sign one of them out, at once."""
        await sign_in.end_session(caller.user_id, session_id)


def _add_tokens(routes: Routes, context: Context, directory: TokenDirectory) -> None:
    @routes.get("/tokens", visible="own", scope=Scope.ACCOUNT_READ)
    async def list_tokens(caller: Caller, limit: PageLimit = repository.LIST_LIMIT, cursor: Cursor = None) -> TokenList:
        """The caller's personal access tokens, without their text. The newest first."""
        rows, after = await context.db.read(repository.list_tokens, caller.user_id, cursor, limit)
        return TokenList(items=[_view(row) for row in rows], next=after)

    @routes.post(
        "/tokens",
        visible="own",
        scope=Scope.ACCOUNT_WRITE,
        status_code=201,
        errors=[MoreThanYouHave, TokenLimitReached, NoSuchUser],
    )
    async def create_token(body: TokenRequest, caller: Caller, key: IdempotencyKey = None) -> NewTokenView:
        """Its text is in this answer alone, and in that to the same request repeated with the same key."""
        scopes = caller.scopes if body.scopes is None else with_implied(body.scopes)
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
        scopes=[Scope(scope) for scope in row.scopes],
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
    )


def visitor_of(request: Request) -> Visitor:
    address = request.client.host if request.client else "unknown"
    return Visitor(address[:ADDRESS_LIMIT], request.headers.get("user-agent", "")[:USER_AGENT_LIMIT])
