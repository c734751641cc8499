"""The caller's own account: who is asking, what it is called, its mails, its password."""

from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from computepool.hub.accounts import repository, service
from computepool.hub.accounts.browser_cookie import BrowserCookie
from computepool.hub.accounts.errors import (
    HandleTaken,
    NeedsSession,
    NoSuchUser,
    PublicNameTaken,
    TooManyHandles,
    TooManyTries,
    WrongPassword,
)
from computepool.hub.accounts.handles import change_handle, find_handle, read_handle
from computepool.hub.accounts.public_names import find_public_name, read_public_name, set_public_name
from computepool.hub.accounts.sign_in import TokenPair
from computepool.hub.accounts.tables import User
from computepool.hub.api.account_views import MailPreferences, MeChange, MeView, MyTeam, PasswordRequest
from computepool.hub.api.accounts import hand_over, visitor_of
from computepool.hub.core.http import Caller, Principal, Role, Scope
from computepool.hub.core.money import priced_routes
from computepool.hub.core.notices import MailKind
from computepool.hub.core.records import record
from computepool.hub.engine import Engine


def router(engine: Engine) -> APIRouter:
    context, sign_in = engine.context, engine.sign_in
    routes = priced_routes(engine.directory.authenticate, context.settings, tags=["accounts"])
    cookie = BrowserCookie(context.settings)

    @routes.get("/me", visible="own", scope=Scope.ACCOUNT_READ, errors=[NoSuchUser])
    async def me(caller: Caller) -> MeView:
        """Who is asking, and what this token may do."""
        return await context.db.read(_show, caller)

    @routes.patch(
        "/me",
        visible="own",
        scope=Scope.ACCOUNT_WRITE,
        errors=[NoSuchUser, PublicNameTaken, HandleTaken, TooManyHandles],
    )
    async def change_me(body: MeChange, caller: Caller) -> MeView:
        """Change name, country, public name, or which mails to get. What is left out stays."""
        await context.db.run(_change, caller.user_id, body, context.now())
        return await context.db.read(_show, caller)

    @routes.post(
        "/me/password",
        visible="own",
        scope=Scope.ACCOUNT_WRITE,
        errors=[WrongPassword, NeedsSession, NoSuchUser, TooManyTries],
    )
    async def change_password(request: Request, response: Response, body: PasswordRequest, caller: Caller) -> TokenPair:
        """Change the password, or set a first one. Every session of the account ends; the answer is a new one.

        Needs a session: a personal token cannot do it. Personal tokens stay.
        """
        pair = await sign_in.change_password(caller, visitor_of(request), body.current_password, body.new_password)
        return hand_over(cookie, request, response, pair, wanted=body.browser)

    return routes.router


def _show(session: Session, caller: Principal) -> MeView:
    user = repository.find_user(session, caller.user_id)
    if user is None:
        raise NoSuchUser(caller.user_id)
    return _view(user, find_public_name(session, user.id), find_handle(session, user.id), caller)


def _change(session: Session, user_id: str, body: MeChange, now: datetime) -> None:
    user = repository.lock_user(session, user_id)
    if user is None:
        raise NoSuchUser(user_id)
    service.change_profile(session, user_id, now, _changes(body, user))
    if body.handle is not None:
        handle = read_handle(body.handle)
        if change_handle(session, user_id, handle, now):
            record(session, "user.handle_changed", user_id, now, actor=user_id, handle=handle)
    if "public_name" in body.model_fields_set:
        name = read_public_name(body.public_name) if body.public_name is not None else None
        if set_public_name(session, user_id, name):
            record(session, "user.public_name", user_id, now, actor=user_id, name=name)


def _changes(body: MeChange, user: User) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if body.name is not None:
        changes["name"] = body.name
    if "country" in body.model_fields_set:
        changes["country"] = body.country
    if body.mails is not None:
        wanted = body.mails.model_dump(exclude_none=True)
        changes["muted_mails"] = sorted(
            kind.value for kind in MailKind if not wanted.get(kind.value, kind.value not in user.muted_mails)
        )
    return changes


def _view(user: User, public_name: str | None, handle: str, caller: Principal) -> MeView:
    return MeView(
        id=user.id,
        email=user.email,
        name=user.name,
        country=user.country,
        role=Role(user.role),
        created_at=user.created_at,
        scopes=sorted(caller.scopes),
        token_kind=caller.kind,
        token_id=caller.token_id,
        session_id=caller.session_id,
        has_password=user.password_hash is not None,
        mails=MailPreferences(**{kind.value: kind.value not in user.muted_mails for kind in MailKind}),
        public_name=public_name,
        handle=handle,
        teams=[
            MyTeam(id=team.team_id, handle=team.handle, role=team.role)
            for team in sorted(caller.memberships.by_id.values(), key=lambda team: team.handle)
        ]
        if caller.memberships is not None
        else [],
        managed_by=user.managed_by,
    )
