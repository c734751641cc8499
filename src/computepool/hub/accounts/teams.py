"""Teams: who belongs to them, in which role, and how somebody joins.

Every change locks the team's row first, so that the last owner of a team stays, whoever leaves at the same moment. A
`TeamRole` is a set of scopes (`core.http.TEAM_SCOPES`); what only owners do is asked for here.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from computepool.hub.accounts import repository
from computepool.hub.accounts.directory import Revoked
from computepool.hub.accounts.errors import (
    BadInvitation,
    InvitationOfAnother,
    LastOwner,
    MoreThanYouHave,
    NoSuchInvitation,
    NoSuchMember,
    NoSuchUser,
    OnlyForOwners,
    TeamLimitReached,
)
from computepool.hub.accounts.handles import find_handle, give_handle, handles_of
from computepool.hub.accounts.service import TOPIC, disable_user
from computepool.hub.accounts.tables import User
from computepool.hub.accounts.team_tables import Invitation, Team, TeamMember
from computepool.hub.accounts.tokens import hash_of
from computepool.hub.core.http import Membership, Memberships, NoSuchTeam, Role, TeamRole
from computepool.hub.core.owners import Owner, OwnerKind
from computepool.hub.core.paging import read_page
from computepool.hub.core.records import record

TEAMS_EACH = 100
MEMBERS_EACH = 500
OPEN_INVITATIONS_EACH = 100
INVITATION_LIFETIME = timedelta(days=7)
LIST_LIMIT = 200
OWNER = TeamRole.OWNER


@dataclass(frozen=True)
class MemberRow:
    user: User
    member: TeamMember
    handle: str


# ── who belongs to what ──────────────────────────────────────────────────────────────────────────────────────────────


def memberships_of(session: Session, user_id: str) -> Memberships | None:
    return load_memberships(session, TeamMember.user_id == user_id).get(user_id)


def load_memberships(session: Session, *conditions: ColumnElement[bool]) -> dict[str, Memberships]:
    """By user, of those who belong to a team. Unlimited on purpose: who is left out has no access."""
    query = (
        select(TeamMember.user_id, TeamMember.team_id, TeamMember.role, User.managed_by)
        .join(User, User.id == TeamMember.user_id)
        .where(*conditions)
    )
    rows = session.execute(query).all()
    handles = handles_of(session, {row.team_id for row in rows})
    teams: dict[str, list[Membership]] = {}
    managed: dict[str, str | None] = {}
    for row in rows:
        managed[row.user_id] = row.managed_by
        membership = Membership(row.team_id, handles[row.team_id], TeamRole(row.role))
        teams.setdefault(row.user_id, []).append(membership)
    return {user_id: Memberships(user_id, found, managed[user_id]) for user_id, found in teams.items()}


def list_member_ids(session: Session, team_id: str) -> list[str]:
    return list(session.scalars(select(TeamMember.user_id).where(TeamMember.team_id == team_id)))


def list_teams(session: Session, team_ids: Collection[str]) -> list[Team]:
    return list(session.scalars(select(Team).where(Team.id.in_(sorted(team_ids))).order_by(Team.created_at, Team.id)))


def page_members(session: Session, team_id: str, cursor: str | None, limit: int) -> tuple[list[MemberRow], str | None]:
    query = select(TeamMember).where(TeamMember.team_id == team_id)
    rows, after = read_page(session, query, (TeamMember.joined_at, TeamMember.user_id), cursor, limit, ascending=True)
    users = {user.id: user for user in session.scalars(select(User).where(User.id.in_([row.user_id for row in rows])))}
    handles = handles_of(session, users)
    return [MemberRow(users[row.user_id], row, handles[row.user_id]) for row in rows], after


# ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def create_team(session: Session, team_id: str, user_id: str, name: str, handle: str, now: datetime) -> Team:
    """Its maker is its owner."""
    user = repository.lock_user(session, user_id)
    if user is None or user.disabled_at is not None or user.managed_by is not None:
        raise NoSuchUser(user_id)
    mine = session.scalar(select(func.count()).where(TeamMember.user_id == user_id)) or 0
    if mine >= TEAMS_EACH:
        raise TeamLimitReached(f"You belong to {TEAMS_EACH} teams")
    session.add(Owner(id=team_id, kind=OwnerKind.TEAM, created_at=now))
    session.flush()
    give_handle(session, team_id, now, handle)
    team = Team(id=team_id, name=name, created_at=now)
    session.add(team)
    session.flush()
    record(session, "team.created", team_id, now, actor=user_id, topics=(f"owner/{team_id}",), handle=handle)
    _add(session, team_id, user_id, OWNER, None, now, actor=user_id)
    return team


def rename_team(session: Session, team_id: str, name: str, actor: str, now: datetime) -> Team:
    team = lock_team(session, team_id)
    check_owner_of(session, team_id, actor)
    if team.name != name:
        team.name = name
        session.flush()
        record(session, "team.renamed", team_id, now, actor=actor, topics=(f"owner/{team_id}",))
    return team


def change_role(session: Session, team_id: str, user_id: str, role: TeamRole, actor: str, now: datetime) -> MemberRow:
    """Raises OnlyForOwners where it makes or unmakes an owner, LastOwner, NoSuchMember."""
    lock_team(session, team_id)
    member, acting = _member(session, team_id, user_id), _role_of_actor(session, team_id, actor)
    _check_power(acting, {TeamRole(member.role), role})
    if role.scopes > TeamRole.MEMBER.scopes and session.get_one(User, user_id).managed_by is not None:
        raise MoreThanYouHave("A service account can only be a member or a viewer.")
    if member.role != role:
        if role is not OWNER:
            _keep_an_owner(session, team_id, member)
        member.role = role.value
        session.flush()
        _tell(session, "team.role_changed", team_id, user_id, now, actor=actor, role=role.value)
    return MemberRow(session.get_one(User, user_id), member, find_handle(session, user_id))


def remove_member(session: Session, team_id: str, user_id: str, actor: str, now: datetime) -> Revoked:
    """Everybody may leave; others are removed by owners and admins. Jobs that they began go on as the team's."""
    lock_team(session, team_id)
    member = _member(session, team_id, user_id)
    if actor != user_id:
        _check_power(_role_of_actor(session, team_id, actor), {TeamRole(member.role)})
    _keep_an_owner(session, team_id, member)
    session.delete(member)
    session.flush()
    _tell(session, "team.left", team_id, user_id, now, actor=actor)
    if session.get_one(User, user_id).managed_by == team_id:
        return disable_user(session, user_id, now, actor=actor, reason="removed from its team")
    return Revoked()


