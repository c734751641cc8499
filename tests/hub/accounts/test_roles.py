"""Who runs the pool: admins see everybody, make others admins, and are never without one."""

import asyncio

import pytest
from support.small_hub import bearer, small_hub

from computepool.hub.accounts import bootstrap, service
from computepool.hub.accounts.errors import LastAdmin
from computepool.hub.core.http import Role
from computepool.hub.core.tables import AuditRow


async def admin_of(hub):
    """The token of the admin that a hub makes for itself."""
    return (await bootstrap.sign_in_this_machine(hub.context, hub.directory, None)).token


async def set_role(hub, user, role, token):
    return await hub.client.put(f"/api/v1/admin/users/{user}/role", json={"role": role}, headers=bearer(token))


async def sign_in(hub, email):
    answer = await hub.post("auth/login", {"email": email, "password": "correct horse battery"})
    return answer.json()["access_token"]


def test_an_admin_makes_somebody_an_admin_and_takes_it_back(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            admin = await admin_of(hub)
            rita = await hub.register("rita@example.org")
            made = await set_role(hub, "Rita@example.org", "admin", admin)
            assert (made.status_code, made.json()["role"]) == (200, "admin")
            assert (await hub.get("me", rita["access_token"])).status_code == 401, "it was made in the old role"
            hers = await sign_in(hub, "rita@example.org")
            assert (await hub.get("admin/users", hers)).status_code == 200
            assert (await set_role(hub, rita["user_id"], "user", admin)).json()["role"] == "user"
            assert (await hub.get("admin/users", hers)).status_code == 401
            hers = await sign_in(hub, "rita@example.org")
            assert (await hub.get("admin/users", hers)).status_code == 403

            def told(session):
                changes = session.query(AuditRow).filter_by(action="user.role_changed").order_by(AuditRow.id)
                return [(row.subject, row.actor, row.details["role"]) for row in changes]

            admin_id = (await hub.get("me", admin)).json()["id"]
            changes = [(rita["user_id"], admin_id, "admin"), (rita["user_id"], admin_id, "user")]
            assert await hub.context.db.read(told) == changes

    asyncio.run(story())


def test_the_same_role_again_ends_nothing(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            admin, rita = await admin_of(hub), await hub.register("rita@example.org")
            assert (await set_role(hub, "rita@example.org", "user", admin)).status_code == 200
            assert (await hub.get("me", rita["access_token"])).status_code == 200

    asyncio.run(story())


def test_the_last_admin_stays_one(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            admin = await admin_of(hub)
            refused = await set_role(hub, "admin@localhost", "user", admin)
            assert (refused.status_code, refused.json()["error"]["code"]) == (409, "last_admin")
            rita = await hub.register("rita@example.org")
            await set_role(hub, "rita@example.org", "admin", admin)
            now = hub.clock.now()
            await hub.context.db.run(service.disable_user, rita["user_id"], now, actor="hub")
            assert (await set_role(hub, "admin@localhost", "user", admin)).status_code == 409, "she cannot act as one"
            await hub.context.db.run(service.enable_user, rita["user_id"], now, actor="hub")
            assert (await set_role(hub, "admin@localhost", "user", admin)).status_code == 200
            assert (await hub.get("me", admin)).status_code == 401

    asyncio.run(story())


def test_two_admins_who_dismiss_each_other_at_once_leave_one(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            first = (await hub.get("me", await admin_of(hub))).json()["id"]
            names = [(await hub.register())["user_id"] for _ in range(2)]
            now, run = hub.clock.now(), hub.context.db.run
            for name in names:
                await run(service.set_role, name, Role.ADMIN, now, actor="hub")
            await run(service.set_role, first, Role.USER, now, actor="hub")
            asked = [run(service.set_role, name, Role.USER, now, actor="hub") for name in names]
            done = await asyncio.gather(*asked, return_exceptions=True)
            assert sorted(isinstance(one, LastAdmin) for one in done) == [False, True]

    asyncio.run(story())


def test_everybody_is_listed_the_newest_first_page_by_page(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            admin = await admin_of(hub)
            for number in range(3):
                hub.clock.move(seconds=1)
                await hub.register(f"u{number}@example.org")
            first = (await hub.get("admin/users?limit=3", admin)).json()
            assert [one["email"] for one in first["items"]] == ["u2@example.org", "u1@example.org", "u0@example.org"]
            rest = (await hub.get(f"admin/users?limit=3&cursor={first['next']}", admin)).json()
            assert ([one["email"] for one in rest["items"]], rest["next"]) == (["admin@localhost"], None)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("search=U1@EXAMPLE", ["u1@example.org"]),
        ("search=somebody", ["u1@example.org", "u0@example.org"]),
        ("search=%25", []),
        ("role=admin", ["admin@localhost"]),
        ("role=user&search=u0", ["u0@example.org"]),
    ],
)
def test_people_are_found_by_address_name_and_role(database_url, asked, found):
    async def story():
        async with small_hub(database_url) as hub:
            admin = await admin_of(hub)
            for number in range(2):
                hub.clock.move(seconds=1)
                await hub.register(f"u{number}@example.org")
            items = (await hub.get(f"admin/users?{asked}", admin)).json()["items"]
            assert [one["email"] for one in items] == found

    asyncio.run(story())


def test_nobody_but_an_admin_sees_others_or_changes_a_role(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            admin, rita = await admin_of(hub), (await hub.register("rita@example.org"))["access_token"]
            assert (await hub.get("admin/users", rita)).status_code == 403
            assert (await hub.get("admin/users/admin@localhost", rita)).status_code == 403
            assert (await set_role(hub, "rita@example.org", "admin", rita)).status_code == 403
            assert (await hub.get("admin/users/rita@example.org", admin)).json()["role"] == "user"
            gone = (await hub.get("admin/users/nobody@example.org", admin)).json()["error"]
            assert gone["message"] == "There is no user nobody@example.org."
            refused = (await set_role(hub, "rita@example.org", "king", admin)).json()["error"]
            assert refused["fields"][0]["message"] == "is not user or admin"

    asyncio.run(story())


def test_this_machine_is_told_as_whom_it_is_signed_in_after_its_admin_was_dismissed(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            first = await bootstrap.sign_in_this_machine(hub.context, hub.directory, None)
            assert (first.email, first.cli_email, first.dismissed) == (bootstrap.ADMIN_EMAIL,) * 2 + (None,)
            hub.clock.move(minutes=1)  # the oldest admin is the one that the hub signs in
            await hub.register("rita@example.org")
            await set_role(hub, "rita@example.org", "admin", first.token)
            hers = (await hub.post("tokens", {"name": "cli"}, await sign_in(hub, "rita@example.org"))).json()["token"]
            by_hand = await bootstrap.sign_in_this_machine(hub.context, hub.directory, hers)
            assert (by_hand.email, by_hand.cli_email) == (bootstrap.ADMIN_EMAIL, "rita@example.org")
            await set_role(hub, bootstrap.ADMIN_EMAIL, "user", first.token)
            after = await bootstrap.sign_in_this_machine(hub.context, hub.directory, first.token)
            assert (after.email, after.cli_email) == ("rita@example.org",) * 2
            assert after.dismissed == bootstrap.ADMIN_EMAIL
            lost = await bootstrap.sign_in_this_machine(hub.context, hub.directory, "cp_lost")
            assert (lost.is_new_token, lost.dismissed) == (True, None)

    asyncio.run(story())
