"""The people of the pool, for operators: who is here, who runs it, and who may no longer come in."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field, StrictBool, StringConstraints
from sqlalchemy.orm import Session

from computepool.hub.accounts import repository, service
from computepool.hub.accounts.directory import Revoked
from computepool.hub.accounts.errors import LastAdmin, NoSuchUser
from computepool.hub.accounts.states import SignInMethod
from computepool.hub.accounts.tables import EMAIL_LIMIT, User, UserSession
from computepool.hub.admin.people import UserFacts, UserOrder, UserSearch, count_admins, facts_of_users, search_users
from computepool.hub.api.account_views import RoleRequest, SessionList, SessionView, UserActions, UserList, UserView
from computepool.hub.core.actions import ALLOWED, refused, unless
from computepool.hub.core.context import Context
from computepool.hub.core.http import Caller, Role, Routes
from computepool.hub.core.money import priced_routes
from computepool.hub.core.paging import Cursor
from computepool.hub.core.texts import STORABLE
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.engine import Engine
from computepool.hub.nodes.service import revoke_join_tokens_of
from computepool.protocol.model import Documented

REASON_LIMIT = 400


class DisableRequest(Documented):
    model_config = ConfigDict(extra="forbid")

    reason: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=3, max_length=REASON_LIMIT, pattern=STORABLE)
    ]
    """Why. It stays in the audit; the user does not see it."""
    cancel_jobs: StrictBool = Field(default=False)
    """Cancel the user's jobs that wait or run. Else they go on."""


class UserDisabled(Documented):
    user: UserView
    """As they are now."""
    sessions_ended: int
    """How many sessions ended."""
    tokens_ended: int
    """How many personal access tokens ended."""
    jobs_canceled: int
    """How many of their jobs were canceled."""
    message: str
    """What became of what they had running, in words."""


def router(engine: Engine) -> APIRouter:
    routes = priced_routes(engine.directory.authenticate, engine.context.settings, tags=["accounts"])
    _add_reading(routes, engine.context)
    _add_changing(routes, engine)
    return routes.router


def _add_reading(routes: Routes, context: Context) -> None:
    @routes.get("/admin/users", visible="admin")
    async def list_users(
        search: Annotated[str | None, Query(max_length=EMAIL_LIMIT)] = None,
        role: Role | None = None,
        disabled: Annotated[bool | None, Query(description="Only accounts that are disabled, or only others.")] = None,
        order: Annotated[UserOrder, Query(description="By what; with `-` the other way round.")] = "-created_at",
        cursor: str | None = None,
        limit: Annotated[int, Query(ge=1, le=repository.LIST_LIMIT)] = 100,
    ) -> UserList:
        """Everybody who has an account. `search`: a part of an address or a name, or an id."""
        asked = UserSearch(search, role, disabled, order)
        return await context.db.read(_list, asked, cursor, limit)

    @routes.get("/admin/users/{user}", name="show_user", visible="admin", errors=[NoSuchUser])
    async def show(user: str) -> UserView:
        """One of them, by id or e-mail address."""
        return await context.db.read(_show, user)

    @routes.get("/admin/users/{user}/sessions", visible="admin", errors=[NoSuchUser])
    async def list_user_sessions(
        user: str, limit: Annotated[int, Query(ge=1, le=500)] = repository.LIST_LIMIT, cursor: Cursor = None
    ) -> SessionList:
        """Where somebody is signed in."""
        return await context.db.read(_sessions, context, user, cursor, limit)


