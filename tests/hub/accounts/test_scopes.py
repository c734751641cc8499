"""The one rule: scopes of the token ∩ scopes of the role at the row's owner (ADR 0052)."""

import importlib
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import create_engine, text
from support.small_hub import SECRET_KEY, HandClock

from computepool.hub.accounts.directory import DirectorySnapshot, LiveToken, TokenDirectory
from computepool.hub.accounts.tokens import TokenSigner, hash_of, new_personal_token
from computepool.hub.accounts.visibility import sees
from computepool.hub.core.http import (
    Membership,
    Memberships,
    MissingScope,
    NoSuchTeam,
    Principal,
    Role,
    RoleTooLow,
    Scope,
    TeamRole,
    TokenGate,
    owner_for,
    principal_of,
)
from computepool.hub.schema import changing_schema, upgrade

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
USER, TEAM, OTHER = "user_1", "team_1", "team_2"


def member(role, *, managed_by=None, scopes=Role.USER.scopes, user_role=Role.USER):
    teams = Memberships(USER, [Membership(TEAM, "lab", role)], managed_by)
    return Principal(USER, user_role, scopes, frozenset({USER}), "personal", memberships=teams)


def let_in(caller, scope):
    gate = TokenGate("own", scope, lambda _bearer: caller, 0)
    connection = type("Connection", (), {"scope": {"headers": [(b"authorization", b"Bearer x")]}})()
    gate.check(connection.scope)
    return principal_of(connection)


@pytest.mark.parametrize("role", TeamRole)
@pytest.mark.parametrize("scope", sorted(Role.USER.scopes))
def test_gate_leaves_those_owners_that_grant_the_scope_of_the_route(role, scope):
    caller = let_in(member(role), scope)
    assert caller.owner_ids == ({USER, TEAM} if scope in role.scopes else {USER})
    assert sees(caller, USER)
    assert not sees(caller, OTHER)
    if scope in role.scopes:
        assert sees(caller, TEAM)
        assert owner_for(caller, "lab") == owner_for(caller, TEAM) == TEAM
    else:
        with pytest.raises(RoleTooLow, match=f"is {role}"):
            sees(caller, TEAM)
        with pytest.raises(RoleTooLow):
            owner_for(caller, "lab")
    assert owner_for(caller, None) == USER
    for name in ("other", OTHER, "user_2", ""):
        with pytest.raises(NoSuchTeam):
            owner_for(caller, name)


def test_roles_grow_and_a_viewer_only_reads():
    viewer, other_member, admin, owner = (TeamRole(name).scopes for name in ("viewer", "member", "admin", "owner"))
    assert viewer < other_member < admin < owner
    assert all(scope.is_read for scope in viewer)
    assert owner & {Scope.ACCOUNT_READ, Scope.ACCOUNT_WRITE, Scope.ADMIN, Scope.ADMIN_READ, Scope.ADMIN_WRITE} == set()


def test_token_without_the_scope_gets_nothing_from_a_role_that_has_it():
    with pytest.raises(MissingScope):
        let_in(member(TeamRole.OWNER, scopes=frozenset({Scope.JOBS_READ})), Scope.JOBS_WRITE)
    reader = let_in(member(TeamRole.OWNER, scopes=frozenset({Scope.JOBS_READ})), Scope.JOBS_READ)
    assert reader.owners_granting(Scope.JOBS_WRITE) == frozenset()


def test_service_account_owns_nothing_but_its_teams_things():
    caller = let_in(member(TeamRole.MEMBER, managed_by=TEAM), Scope.JOBS_WRITE)
    assert caller.owner_ids == {TEAM}
    assert owner_for(caller, None) == TEAM
    assert not sees(caller, USER)
    with pytest.raises(NoSuchTeam):
        owner_for(caller, USER)
    assert let_in(member(TeamRole.MEMBER, managed_by=TEAM), Scope.ACCOUNT_WRITE).owner_ids == frozenset()


