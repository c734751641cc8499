"""Lists of nodes and join tokens: filters, order, totals, names, earnings, and what the reader may do."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.engine import ADMIN, ALICE, BOB, play
from support.fleets import gpu
from support.scripted_agent import add_agent, enrol_request

from computepool.hub.accounts.tables import User
from computepool.hub.nodes.tables import Node

CREDIT = 1_000_000


def add_user(session, user_id, now):
    session.merge(
        User(id=user_id, email=f"{user_id}@example.org", name=user_id.removeprefix("user_").title(), role="user",
             created_at=now)
    )  # fmt: skip


async def names(pool, query, user=ADMIN):
    answer = await pool.call("GET", f"nodes?{query}", user=user)
    assert answer.status_code == 200, answer.text
    return [node["name"] for node in answer.json()["items"]]


def test_nodes_are_filtered_sorted_counted_and_read_in_few_statements(hub_url):
    async def story(pool):
        await pool.db.run(add_user, BOB, pool.clock.now())
        attic = await add_agent(pool, name="attic", country="DE", tags=("lab", "fast_x"))
        cellar = await add_agent(pool, owner=BOB, name="Cellar", gpus=(gpu(0),), country="IN", tags=("fast-x",))
        shed = await add_agent(pool, owner=BOB, name="shed", simulated=True)
        attic.beat_on()
        cellar.beat_on()
        await shed.disconnect()
        await pool.settle(300)
        assert await names(pool, "order=name") == ["attic", "Cellar", "shed"]
        assert await names(pool, "order=-name") == ["shed", "Cellar", "attic"]
        assert await names(pool, "order=-created") == await names(pool, "") == ["shed", "Cellar", "attic"]
        assert await names(pool, f"owner={BOB}&order=state") == ["shed", "Cellar"]
        assert await names(pool, "state=offline") == ["shed"]
        assert await names(pool, "search=CELL") == await names(pool, f"search={cellar.node_id[-8:]}") == ["Cellar"]
        assert await names(pool, "tag=lab") == ["attic"]
        assert await names(pool, "tag=fast_x") == ["attic"]
        assert await names(pool, "tag=la") == await names(pool, "search=%25") == []
        assert await names(pool, f"gpu={gpu(0).slug}") == await names(pool, "country=IN") == ["Cellar"]
        assert await names(pool, "gpu=h100") == []
        assert await names(pool, "simulated=true") == ["shed"]
        assert await names(pool, "simulated=false&order=name") == ["attic", "Cellar"]
        assert await names(pool, "owner=user_alice", user=BOB) == []  # an owner filter widens nothing

        first = (await pool.call("GET", "nodes?order=name&limit=2", user=ADMIN)).json()
        rest = (await pool.call("GET", f"nodes?order=name&limit=2&cursor={first['next']}", user=ADMIN)).json()
        assert [node["name"] for node in rest["items"]] == ["shed"]
        assert (first["total"], rest["total"], rest["next"]) == (3, 3, None)
        assert [node["owner_name"] for node in first["items"]][1] == "Bob"
        assert (await pool.call("GET", f"nodes?order=state&cursor={first['next']}", user=ADMIN)).status_code == 422
        assert (await pool.call("GET", "nodes?colour=red")).status_code == 422

        before = pool.db.statements
        await names(pool, "limit=1")
        one = pool.db.statements - before
        await names(pool, "limit=3")
        assert pool.db.statements - before == 2 * one

    play(hub_url, story)


def test_host_sees_what_runs_and_what_it_earns(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, gpus=(gpu(0),))
        await pool.submit(user=ALICE, resources={"gpu": "1"}, max_runtime="5h")
        work = await agent.take_offer()
        await agent.update(work, "running")
        agent.beat_on()
        await pool.settle(1800)
        node = (await pool.call("GET", f"nodes/{agent.node_id}", user=BOB)).json()
        assert [one["attempt_id"] for one in node["running"]] == [work.id]
        assert (node["running"][0]["gpus"], node["running"][0]["state"]) == ([gpu(0).id], "running")
        assert node["earned_today_micros"] == 0
        path = f"nodes/{agent.node_id}/attempts"
        now = (await pool.call("GET", f"{path}?running=true", user=BOB)).json()["items"][0]
        hour = now["price_micros"] * 8 // 10  # less the pool's fee
        assert now["gpus"] == [gpu(0).id]
        assert now["unsettled_micros"] == pytest.approx(hour / 2, rel=0.02)
        job = f"jobs/{work.manifest.job_id}"  # as the renter sees the same
        cost = (await pool.call("GET", job, user=ALICE)).json()["running_cost"]
        assert cost["per_hour_micros"] == now["price_micros"] < cost["held_micros"]
        assert cost["unbilled_micros"] == pytest.approx(now["price_micros"] / 2, rel=0.02)
        await agent.finish(work)
        await pool.settle(5)
        assert (await pool.call("GET", job, user=ALICE)).json()["running_cost"] is None
        assert (await pool.call("GET", f"{path}?running=true", user=BOB)).json()["total"] == 0
        ended = (await pool.call("GET", f"{path}?running=false", user=BOB)).json()["items"][0]
        assert ended["unsettled_micros"] == 0
        assert 0 < ended["earned_micros"] == pytest.approx(hour / 2, rel=0.02)
        node = (await pool.call("GET", f"nodes/{agent.node_id}", user=BOB)).json()
        assert (node["earned_today_micros"], node["running"]) == (ended["earned_micros"], [])

    play(sqlite_hub, story)


ROUTES = {
    "drain": ("POST", "/drain", None),
    "resume": ("POST", "/resume", None),
    "remove": ("POST", "/ban", None),
    "edit": ("PATCH", "", {"tags": ["other"]}),
    "price": ("PATCH", "", {"price": {"fixed_micros": CREDIT}}),
}


def test_actions_of_a_node_say_what_its_routes_do(sqlite_hub):
    """What is allowed is done; what is not is refused, or changes nothing because it was done before."""

    async def story(pool):
        def node_row(node_id):
            row = pool.rows(Node, id=node_id)[0]
            return row.state, row.drain_requested, row.tags, row.price_fixed_micros

        for prepare in ((), ("drain",), ("remove",)):
            for action, (method, path, body) in ROUTES.items():
                agent = await add_agent(pool)
                for step in prepare:
                    await pool.call("POST", f"nodes/{agent.node_id}{ROUTES[step][1]}")
                view = (await pool.call("GET", f"nodes/{agent.node_id}")).json()["actions"][action]
                before = node_row(agent.node_id)
                answer = await pool.call(method, f"nodes/{agent.node_id}{path}", body)
                changed = node_row(agent.node_id) != before
                assert view["allowed"] == changed, (prepare, action)
                assert answer.status_code == (200 if view["allowed"] else answer.status_code)
                assert view["allowed"] or answer.status_code == 409 or not changed
                assert bool(view["reason"]) != view["allowed"]
                if answer.status_code == 409:
                    assert answer.json()["error"]["message"] == view["reason"]

    play(sqlite_hub, story)


def test_price_of_a_node_cannot_be_set_where_money_is_off(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        node = (await pool.call("GET", f"nodes/{agent.node_id}")).json()
        assert (node["actions"]["price"], node["earned_today_micros"]) == (None, None)
        answer = await pool.call("PATCH", f"nodes/{agent.node_id}", {"price": {"fixed_micros": 1}})
        assert answer.json()["error"]["code"] == "money_off"

    play(sqlite_hub, story, settings={"money": "off"})


def test_join_token_shows_its_lines_its_nodes_and_can_be_revoked(sqlite_hub):
    async def story(pool):
        made = (await pool.call("POST", "nodes/join-tokens", {"uses": 2})).json()
        assert [one["platform"] for one in made["commands"]] == ["linux", "macos", "windows"]
        assert all(made["token"] in one["join"] and one["install"] and one["note"] for one in made["commands"])
        assert made["commands"][0]["join"].startswith("computepool join http://hub.test --token ")
        assert made["warning"] is None
        await pool.settle()
        agent = await add_agent(pool, name="attic")  # with a token of its own, for one machine
        listed = (await pool.call("GET", "nodes/join-tokens")).json()
        used, unused = listed["items"]
        assert (used["state"], [one["name"] for one in used["nodes"]]) == ("used_up", ["attic"])
        assert used["nodes"][0]["id"] == agent.node_id
        assert (unused["id"], unused["state"], unused["uses_left"], unused["nodes"]) == (made["id"], "open", 2, [])
        assert listed["total"] == 2
        assert "token" not in unused

        path = f"nodes/join-tokens/{made['id']}"
        assert (await pool.call("DELETE", path, user=BOB)).json()["error"]["code"] == "no_such_join_token"
        assert (await pool.call("GET", "nodes/join-tokens", user=BOB)).json()["items"] == []
        for _ in range(2):
            revoked = (await pool.call("DELETE", path)).json()
            assert (revoked["state"], revoked["actions"]["revoke"]["allowed"]) == ("revoked", False)
        assert (await pool.call("GET", "nodes/join-tokens?usable=true")).json()["items"] == []
        request = enrol_request(Ed25519PrivateKey.generate(), made["token"]).model_dump(mode="json")
        refusal = await pool.call("POST", "nodes/enroll", request, user=None)
        assert refusal.json()["error"]["code"] == "bad_join_token"

    play(sqlite_hub, story)