def _add_changing(routes: Routes, engine: Engine) -> None:
    context, directory, unbroken = engine.context, engine.directory, Unbroken()

    @routes.put("/admin/users/{user}/role", visible="admin", errors=[NoSuchUser, LastAdmin])
    async def change_role(user: str, body: RoleRequest, caller: Caller) -> UserView:
        """Let somebody run the pool, or no longer. Their sessions and tokens end: they were made in the old role."""
        view, revoked = await context.db.run(_change_role, context, user, body.role, caller.user_id)
        directory.revoke(revoked)
        return view

    @routes.post("/admin/users/{user}/disable", name="disable_user", visible="admin", errors=[NoSuchUser, LastAdmin])
    async def disable(user: str, body: DisableRequest, caller: Caller) -> UserDisabled:
        """Close an account. Sessions, tokens, join tokens and open streams end at once, and nobody can sign in to it.
        While it is closed, its links to jobs show nothing, and its public name is not shown.

        Nodes of the user go on working. Jobs that wait or run go on too, unless `cancel_jobs` is set. Credits stay.
        """

        async def whole() -> UserDisabled:
            user_id, revoked = await context.db.run(_disable, context, user, body.reason, caller.user_id)
            directory.disable_user(user_id)
            directory.revoke(revoked)
            canceled = 0
            open_jobs = [brief.job_id for brief in engine.scheduler.briefs.values() if brief.owner_id == user_id]
            for job_id in open_jobs if body.cancel_jobs else ():
                await engine.cancel(job_id, caller)
                canceled += 1
            going_on = f"{len(open_jobs)} of their jobs wait or run, and go on." if open_jobs else "They have no jobs."
            return UserDisabled(
                user=await context.db.read(_show, user_id),
                sessions_ended=len(revoked.sessions),
                tokens_ended=len(revoked.tokens),
                jobs_canceled=canceled,
                message="Their jobs are canceled." if canceled else going_on,
            )

        return await unbroken.run(whole())

    @routes.post("/admin/users/{user}/enable", name="enable_user", visible="admin", errors=[NoSuchUser])
    async def enable(user: str, caller: Caller) -> UserView:
        """Open a disabled account again. What ended stays ended: they sign in anew."""

        async def both() -> UserView:
            user_id = await context.db.run(_enable, context, user, caller.user_id)
            directory.enable_user(user_id)
            return await context.db.read(_show, user_id)

        return await unbroken.run(both())


def _list(session: Session, asked: UserSearch, cursor: str | None, limit: int) -> UserList:
    rows, after, total = search_users(session, asked, cursor, limit)
    return UserList(items=_views(session, rows), next=after, total=total)


def _show(session: Session, named: str) -> UserView:
    return _views(session, [_find_user(session, named)])[0]


def _views(session: Session, rows: list[User]) -> list[UserView]:
    facts, admins = facts_of_users(session, [row.id for row in rows]), count_admins(session)
    return [_view(row, facts[row.id], admins) for row in rows]


def _view(row: User, facts: UserFacts, admins: int) -> UserView:
    is_disabled, is_admin = row.disabled_at is not None, row.role == Role.ADMIN
    is_last = is_admin and not is_disabled and admins <= 1
    staying = unless(LastAdmin(row.email) if is_last else None)
    return UserView(
        id=row.id,
        email=row.email,
        name=row.name,
        country=row.country,
        role=Role(row.role),
        created_at=row.created_at,
        disabled_at=row.disabled_at,
        nodes=facts.nodes,
        open_jobs=facts.open_jobs,
        spendable_micros=facts.spendable_micros,
        earnings_micros=facts.earnings_micros,
        debt_micros=facts.debt_micros,
        actions=UserActions(
            disable=refused("The account is disabled already.") if is_disabled else staying,
            enable=ALLOWED if is_disabled else refused("The account is not disabled."),
            change_role=staying,
        ),
    )


def _sessions(session: Session, context: Context, named: str, cursor: str | None, limit: int) -> SessionList:
    user = _find_user(session, named)
    rows, after = repository.list_live_sessions(session, user.id, context.now(), cursor, limit)
    return SessionList(items=[session_view(row, None) for row in rows], next=after)


def session_view(row: UserSession, current_id: str | None) -> SessionView:
    return SessionView(
        id=row.id,
        user_agent=row.user_agent,
        address=row.address,
        method=SignInMethod(row.method) if row.method else None,
        created_at=row.created_at,
        last_used_at=row.rotated_at,
        expires_at=row.expires_at,
        current=row.id == current_id,
    )


def _find_user(session: Session, named: str) -> User:
    by_email = "@" in named
    found = (repository.find_user_by_email if by_email else repository.find_user)(
        session, named.strip().lower() if by_email else named
    )
    if found is None:
        raise NoSuchUser(named[:EMAIL_LIMIT])
    return found


def _change_role(session: Session, context: Context, named: str, role: Role, actor: str) -> tuple[UserView, Revoked]:
    user = _find_user(session, named)
    revoked = service.set_role(session, user.id, role, context.now(), actor=actor)
    return _show(session, user.id), revoked


def _disable(session: Session, context: Context, named: str, reason: str, actor: str) -> tuple[str, Revoked]:
    user, now = _find_user(session, named), context.now()
    revoked = service.disable_user(session, user.id, now, actor=actor, reason=reason)
    revoke_join_tokens_of(session, user.id, now, actor=actor)
    return user.id, revoked


def _enable(session: Session, context: Context, named: str, actor: str) -> str:
    user = _find_user(session, named)
    service.enable_user(session, user.id, context.now(), actor=actor)
    return user.id
