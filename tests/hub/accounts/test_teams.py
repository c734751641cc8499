import asyncio
import random
import threading

import pytest
from sqlalchemy.orm import Session
from support.side_by_side import wait_until_blocked_or_done
from support.small_hub import small_hub
from support.waiting import patience

from computepool.hub.accounts import teams
from computepool.hub.accounts.errors import LastOwner, OnlyForOwners
from computepool.hub.accounts.team_tables import TeamMember
from computepool.hub.core.errors import PoolError
from computepool.hub.core.http import TeamRole
from computepool.hub.core.records import write_records


async def code(answer, status):
    assert answer.status_code == status, answer.text
    return answer.json()["error"]["code"]


async def lab_of(hub, **roles):
    """A team and its people, by role: `(user_id, access token)` of each."""
    people = {}
    for name in ("owner", *roles):
        made = await hub.register(f"{name}@example.org")
        people[name] = made["user_id"], made["access_token"]
    owner = people["owner"][1]
    assert (await hub.post("teams", {"handle": "my-lab", "name": "My lab"}, owner)).status_code == 201
    for name, role in roles.items():
        invited = await hub.post("teams/my-lab/invitations", {"email": f"{name}@example.org", "role": role}, owner)
        joined = await hub.post("invitations/accept", {"token": invited.json()["token"]}, people[name][1])
        assert (joined.status_code, joined.json()["role"]) == (200, role)
    return people


