"""What everybody sees of a pool: the map and its changes, who did most, and the figures of the landing page."""

from datetime import timedelta
from typing import Any

import pytest
from support.asgi_socket import connected
from support.engine import ADMIN, ALICE, BOB, play
from support.fleets import gpu
from support.scripted_agent import add_agent, measure

from computepool.hub.accounts.handles import give_handle
from computepool.hub.accounts.public_names import read_public_name
from computepool.hub.accounts.tables import User
from computepool.hub.core.errors import Invalid
from computepool.hub.figures.rollups import DailyFigures
from computepool.hub.figures.work import total
from computepool.hub.market.tables import SpotPoint
from computepool.protocol.capacity import HouseRules

CAROL = ADMIN
CARD = {"resources": {"gpu": "rtx-4090"}}
HOUR = 3600
CREDIT = 1_000_000


async def answer(pool, path, user=None, status=200):
    got = await pool.call("GET", path, user=user)
    assert got.status_code == status, got.text
    return got.json()


def add_users(session, now):
    for user_id in (BOB, CAROL):
        session.add(User(id=user_id, email=f"{user_id}@test", name=user_id, role="user", created_at=now))
        give_handle(session, user_id, now)


async def run_for(pool, agent, seconds, *, renter=ALICE, ok=True, **spec):
    await pool.submit(user=renter, **spec)
    work = await agent.take_offer()
    await agent.update(work, "running")
    agent.beat_on()
    await pool.settle(seconds)
    agent.stop_beating()
    await agent.finish(work, **({} if ok else {"exit_code": 1}))
    await pool.settle()


def cells(found):
    return {(one["country"], one["tier"], one["state"], one["simulated"]): (one["nodes"], one["busy"]) for one in found}


# ── the map ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_map_counts_nodes_of_every_state_and_tells_what_changes(sqlite_hub):
    async def story(pool):
        card = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="DE")
        plain = await add_agent(pool, owner=BOB, country="IN")
        await add_agent(pool, owner=BOB, connect=False)
        await add_agent(pool, owner=BOB, country="DE", simulated=True)
        for agent in (card, plain):
            agent.beat_on()
        found = await answer(pool, "map")
        assert cells(found["cells"]) == {
            ("DE", "3.0", "online", False): (1, 0),
            ("IN", "cpu", "online", False): (1, 0),
            (None, "cpu", "offline", False): (1, 0),
            ("DE", "cpu", "online", True): (1, 0),
        }
        assert (found["countries"], found["nodes"], found["simulated"]) == (2, 3, 1)
        app = pool.client._transport.app
        async with connected(app, "/api/v1/public/events?map=true", {}) as socket:
            assert (await socket.receive())["type"] == "public"
            first = await socket.receive()
            assert first["whole"]
            assert first["cells"] == found["cells"]
            await pool.call("POST", f"nodes/{plain.node_id}/drain", user=BOB)
            await pool.submit(**CARD)
            seen: list[Any] = []
            while not seen or seen[-1]["type"] != "map":
                seen.append(await socket.receive())
            assert not seen[-1]["whole"]
            changed = cells(seen[-1]["cells"])
            assert changed[("IN", "cpu", "online", False)] == (0, 0)
            assert changed[("IN", "cpu", "draining", False)] == (1, 0)
            await pool.call("POST", f"nodes/{card.node_id}/ban", user=BOB)
            while seen[-1]["type"] != "map" or cells(seen[-1]["cells"]).get(("DE", "3.0", "online", False)) != (0, 0):
                seen.append(await socket.receive())
        assert "node_" not in (await pool.call("GET", "map", user=None)).text

    play(sqlite_hub, story)


# ── the leaderboard, and the figures ─────────────────────────────────────────────────────────────────────────────────


def test_leaderboard_names_those_who_asked_for_it_and_sums_up_the_others(hub_url):
    async def story(pool):
        await pool.db.run(add_users, pool.clock.now())
        bobs = await add_agent(pool, owner=BOB, gpus=(gpu(0), gpu(1)), country="DE")
        await run_for(pool, bobs, HOUR, resources={"gpu": "rtx-4090:2"})
        await run_for(pool, bobs, HOUR, ok=False, **CARD)
        await bobs.disconnect()
        carols = await add_agent(pool, owner=CAROL, country="IN", cpus=4)
        await run_for(pool, carols, HOUR / 2, resources={"cpus": 2})
        await run_for(pool, carols, HOUR, renter=CAROL)  # her own: it counts for nobody
        await pool.settle(30)

        found = await answer(pool, "leaderboard?period=7d")
        assert found["items"] == []
        assert found["others"] == found["total"]
        assert (found["total"]["gpu_hours"], found["total"]["core_hours"]) == (pytest.approx(2, abs=0.01), 1.0)
        assert (found["total"]["attempts"], found["total"]["slices"]) == (2, 2)
        assert found["total"]["earned_micros"] > 0

        taken = await pool.call("PATCH", "me", {"public_name": "Bob's  garage"}, user=BOB)
        assert taken.status_code == 422
        shown = await pool.call("PATCH", "me", {"public_name": " gpu-Garage "}, user=BOB)
        assert shown.json()["public_name"] == "gpu-Garage"
        taken = await pool.call("PATCH", "me", {"public_name": "GPU.garage"}, user=CAROL)
        assert (taken.status_code, taken.json()["error"]["code"]) == (409, "public_name_taken")
        assert (await pool.call("PATCH", "me", {"country": "DE"}, user=BOB)).json()["public_name"] == "gpu-Garage"
        await pool.settle(2)
        found = await answer(pool, "leaderboard")
        [first] = found["items"]
        assert (first["place"], first["name"], first["work"]["attempts"]) == (1, "gpu-Garage", 1)
        assert (found["others"]["attempts"], found["others"]["gpu_hours"]) == (1, 0.0)
        assert BOB not in str(found)

        stats = await answer(pool, "stats")
        assert (stats["jobs_today"], stats["jobs_done"], stats["countries"]) == (4, 3, 1)
        assert stats["gpu_hours"] == pytest.approx(2, abs=0.01)
        assert stats["earned_by_hosts_micros"] == found["total"]["earned_micros"]
        assert stats["paid_to_hosts_micros"] == 0
        assert stats["gpu_prices"][0] == {"gpu": "rtx-4090", "tier": "3.0", "from_micros": None, "offers": 0}

        # Nine days later, in this hub and in one that just started.
        work = pool.engine.figures.now.work["all"]
        assert total(work.values()).attempts == 2
        pool.clock.wall_error_seconds += 9 * 24 * HOUR
        for figures in (pool.engine.figures, DailyFigures(pool.engine.context)):
            await figures.tick()
            assert figures.now.work["30d"] == figures.now.work["all"] == work
            assert figures.now.work["7d"] == {}
            assert (figures.now.done.jobs, figures.now.done.simulated_jobs, figures.now.today.jobs) == (3, 0, 0)
        pool.clock.wall_error_seconds = 0.0
        await pool.engine.figures.tick()

        assert (await pool.call("PATCH", "me", {"public_name": None}, user=BOB)).json()["public_name"] is None
        await pool.settle(2)
        assert (await answer(pool, "leaderboard"))["items"] == []

    play(hub_url, story)


