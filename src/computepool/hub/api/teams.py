"""Teams: who belongs to them and in which role, invitations, and service accounts for programs."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy.orm import Session

from computepool.hub.accounts import service, teams
from computepool.hub.accounts.background import refresh_memberships
from computepool.hub.accounts.directory import LiveToken, Revoked
from computepool.hub.accounts.errors import (
    BadInvitation,
    HandleTaken,
    InvitationOfAnother,
    LastOwner,
    MoreThanYouHave,
    NoSuchInvitation,
    NoSuchMember,
    NoSuchUser,
    OnlyForOwners,
    TeamLimitReached,
    TokenLimitReached,
    TooManyHandles,
)
from computepool.hub.accounts.handles import change_handle, find_handle, handles_of, read_handle
from computepool.hub.accounts.service import normal_email
from computepool.hub.accounts.tables import User
from computepool.hub.accounts.team_tables import Invitation, Team
from computepool.hub.accounts.teams import LIST_LIMIT, MemberRow
from computepool.hub.accounts.tokens import new_invitation_token, new_personal_token
from computepool.hub.api.team_views import (
    AcceptRequest,
    InvitationList,
    InvitationRequest,
    InvitationView,
    MemberChange,
    MemberList,
    MemberView,
    NewInvitationView,
    ServiceAccountRequest,
    ServiceTokenRequest,
    ServiceTokenView,
    TeamChange,
    TeamList,
    TeamRequest,
    TeamView,
)
from computepool.hub.core.context import Context
from computepool.hub.core.http import Caller, Memberships, NoSuchTeam, Principal, Routes, Scope, TeamRole, owner_for
from computepool.hub.core.paging import Cursor
from computepool.hub.core.records import record
from computepool.hub.engine import Engine

PageLimit = Annotated[int, Query(ge=1, le=LIST_LIMIT)]
Refresh = Callable[[Iterable[str]], object]


def router(engine: Engine) -> APIRouter:
    routes = Routes(engine.directory.authenticate, tags=["teams"])
    _add_teams(routes, engine)
    _add_members(routes, engine)
    _add_invitations(routes, engine)
    _add_service_accounts(routes, engine)
    return routes.router


def _add_teams(routes: Routes, engine: Engine) -> None:
    context, directory = engine.context, engine.directory

    @routes.get("/teams", visible="own", scope=Scope.TEAM_READ)
    async def list_teams(caller: Caller) -> TeamList:
        """The teams that the caller belongs to, and the caller's role in each."""
        return await context.db.read(_list, caller.memberships)

    @routes.post(
        "/teams",
        visible="own",
        scope=Scope.TEAM_WRITE,
        status_code=201,
        errors=[HandleTaken, TeamLimitReached, NoSuchUser],
    )
    async def create_team(body: TeamRequest, caller: Caller) -> TeamView:
        """Make a team. The caller is its owner."""
        handle, team_id = read_handle(body.handle), context.new_id("team")
        name = body.name or handle
        await context.db.run(teams.create_team, team_id, caller.user_id, name, handle, context.now())
        await refresh_memberships(context, directory, [caller.user_id])
        return await context.db.read(_show, caller.user_id, team_id)

    @routes.get("/teams/{team}", visible="own", scope=Scope.TEAM_READ, errors=[NoSuchTeam])
    async def show_team(team: str, caller: Caller) -> TeamView:
        """One of them, by handle or id."""
        return await context.db.read(_show, caller.user_id, owner_for(caller, team))

    @routes.patch(
        "/teams/{team}",
        visible="own",
        scope=Scope.TEAM_WRITE,
        errors=[NoSuchTeam, OnlyForOwners, HandleTaken, TooManyHandles],
    )
    async def change_team(team: str, body: TeamChange, caller: Caller) -> TeamView:
        """Change handle or name; for owners."""
        team_id = owner_for(caller, team)
        handle = read_handle(body.handle) if body.handle is not None else None
        await context.db.run(_change, context, team_id, caller.user_id, handle, body.name)
        if handle is not None:
            await refresh_memberships(context, directory, await context.db.read(teams.list_member_ids, team_id))
        return await context.db.read(_show, caller.user_id, team_id)


