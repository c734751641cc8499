"""Who is here, and who of them runs the pool: for its admins."""

from typing import Annotated

from fastapi import Query
from sqlalchemy.orm import Session

from computepool.hub.accounts import repository, service
from computepool.hub.accounts.directory import Revoked, TokenDirectory
from computepool.hub.accounts.errors import NoSuchUser
from computepool.hub.accounts.tables import EMAIL_LIMIT, User
from computepool.hub.accounts.views import RoleRequest, UserList, UserView
from computepool.hub.core.context import Context
from computepool.hub.core.http import Caller, Role, Routes

Limit = Annotated[int, Query(ge=1, le=repository.LIST_LIMIT)]
Search = Annotated[str | None, Query(max_length=EMAIL_LIMIT)]


def add_users(routes: Routes, context: Context, directory: TokenDirectory) -> None:
    @routes.get("/admin/users", visible="admin", strict_query=True)
    async def list_users(
        search: Search = None, role: Role | None = None, cursor: str | None = None, limit: Limit = 100
    ) -> UserList:
        """Everybody who has an account, the newest first. `search`: a part of an address or a name."""
        rows = await context.db.read(repository.list_users, search, role, cursor, limit + 1)
        items = [user_view(row) for row in rows[:limit]]
        return UserList(items=items, next=items[-1].id if len(rows) > limit else None)

    @routes.get("/admin/users/{user}", visible="admin")
    async def show(user: str) -> UserView:
        """One of them, by id or e-mail address."""
        return user_view(await context.db.read(_need, user))

    @routes.put("/admin/users/{user}/role", visible="admin")
    async def change_role(user: str, body: RoleRequest, caller: Caller) -> UserView:
        """Let somebody run the pool, or no longer. Their sessions and tokens end: they were made in the old role."""
        view, revoked = await context.db.run(_change_role, context, user, body.role, caller.user_id)
        directory.revoke(revoked)
        return view


def _need(session: Session, named: str) -> User:
    by_email = "@" in named
    found = (repository.find_user_by_email if by_email else repository.find_user)(
        session, named.strip().lower() if by_email else named
    )
    if found is None:
        raise NoSuchUser(named[:EMAIL_LIMIT])
    return found


def _change_role(session: Session, context: Context, named: str, role: Role, actor: str) -> tuple[UserView, Revoked]:
    user = _need(session, named)
    revoked = service.set_role(session, user.id, role, context.now(), actor=actor)
    return user_view(user), revoked


def user_view(row: User) -> UserView:
    return UserView.model_validate(row, from_attributes=True)
