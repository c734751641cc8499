"""Users as operators see them: found, counted, disabled and enabled."""

from support.engine import ADMIN, ALICE, BOB, play
from support.scripted_agent import add_agent

from computepool.hub.accounts.public_names import find_public_name, set_public_name
from computepool.hub.accounts.service import create_user
from computepool.hub.accounts.tables import User
from computepool.hub.core.http import Role
from computepool.hub.nodes.repository import take_join_token
from computepool.hub.nodes.service import hash_token

PEOPLE = {ADMIN: ("root@example.org", Role.ADMIN), ALICE: ("alice@example.org", Role.USER)}


def add_people(session, now):
    """Their owners are there already."""
    for user_id, (email, role) in PEOPLE.items():
        session.add(User(id=user_id, email=email, name=user_id.title(), role=role.value, created_at=now))
    for number in range(5):
        email = f"guest{number}@example.org"
        create_user(session, f"user_guest{number}", now, email=email, name="Guest", country=None, password_hash=None)


def test_admins_find_users_and_close_their_accounts_at_once(hub_url):
    async def story(pool):
        await pool.db.run(add_people, pool.clock.now())
        agent = await add_agent(pool, owner=BOB)
        await pool.submit(user=ALICE, max_runtime="10m")
        await agent.take_offer()
        waiting = await pool.submit(user=ALICE, resources={"gpu": {"name": "rtx-4090", "count": 1}})

        async def users(query=""):
            return (await pool.call("GET", f"admin/users?{query}", user=ADMIN)).json()

        found = await users("order=email&limit=3")
        assert ([one["email"][:6] for one in found["items"]], found["total"]) == (["alice@", "guest0", "guest1"], 7)
        alice = found["items"][0]
        assert (alice["open_jobs"], alice["nodes"], alice["actions"]["disable"]["allowed"]) == (2, 0, True)
        assert alice["spendable_micros"] > 0
        more = await users(f"order=email&limit=3&cursor={found['next']}")
        assert [one["email"][:6] for one in more["items"]] == ["guest2", "guest3", "guest4"]
        assert (await pool.call("GET", f"admin/users?cursor={found['next']}", user=ADMIN)).status_code == 422
        before = pool.db.statements
        await users("limit=7")
        assert pool.db.statements - before <= 8
        assert [one["id"] for one in (await users("search=ROOT"))["items"]] == [ADMIN]

        last = await pool.call("POST", "admin/users/root@example.org/disable", {"reason": "a test"}, user=ADMIN)
        assert last.json()["error"]["code"] == "last_admin"
        shown = (await pool.call("GET", f"admin/users/{ADMIN}", user=ADMIN)).json()
        assert "only admin" in shown["actions"]["disable"]["reason"]

        assert (await pool.call("GET", "jobs", user=ALICE)).status_code == 200
        link = (await pool.call("POST", f"jobs/{waiting}/shares", {}, user=ALICE)).json()["token"]
        join_token = (await pool.call("POST", "nodes/join-tokens", {}, user=ALICE)).json()["token"]
        await pool.db.run(set_public_name, ALICE, "Ally")
        assert await pool.db.read(find_public_name, ALICE) == "Ally"
        body = {"reason": "stolen card", "cancel_jobs": True}
        done = (await pool.call("POST", "admin/users/alice@example.org/disable", body, user=ADMIN)).json()
        assert (done["jobs_canceled"], done["user"]["actions"]["enable"]["allowed"]) == (2, True)
        assert (await pool.call("GET", "jobs", user=ALICE)).status_code == 401
        assert (await pool.call("GET", f"public/shares/{link}", user=None)).status_code == 404
        assert await pool.db.read(find_public_name, ALICE) is None
        assert await pool.db.run(take_join_token, hash_token(join_token), pool.clock.now()) is None
        assert (await pool.job(waiting)).state == "canceled"
        assert [one["id"] for one in (await users("disabled=true"))["items"]] == [ALICE]
        assert (await users("disabled=false&role=user"))["total"] == 5
        assert (await pool.call("POST", f"admin/users/{ALICE}/enable", user=ADMIN)).json()["disabled_at"] is None
        assert (await pool.call("GET", "jobs", user=ALICE)).status_code == 200
        assert (await pool.call("GET", f"public/shares/{link}", user=None)).status_code == 200
        assert await pool.db.run(take_join_token, hash_token(join_token), pool.clock.now()) is None
        assert (await pool.call("GET", f"admin/users/{ALICE}/sessions", user=ADMIN)).json()["items"] == []
        assert (await pool.call("POST", f"admin/users/{BOB}/enable", user=ADMIN)).status_code == 404

        ledger = (await pool.call("GET", "admin/ledger", user=ADMIN)).json()
        assert (ledger["last"], ledger["frozen_since"]) == (None, None)
        checked = (await pool.call("POST", "admin/ledger/check", user=ADMIN)).json()
        assert checked["balanced"]
        assert (await pool.call("GET", "admin/ledger", user=ADMIN)).json()["last"] == checked

    play(hub_url, story)