def _add_members(routes: Routes, engine: Engine) -> None:
    context, directory = engine.context, engine.directory

    @routes.get("/teams/{team}/members", visible="own", scope=Scope.TEAM_READ, errors=[NoSuchTeam])
    async def list_members(
        team: str, caller: Caller, limit: PageLimit = LIST_LIMIT, cursor: Cursor = None
    ) -> MemberList:
        """Who belongs to the team, those who came first at the top."""
        team_id = owner_for(caller, team)
        rows, after = await context.db.read(teams.page_members, team_id, cursor, limit)
        with_email = team_id in caller.owners_granting(Scope.TEAM_WRITE)
        return MemberList(items=[_member_view(row, with_email=with_email) for row in rows], next=after)

    @routes.patch(
        "/teams/{team}/members/{user_id}",
        visible="own",
        scope=Scope.TEAM_WRITE,
        errors=[NoSuchTeam, NoSuchMember, OnlyForOwners, LastOwner, MoreThanYouHave],
    )
    async def change_member(team: str, user_id: str, body: MemberChange, caller: Caller) -> MemberView:
        """Give a member another role. It counts at once."""
        team_id = owner_for(caller, team)
        _check_hands_on(caller, body.role)
        row = await context.db.run(teams.change_role, team_id, user_id, body.role, caller.user_id, context.now())
        await refresh_memberships(context, directory, [user_id])
        return _member_view(row, with_email=True)

    @routes.delete(
        "/teams/{team}/members/{user_id}",
        visible="own",
        scope=Scope.TEAM_WRITE,
        errors=[NoSuchTeam, NoSuchMember, OnlyForOwners, LastOwner],
        status_code=204,
    )
    async def remove_member(team: str, user_id: str, caller: Caller) -> None:
        """Remove a member; a service account ends. What they began goes on as the team's."""
        await remove(owner_for(caller, team), user_id, caller)

    @routes.post(
        "/teams/{team}/leave",
        visible="own",
        scope=Scope.ACCOUNT_WRITE,
        errors=[NoSuchTeam, NoSuchMember, OnlyForOwners, LastOwner],
        status_code=204,
    )
    async def leave_team(team: str, caller: Caller) -> None:
        """Leave the team. Its last owner cannot."""
        membership = caller.memberships.find(team) if caller.memberships is not None else None
        if membership is None:
            raise NoSuchTeam(team)
        await remove(membership.team_id, caller.user_id, caller)

    async def remove(team_id: str, user_id: str, caller: Principal) -> None:
        revoked: Revoked = await context.db.run(teams.remove_member, team_id, user_id, caller.user_id, context.now())
        directory.revoke(revoked)
        await refresh_memberships(context, directory, [user_id])


def _add_invitations(routes: Routes, engine: Engine) -> None:
    context, directory = engine.context, engine.directory

    @routes.get("/teams/{team}/invitations", visible="own", scope=Scope.TEAM_WRITE, errors=[NoSuchTeam])
    async def list_invitations(team: str, caller: Caller) -> InvitationList:
        """Those that can still be accepted."""
        rows = await context.db.read(teams.list_open_invitations, owner_for(caller, team), context.now())
        return InvitationList(items=[_invitation_view(row) for row in rows])

    @routes.post(
        "/teams/{team}/invitations",
        visible="own",
        scope=Scope.TEAM_WRITE,
        status_code=201,
        errors=[NoSuchTeam, OnlyForOwners, MoreThanYouHave, TeamLimitReached],
    )
    async def invite(team: str, body: InvitationRequest, caller: Caller) -> NewInvitationView:
        """Invite the person with this address. The answer has the token to hand to them; it is good for seven days and
        one use, and replaces an earlier invitation of the same address."""
        team_id, token = owner_for(caller, team), new_invitation_token(context.randbits)
        _check_hands_on(caller, body.role)
        row = await context.db.run(
            teams.invite,
            context.new_id("invitation"),
            token,
            team_id,
            normal_email(body.email),
            body.role,
            caller.user_id,
            context.now(),
        )
        return NewInvitationView(**_invitation_view(row).model_dump(), token=token)

    @routes.delete(
        "/teams/{team}/invitations/{invitation_id}",
        visible="own",
        scope=Scope.TEAM_WRITE,
        status_code=204,
        errors=[NoSuchTeam, NoSuchInvitation],
    )
    async def revoke_invitation(team: str, invitation_id: str, caller: Caller) -> None:
        """Take an invitation back."""
        team_id = owner_for(caller, team)
        await context.db.run(teams.revoke_invitation, team_id, invitation_id, caller.user_id, context.now())

    @routes.post(
        "/invitations/accept",
        visible="own",
        scope=Scope.ACCOUNT_WRITE,
        errors=[BadInvitation, InvitationOfAnother, TeamLimitReached, NoSuchUser],
    )
    async def accept_invitation(body: AcceptRequest, caller: Caller) -> TeamView:
        """Join the team of an invitation that was made for the caller's address."""
        team_id = await context.db.run(teams.accept, body.token, caller.user_id, context.now())
        await refresh_memberships(context, directory, [caller.user_id])
        return await context.db.read(_show, caller.user_id, team_id)