def create_service_account(
    session: Session, user_id: str, team_id: str, name: str, role: TeamRole, actor: str, now: datetime
) -> User:
    """A user without address and password, for programs. It owns nothing, and acts for its team alone."""
    if role.scopes > TeamRole.MEMBER.scopes:
        raise MoreThanYouHave("A service account can only be a member or a viewer.")
    lock_team(session, team_id)
    _check_power(_role_of_actor(session, team_id, actor), {role})
    session.add(Owner(id=user_id, kind=OwnerKind.USER, created_at=now))
    session.flush()
    user = User(id=user_id, email=f"service:{user_id}", name=name, role=Role.USER.value, created_at=now)
    user.managed_by = team_id
    session.add(user)
    session.flush()
    give_handle(session, user_id, now)
    record(session, "user.created", user_id, now, actor=actor, topics=(f"owner/{team_id}",), managed_by=team_id)
    _add(session, team_id, user_id, role, actor, now, actor=actor)
    return user


def check_service_account(session: Session, team_id: str, user_id: str, actor: str) -> TeamRole:
    """The role of a service account of the team, for who may give it a token. Raises NoSuchMember, OnlyForOwners."""
    lock_team(session, team_id)
    member = _member(session, team_id, user_id)
    if session.get_one(User, user_id).managed_by != team_id:
        raise NoSuchMember(user_id)
    role = TeamRole(member.role)
    _check_power(_role_of_actor(session, team_id, actor), {role})
    return role


# ── invitations ──────────────────────────────────────────────────────────────────────────────────────────────────────


def invite(
    session: Session,
    invitation_id: str,
    token: str,
    team_id: str,
    email: str,
    role: TeamRole,
    actor: str,
    now: datetime,
) -> Invitation:
    """In place of an open one of the same address."""
    lock_team(session, team_id)
    _check_power(_role_of_actor(session, team_id, actor), {role})
    for earlier in list_open_invitations(session, team_id, now):
        if earlier.email == email:
            earlier.revoked_at = now
    session.flush()
    if len(list_open_invitations(session, team_id, now)) >= OPEN_INVITATIONS_EACH:
        raise TeamLimitReached(f"The team has {OPEN_INVITATIONS_EACH} open invitations")
    invitation = Invitation(
        id=invitation_id,
        team_id=team_id,
        email=email,
        role=role.value,
        hash=hash_of(token),
        invited_by=actor,
        created_at=now,
        expires_at=now + INVITATION_LIFETIME,
    )
    session.add(invitation)
    session.flush()
    record(session, "team.invited", invitation_id, now, actor=actor, topics=(f"owner/{team_id}",), role=role.value)
    return invitation


def list_open_invitations(session: Session, team_id: str, now: datetime) -> list[Invitation]:
    row = Invitation
    is_open = (row.team_id == team_id, row.accepted_at.is_(None), row.revoked_at.is_(None), row.expires_at > now)
    return list(session.scalars(select(row).where(*is_open).order_by(row.created_at, row.id).limit(LIST_LIMIT)))