def test_people_join_by_invitations_to_their_address_and_lose_everything_when_removed(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            people = await lab_of(hub, ada="admin", vic="viewer")
            owner, ada, vic = (people[name][1] for name in ("owner", "ada", "vic"))
            mia = await hub.register("mia@example.org")
            mine = mia["access_token"]
            assert await code(await hub.get("teams/my-lab", mine), 404) == "no_such_team"
            invited = await hub.post("teams/my-lab/invitations", {"email": "Mia@example.org "}, ada)
            token = invited.json()["token"]
            assert await code(await hub.post("invitations/accept", {"token": token}, vic), 403) == (
                "invitation_of_another"
            )
            again = (await hub.post("teams/my-lab/invitations", {"email": "mia@example.org"}, ada)).json()["token"]
            assert await code(await hub.post("invitations/accept", {"token": token}, mine), 404) == "bad_invitation"
            assert (await hub.post("invitations/accept", {"token": again}, mine)).json()["role"] == "member"
            assert await code(await hub.post("invitations/accept", {"token": again}, mine), 404) == "bad_invitation"
            assert (await hub.get("me", mine)).json()["teams"][0]["handle"] == "my-lab"
            members = (await hub.get("teams/my-lab/members", vic)).json()["items"]
            told = {(one["role"], one["email"]) for one in members}
            assert told == {("owner", None), ("admin", None), ("viewer", None), ("member", None)}
            assert (await hub.delete(f"teams/my-lab/members/{mia['user_id']}", ada)).status_code == 204
            assert await code(await hub.get("teams/my-lab", mine), 404) == "no_such_team"
            # A viewer changes nothing, an admin no owners.
            for method, path, body in (
                (hub.patch, "teams/my-lab", {"name": "x"}),
                (hub.post, "teams/my-lab/invitations", {"email": "x@example.org"}),
                (hub.patch, f"teams/my-lab/members/{people['vic'][0]}", {"role": "owner"}),
                (hub.post, "teams/my-lab/service-accounts", {"name": "ci"}),
            ):
                assert await code(await method(path, body, vic), 403) == "role_too_low"
            assert await code(await hub.delete(f"teams/my-lab/members/{people['ada'][0]}", vic), 403) == "role_too_low"
            to_owner = await hub.patch(f"teams/my-lab/members/{people['ada'][0]}", {"role": "owner"}, ada)
            assert await code(to_owner, 403) == "role_too_low"
            assert await code(await hub.patch("teams/my-lab", {"name": "Mine"}, ada), 403) == "role_too_low"
            assert (
                await code(await hub.delete(f"teams/my-lab/members/{people['owner'][0]}", ada), 403) == "role_too_low"
            )
            assert await code(await hub.post("teams/my-lab/leave", None, owner), 409) == "last_owner"
            assert (await hub.patch("teams/my-lab", {"handle": "our-lab"}, owner)).json()["handle"] == "our-lab"
            assert (await hub.get("teams/our-lab", vic)).json()["role"] == "viewer"

    asyncio.run(story())


def test_invitation_gives_no_more_than_who_made_it_could_give_still(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            people = await lab_of(hub, ada="admin")
            await hub.register("bob@example.org")
            token = (await hub.post("teams/my-lab/invitations", {"email": "bob@example.org"}, people["ada"][1])).json()
            await hub.patch(f"teams/my-lab/members/{people['ada'][0]}", {"role": "member"}, people["owner"][1])
            pair = await hub.post("auth/login", {"email": "bob@example.org", "password": "correct horse battery"})
            refused = await hub.post("invitations/accept", {"token": token["token"]}, pair.json()["access_token"])
            assert await code(refused, 404) == "bad_invitation"

    asyncio.run(story())


def test_token_hands_on_no_role_that_can_do_more_than_it(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            people = await lab_of(hub, vic="viewer")
            narrow = await hub.personal_token(people["owner"][1], scopes=["team:read", "team:write", "jobs:read"])
            for path, body in (
                ("teams/my-lab/invitations", {"email": "x@example.org", "role": "viewer"}),
                ("teams/my-lab/service-accounts", {"name": "ci", "scopes": ["jobs:write"]}),
            ):
                assert await code(await hub.post(path, body, narrow["token"]), 403) == "more_than_you_have"
            change = await hub.patch(f"teams/my-lab/members/{people['vic'][0]}", {"role": "owner"}, narrow["token"])
            assert await code(change, 403) == "more_than_you_have"

    asyncio.run(story())


def test_service_account_acts_for_its_team_and_ends_with_its_membership(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            people = await lab_of(hub, ada="admin")
            made = await hub.post("teams/my-lab/service-accounts", {"name": "ci"}, people["ada"][1])
            token, user_id = made.json()["token"], made.json()["user_id"]
            me = (await hub.get("me", token)).json()
            assert (me["teams"][0]["role"], me["managed_by"] is not None, "@" in me["email"]) == ("member", True, False)
            assert await code(await hub.post("tokens", {"name": "more"}, token), 403) == "missing_scope"
            too_much = await hub.post("teams/my-lab/service-accounts", {"name": "x", "role": "admin"}, people["ada"][1])
            assert await code(too_much, 403) == "more_than_you_have"
            role = await hub.patch(f"teams/my-lab/members/{user_id}", {"role": "admin"}, people["owner"][1])
            assert await code(role, 403) == "more_than_you_have"
            more = await hub.post(f"teams/my-lab/service-accounts/{user_id}/tokens", {}, people["ada"][1])
            assert (await hub.get("me", more.json()["token"])).status_code == 200
            wrong = await hub.post(f"teams/my-lab/service-accounts/{people['ada'][0]}/tokens", {}, people["owner"][1])
            assert await code(wrong, 404) == "not_found"
            await hub.delete(f"teams/my-lab/members/{user_id}", people["ada"][1])
            for each in (token, more.json()["token"]):
                assert (await hub.get("me", each)).status_code == 401
        async with small_hub(database_url) as hub:
            assert (await hub.get("me", token)).status_code == 401

    asyncio.run(story())


def test_nobody_belongs_to_more_teams_than_the_limit(tmp_path, monkeypatch):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            people = await lab_of(hub)
            monkeypatch.setattr(teams, "TEAMS_EACH", 1)
            assert await code(await hub.post("teams", {"handle": "second"}, people["owner"][1]), 409) == "team_limit"

    asyncio.run(story())


def test_memberships_are_known_after_a_restart(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            people = await lab_of(hub, vic="viewer")
            token = (await hub.personal_token(people["vic"][1]))["token"]
        async with small_hub(database_url) as hub:
            assert (await hub.get("teams", token)).json()["items"][0]["role"] == "viewer"

    asyncio.run(story())


# ── at the same moment ───────────────────────────────────────────────────────────────────────────────────────────────


def side_by_side(engine, now, first, second):
    """What the second gives, which has looked at the team before the first wrote, and comes before it commits."""
    results = []
    looked, written = threading.Event(), threading.Event()

    def follow():
        try:
            with Session(engine) as session, session.begin():
                session.query(TeamMember).all()
                looked.set()
                assert written.wait(patience())
                results.append(second(session, now))
                write_records(session)
        except PoolError as refused:
            results.append(refused)

    thread = threading.Thread(target=follow)
    thread.start()
    assert looked.wait(patience())
    with Session(engine) as session, session.begin():
        first(session, now)
        write_records(session)
        session.flush()
        written.set()
        wait_until_blocked_or_done(engine, lambda: not thread.is_alive())
    thread.join()
    return results[0]


def races(team_id, one, two):
    role, remove = teams.change_role, teams.remove_member
    yield (
        lambda session, now: role(session, team_id, one, TeamRole.MEMBER, one, now),
        lambda session, now: role(session, team_id, two, TeamRole.MEMBER, two, now),
        LastOwner,
    )
    yield (
        lambda session, now: remove(session, team_id, two, two, now),
        lambda session, now: remove(session, team_id, one, one, now),
        LastOwner,
    )
    yield (
        lambda session, now: role(session, team_id, two, TeamRole.VIEWER, one, now),
        lambda session, now: teams.invite(session, "i", "cpi_x", team_id, "x@example.org", TeamRole.OWNER, two, now),
        OnlyForOwners,
    )


@pytest.mark.parametrize("number", range(3))
def test_two_who_change_roles_at_once_leave_an_owner_and_act_by_their_new_role(postgres_hub, number):
    async def story():
        async with small_hub(postgres_hub) as hub:
            people = await lab_of(hub, two="owner")
            team_id = (await hub.get("teams", people["owner"][1])).json()["items"][0]["id"]
            first, second, refused = list(races(team_id, people["owner"][0], people["two"][0]))[number]
            engine = hub.context.db.engine
            given = await asyncio.to_thread(side_by_side, engine, hub.clock.now(), first, second)
            assert isinstance(given, refused)

    asyncio.run(story())


def test_owners_who_all_leave_at_once_leave_one(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            people = await lab_of(hub, two="owner", three="owner")
            tokens = [token for _, token in people.values()]
            random.Random(1).shuffle(tokens)
            answers = await asyncio.gather(*(hub.post("teams/my-lab/leave", None, token) for token in tokens))
            assert sorted(answer.status_code for answer in answers) == [204, 204, 409]
            left = [token for token in tokens if (await hub.get("teams/my-lab", token)).status_code == 200]
            assert len(left) == 1

    asyncio.run(story())