@pytest.mark.parametrize(
    "name",
    ["ab", "x" * 33, "<b>bob</b>", "bob\u202ecilbup", "b\u200bob the host", "аdmin", "Admin", "o-t-h-e-r-s", "-bob",
     "a  b", "bob\nbob", "\x00bob", "a..b", "pаypal", "👑👑👑"],
)  # fmt: skip
def test_deceitful_public_names_are_refused(name):
    with pytest.raises(Invalid):
        read_public_name(name)


@pytest.mark.parametrize("name", ["Ada", "gpu-garage.42", "Zoë Müller", "计算池用户", "Иван 7", "東京ラボ", "देवनागरी"])
def test_names_of_all_scripts_are_taken(name):
    assert read_public_name(name) == name


# ── one node ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_node_is_shown_to_everybody_also_while_it_is_away(sqlite_hub):
    async def story(pool):
        await pool.db.run(add_users, pool.clock.now())
        agent = await add_agent(pool, owner=BOB, name="bobs-bedroom", gpus=(gpu(0),), country="US")
        await measure(agent)
        path = f"market/nodes/{agent.node_id}"
        found = await answer(pool, path)
        assert (found["state"], found["takes_work"], found["busy"], found["gpus_free"]) == ("online", True, False, 1)
        assert [card["slug"] for card in found["gpus"]] == ["rtx-4090"]
        assert found["gpus"][0]["gflops"] > 0
        assert (found["price"]["per"], found["price"]["price_micros"]) == ("gpu", 30 * CREDIT)
        assert found["price"]["per_tflops_micros"] > 0
        assert [one["share"] for one in found["record"]["uptime"]] == [pytest.approx(1, abs=0.01)]
        assert (found["owner_name"], found["record"]["audited"]) == (None, {"ok": 0, "wrong": 0})

        def add_points(session):
            for hours, spot in ((26, 1000), (25, 1500), (1, 1000)):
                at = pool.clock.now() - timedelta(hours=hours)
                same = {"tier": "3.0", "region": "US", "simulated": False, "hourly": True, "busy": 0, "total": 1}
                session.add(SpotPoint(at=at, spot_millis=spot, level_millis=spot, use_millis=0, **same))

        await pool.db.run(add_points)
        await pool.call("PATCH", f"nodes/{agent.node_id}", {"price": {"floor_micros": 40 * CREDIT}}, user=BOB)
        await pool.call("PATCH", "me", {"public_name": "Bob 7"}, user=BOB)
        agent.beat_on()
        await pool.submit(**CARD)
        await pool.settle(2)
        found = await answer(pool, path)
        assert (found["busy"], found["gpus_free"], found["owner_name"]) == (True, 0, "Bob 7")
        assert found["price"]["price_micros"] == 40 * CREDIT
        # The floor is newer than the points.
        days = [(one["minimum_micros"], one["average_micros"], one["maximum_micros"]) for one in found["price_history"]]
        assert days == [(30 * CREDIT, 37_500_000, 45 * CREDIT), (30 * CREDIT,) * 3]
        told = str(found)
        assert not [secret for secret in (BOB, "bobs-bedroom", "@test") if secret in told]

        await agent.disconnect()
        await pool.settle(120)
        found = await answer(pool, path)
        assert (found["state"], found["takes_work"]) == ("offline", False)
        private = await add_agent(pool, owner=BOB, country="NZ", connect=False)
        closed = private.capacity.model_copy(update={"rules": HouseRules(strangers=False)})
        await private.connect(proof={"capacity": closed})
        await answer(pool, f"market/nodes/{private.node_id}", status=404)
        assert "NZ" not in (await pool.call("GET", "map", user=None)).text, "where private machines are is told nobody"
        await answer(pool, "market/nodes/node_nobody", status=404)
        await pool.call("POST", f"nodes/{agent.node_id}/ban", user=BOB)
        await pool.settle(6)
        await answer(pool, path, status=404)

    play(sqlite_hub, story)