def revoke_invitation(session: Session, team_id: str, invitation_id: str, actor: str, now: datetime) -> None:
    """Once more is harmless."""
    lock_team(session, team_id)
    row = session.get(Invitation, invitation_id)
    if row is None or row.team_id != team_id:
        raise NoSuchInvitation(invitation_id)
    if row.accepted_at is None and row.revoked_at is None:
        row.revoked_at = now
        session.flush()
        record(session, "team.invitation_revoked", invitation_id, now, actor=actor, topics=(f"owner/{team_id}",))


def accept(session: Session, token: str, user_id: str, now: datetime) -> str:
    """The id of the team that the user belongs to now. The invitation gives no more than who made it could give still.

    Raises BadInvitation, InvitationOfAnother.
    """
    found = session.scalar(select(Invitation.team_id).where(Invitation.hash == hash_of(token)))
    if found is None:
        raise BadInvitation
    lock_team(session, found)
    query = select(Invitation).where(Invitation.hash == hash_of(token)).execution_options(populate_existing=True)
    row = session.scalars(query).one()
    user = repository.lock_user(session, user_id)
    if user is None or user.disabled_at is not None or user.managed_by is not None:
        raise NoSuchUser(user_id)
    if row.accepted_at is not None or row.revoked_at is not None or row.expires_at <= now:
        raise BadInvitation
    if row.email != user.email:
        raise InvitationOfAnother
    role, inviter = TeamRole(row.role), session.get(TeamMember, (row.team_id, row.invited_by))
    if inviter is None or session.get_one(User, row.invited_by).disabled_at is not None:
        raise BadInvitation
    try:
        _check_power(TeamRole(inviter.role), {role})
    except OnlyForOwners:
        raise BadInvitation from None
    row.accepted_at, row.accepted_by = now, user_id
    session.flush()
    if session.get(TeamMember, (row.team_id, user_id)) is None:
        mine = session.scalar(select(func.count()).where(TeamMember.user_id == user_id)) or 0
        if mine >= TEAMS_EACH:
            raise TeamLimitReached(f"You belong to {TEAMS_EACH} teams")
        _add(session, row.team_id, user_id, role, row.invited_by, now, actor=user_id)
    return row.team_id


# ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def lock_team(session: Session, team_id: str) -> Team:
    """Nobody else changes who belongs to it until this transaction ends. What was read of it before is forgotten."""
    team = session.get(Team, team_id, with_for_update=True, populate_existing=True)
    if team is None:
        raise NoSuchTeam(team_id)
    session.expire_all()
    return team


def check_owner_of(session: Session, team_id: str, user_id: str) -> None:
    if _role_of_actor(session, team_id, user_id) is not OWNER:
        raise OnlyForOwners("Only an owner of the team may do this.")


def _member(session: Session, team_id: str, user_id: str) -> TeamMember:
    member = session.get(TeamMember, (team_id, user_id), populate_existing=True)
    if member is None:
        raise NoSuchMember(user_id)
    return member


def _role_of_actor(session: Session, team_id: str, actor: str) -> TeamRole:
    """As it is in this transaction: what the gate knew may be a moment old."""
    member = session.get(TeamMember, (team_id, actor), populate_existing=True)
    if member is None:
        raise NoSuchTeam(team_id)
    return TeamRole(member.role)


def _check_power(acting: TeamRole, roles: Iterable[TeamRole]) -> None:
    """Owners give and take every role, admins those up to their own, others none."""
    if acting is OWNER:
        return
    if acting is not TeamRole.ADMIN:
        raise OnlyForOwners("Only owners and admins of the team can change its members.")
    if OWNER in roles:
        raise OnlyForOwners("Only an owner of the team can add, change or remove owners.")


def _keep_an_owner(session: Session, team_id: str, member: TeamMember) -> None:
    if member.role != OWNER:
        return
    owners = select(func.count()).select_from(TeamMember).join(User, User.id == TeamMember.user_id)
    owners = owners.where(TeamMember.team_id == team_id, TeamMember.role == OWNER, User.disabled_at.is_(None))
    others = session.scalar(owners.where(TeamMember.user_id != member.user_id)) or 0
    if others == 0:
        raise LastOwner


def _add(
    session: Session, team_id: str, user_id: str, role: TeamRole, invited_by: str | None, now: datetime, *, actor: str
) -> None:
    count = session.scalar(select(func.count()).where(TeamMember.team_id == team_id)) or 0
    if count >= MEMBERS_EACH:
        raise TeamLimitReached(f"The team has {MEMBERS_EACH} members")
    session.add(TeamMember(team_id=team_id, user_id=user_id, role=role.value, joined_at=now, invited_by=invited_by))
    session.flush()
    _tell(session, "team.joined", team_id, user_id, now, actor=actor, role=role.value)


def _tell(
    session: Session, action: str, team_id: str, user_id: str, now: datetime, *, actor: str, **details: str
) -> None:
    """The directory hears of it by the subject, which is the user."""
    topics = (TOPIC, f"owner/{team_id}")
    record(session, action, user_id, now, actor=actor, topics=topics, team=team_id, **details)