@pytest.mark.parametrize(
    ("scope", "held", "is_admin"),
    [
        (Scope.JOBS_READ, {Scope.JOBS_READ, Scope.ADMIN_READ}, True),
        (Scope.JOBS_READ, {Scope.JOBS_READ, Scope.ADMIN_WRITE}, False),
        (Scope.JOBS_WRITE, {Scope.JOBS_WRITE, Scope.ADMIN_READ}, False),
        (Scope.JOBS_WRITE, {Scope.JOBS_WRITE, Scope.ADMIN_WRITE}, True),
    ],
)
def test_admin_reads_with_one_scope_and_changes_with_the_other(scope, held, is_admin):
    caller = let_in(member(TeamRole.VIEWER, scopes=frozenset(held), user_role=Role.ADMIN), scope)
    assert caller.is_admin is is_admin


def test_membership_counts_from_the_next_request_on_and_ends_streams():
    signer, clock = TokenSigner(SECRET_KEY, "hub_test"), HandClock()
    directory = TokenDirectory(signer, clock)
    bearer = new_personal_token(iter_bits())
    live = LiveToken("token_1", hash_of(bearer), USER, Role.USER, Role.USER.scopes, clock.now() + timedelta(days=1))
    directory.load(DirectorySnapshot([live], [], []))
    access = signer.access_token(USER, "session_1", Role.USER, "access_1", clock.now())

    def seen(token):
        return directory.authenticate(token).bound_to(Scope.JOBS_WRITE)

    for token in (bearer, access):
        directory.set_memberships(USER, None)
        before = seen(token)
        assert before.owner_ids == {USER}
        directory.set_memberships(USER, Memberships(USER, [Membership(TEAM, "lab", TeamRole.MEMBER)]))
        stream = seen(token)
        assert stream.owner_ids == {USER, TEAM}
        assert directory.still_holds(before)
        assert directory.still_holds(stream)
        directory.set_memberships(USER, Memberships(USER, [Membership(TEAM, "lab", TeamRole.VIEWER)]))
        assert seen(token).owner_ids == {USER}
        assert not directory.still_holds(stream)
        assert directory.still_holds(before)


def iter_bits():
    numbers = iter(range(10_000))
    return lambda bits: next(numbers) % (1 << bits)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"account:read"}, {"account:read", "wallet:read"}),
        ({"account:write"}, {"account:write", "wallet:write", "wallet:payout"}),
        ({"jobs:read", "nodes:write"}, {"jobs:read", "nodes:write"}),
        ({"admin"}, {"admin", "admin:read", "admin:write"}),
        ({scope.value for scope in Scope if ":" in scope and scope.split(":")[0] in
          ("jobs", "nodes", "artifacts", "account")}, Role.USER.scopes),
    ],
)  # fmt: skip
def test_tokens_of_before_keep_what_they_could_do(tmp_path, before, after):
    migration = importlib.import_module("computepool.hub.migrations.versions.0035_scopes")
    assert migration.upgraded(set(before)) == set(after)
    assert migration.downgraded(migration.upgraded(set(before))) == set(before)


def test_migration_rewrites_stored_tokens(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path}/hub.db")
    with changing_schema(engine) as connection:
        upgrade(connection, "0034")
        at = "2026-01-02 03:04:05"
        connection.execute(text(f"INSERT INTO owners VALUES ('user_1', 'user', '{at}')"))
        columns = "id, email, name, role, created_at"
        connection.execute(text(f"INSERT INTO users ({columns}) VALUES ('user_1', 'a@b', 'A', 'user', '{at}')"))
        columns = "id, user_id, name, hash, scopes, created_at, expires_at"
        values = f"'token_1', 'user_1', 't', 'h', '[\"account:read\"]', '{at}', '{at}'"
        connection.execute(text(f"INSERT INTO personal_tokens ({columns}) VALUES ({values})"))
        upgrade(connection, "0035")
        assert connection.scalar(text("SELECT scopes FROM personal_tokens")) == '["account:read", "wallet:read"]'
    engine.dispose()