def _add_service_accounts(routes: Routes, engine: Engine) -> None:
    context, directory = engine.context, engine.directory

    @routes.post(
        "/teams/{team}/service-accounts",
        visible="own",
        scope=Scope.TEAM_WRITE,
        status_code=201,
        errors=[NoSuchTeam, OnlyForOwners, MoreThanYouHave, TeamLimitReached],
    )
    async def create_service_account(team: str, body: ServiceAccountRequest, caller: Caller) -> ServiceTokenView:
        """Make an account for programs, such as CI, and its first token. It acts for the team alone."""
        team_id = owner_for(caller, team)
        scopes = _scopes_for(body.role, caller, body.scopes)
        user_id = context.new_id("user")
        lifetime = timedelta(days=body.expires_in_days)

        def create(session: Session) -> tuple[str, LiveToken]:
            now, actor = context.now(), caller.user_id
            teams.create_service_account(session, user_id, team_id, body.name, body.role, actor, now)
            return _make_token(session, context, user_id, scopes, lifetime, actor)

        token, live = await context.db.run(create)
        directory.admit_token(live)
        await refresh_memberships(context, directory, [user_id])
        return _token_view(token, live)

    @routes.post(
        "/teams/{team}/service-accounts/{user_id}/tokens",
        name="create_service_token",
        visible="own",
        scope=Scope.TEAM_WRITE,
        status_code=201,
        errors=[NoSuchTeam, NoSuchMember, OnlyForOwners, MoreThanYouHave, TokenLimitReached],
    )
    async def create_token(team: str, user_id: str, body: ServiceTokenRequest, caller: Caller) -> ServiceTokenView:
        """Another token for a service account. Its earlier ones go on."""
        team_id, lifetime = owner_for(caller, team), timedelta(days=body.expires_in_days)

        def create(session: Session) -> tuple[str, LiveToken]:
            role = teams.check_service_account(session, team_id, user_id, caller.user_id)
            return _make_token(
                session, context, user_id, _scopes_for(role, caller, body.scopes), lifetime, caller.user_id
            )

        token, live = await context.db.run(create)
        directory.admit_token(live)
        return _token_view(token, live)


def _check_hands_on(caller: Principal, role: TeamRole) -> None:
    """A token gives nobody a role that can do more than the token itself."""
    if not role.scopes <= caller.scopes:
        missing = ", ".join(sorted(role.scopes - caller.scopes))
        raise MoreThanYouHave(f"The role {role} can do more than this token: {missing}.")


def _scopes_for(role: TeamRole, caller: Principal, asked: frozenset[Scope] | None) -> frozenset[Scope]:
    """Raises MoreThanYouHave: neither beyond the account's role, nor beyond the caller's token."""
    most = (role.scopes | {Scope.ACCOUNT_READ}) & caller.scopes
    scopes = most if asked is None else asked
    if not scopes <= most:
        missing = ", ".join(sorted(scopes - most))
        raise MoreThanYouHave(f"The token can have no more than the role {role} and than you have: not {missing}.")
    return scopes


def _make_token(
    session: Session, context: Context, user_id: str, scopes: frozenset[Scope], lifetime: timedelta, actor: str
) -> tuple[str, LiveToken]:
    token, now = new_personal_token(context.randbits), context.now()
    live = service.create_personal_token(
        session,
        context.new_id("token"),
        token,
        user_id,
        now,
        name="service account",
        scopes=scopes,
        lifetime=lifetime,
        actor=actor,
    )
    return token, live


def _list(session: Session, memberships: Memberships | None) -> TeamList:
    if memberships is None:
        return TeamList(items=[])
    return TeamList(items=_views(session, memberships, memberships.by_id))


def _show(session: Session, user_id: str, team_id: str) -> TeamView:
    memberships = teams.memberships_of(session, user_id)
    if memberships is None or team_id not in memberships.by_id:
        raise NoSuchTeam(team_id)
    return _views(session, memberships, [team_id])[0]


def _views(session: Session, memberships: Memberships, team_ids: Iterable[str]) -> list[TeamView]:
    rows = teams.list_teams(session, [*team_ids])
    handles = handles_of(session, [row.id for row in rows])
    return [_view(row, handles[row.id], memberships.by_id[row.id].role) for row in rows]


def _view(row: Team, handle: str, role: TeamRole) -> TeamView:
    return TeamView(
        id=row.id, handle=handle, name=row.name, created_at=row.created_at, role=role, scopes=sorted(role.scopes)
    )


def _change(session: Session, context: Context, team_id: str, actor: str, handle: str | None, name: str | None) -> None:
    now = context.now()
    teams.lock_team(session, team_id)
    teams.check_owner_of(session, team_id, actor)
    if name is not None:
        teams.rename_team(session, team_id, name, actor, now)
    if handle is not None:
        before = find_handle(session, team_id)
        if change_handle(session, team_id, handle, now):
            topics = (service.TOPIC, f"owner/{team_id}")
            details = {"before": before, "after": handle}
            record(session, "team.handle_changed", team_id, now, actor=actor, topics=topics, **details)


def _member_view(row: MemberRow, *, with_email: bool) -> MemberView:
    user: User = row.user
    return MemberView(
        user_id=user.id,
        handle=row.handle,
        name=user.name,
        email=user.email if with_email and user.managed_by is None else None,
        role=TeamRole(row.member.role),
        joined_at=row.member.joined_at,
        service=user.managed_by is not None,
    )


def _invitation_view(row: Invitation) -> InvitationView:
    return InvitationView(
        id=row.id,
        email=row.email,
        role=TeamRole(row.role),
        invited_by=row.invited_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
    )


def _token_view(token: str, live: LiveToken) -> ServiceTokenView:
    return ServiceTokenView(
        user_id=live.user_id, token_id=live.id, token=token, scopes=sorted(live.scopes), expires_at=live.expires_at
    )
