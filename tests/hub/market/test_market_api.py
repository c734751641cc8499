"""Prices on a running hub: who sets them, when they count, and who sees what."""

import asyncio
import json
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import insert
from support.engine import ADMIN, ALICE, BOB, play
from support.fleets import gpu, make_node
from support.scripted_agent import MEASURED, add_agent, enrol_request, measure

from computepool.hub.core.tables import AuditRow
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.market.repository import POINTS_LIMIT, prune_points
from computepool.hub.market.spot import Segment, Spot, Use
from computepool.hub.market.tables import MarketSetting, SpotPoint
from computepool.hub.nodes.benchmarks import hardware_digest, save_benchmark
from computepool.hub.scheduling.market_clock import REPRICED_AT_ONCE
from computepool.protocol.messages import Availability

CREDIT = 1_000_000
CAROL = "user_carol"
CARD = {"resources": {"gpu": "rtx-4090"}}
WANTS_SIMULATED = {"where": {"tags": ["simulated"]}}


async def answer(pool, method: str, path: str, body: object = None, *, user: str | None = ALICE, status: int = 200):
    got = await pool.call(method, path, body, user=user)
    assert got.status_code == status, got.text
    return got.json()


def node_of(pool, agent):
    node = pool.engine.scheduler.fleet.get(agent.node_id)
    assert node is not None
    return node


# ── hosts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_host_sets_a_floor_or_a_fixed_price_and_takes_it_back(hub_url):
    async def story(pool):
        agent = await add_agent(pool, gpus=(gpu(0),), country="US")
        path = f"nodes/{agent.node_id}"
        shown = await answer(pool, "GET", path)
        assert shown["price"] is None
        assert shown["ask"]["gpu_micros"] == shown["ask"]["suggested_gpu_micros"] == 30 * CREDIT
        shown = await answer(pool, "PATCH", path, {"price": {"floor_micros": 45 * CREDIT}})
        assert shown["price"] == {"per": "gpu", "floor_micros": 45 * CREDIT, "fixed_micros": None}
        assert shown["ask"]["gpu_micros"] == 45 * CREDIT
        assert shown["ask"]["suggested_gpu_micros"] == 30 * CREDIT
        shown = await answer(pool, "PATCH", path, {"price": {"fixed_micros": 0}})
        assert shown["ask"]["gpu_micros"] == 0
        shown = await answer(pool, "PATCH", path, {"name": "other"})
        assert shown["price"]["fixed_micros"] == 0
        await pool.restart()
        await agent.connect()
        assert node_of(pool, agent).traits.ask.gpu_micros == 0
        shown = await answer(pool, "PATCH", path, {"price": None})
        assert shown["price"] is None
        assert node_of(pool, agent).traits.ask.gpu_micros == 30 * CREDIT

    play(hub_url, story)


@pytest.mark.parametrize(
    ("price", "said"),
    [
        ({"floor_micros": -1}, "has to be at least 0"),
        ({"fixed_micros": 10**13}, "has to be at most"),
        ({"floor_micros": 1, "fixed_micros": 1}, "one of them"),
        ({}, "one of them"),
        ({"floor_micros": 1.5}, "is not a whole number"),
        ({"floor_micros": "1"}, "is not a whole number"),
        ({"flor_micros": 1}, "is not known here"),
        ({"floor_micros": 1, "per": "node"}, "gpu"),
        (7, "object"),
    ],
)
def test_senseless_prices_are_refused_in_words(sqlite_hub, price, said):
    async def story(pool):
        agent = await add_agent(pool, gpus=(gpu(0),))
        refused = await answer(pool, "PATCH", f"nodes/{agent.node_id}", {"price": price}, status=422)
        assert said in json.dumps(refused)

    play(sqlite_hub, story)


def test_a_node_without_gpus_has_its_price_for_a_core(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, country="US")
        shown = await answer(pool, "PATCH", f"nodes/{agent.node_id}", {"price": {"floor_micros": 2 * CREDIT}})
        assert shown["price"]["per"] == "core"
        assert shown["ask"]["core_micros"] == 2 * CREDIT
        assert shown["ask"]["gpu_micros"] is None

    play(sqlite_hub, story)


def test_a_machine_that_was_reinstalled_keeps_its_price(sqlite_hub):
    async def story(pool):
        old = await add_agent(pool, gpus=(gpu(0),), country="US")
        await answer(pool, "PATCH", f"nodes/{old.node_id}", {"price": {"floor_micros": 45 * CREDIT}})
        token = (await answer(pool, "POST", "nodes/join-tokens", {}, status=201))["token"]
        request = enrol_request(Ed25519PrivateKey.generate(), token, replace=old.node_id, capacity=old.capacity)
        made = await answer(pool, "POST", "nodes/enroll", request.model_dump(mode="json"), user=None, status=201)
        shown = await answer(pool, "GET", f"nodes/{made['node_id']}")
        assert shown["price"]["floor_micros"] == 45 * CREDIT
        assert shown["ask"]["gpu_micros"] == 45 * CREDIT

    play(sqlite_hub, story)


def test_only_the_owner_sets_a_price(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB)
        await answer(pool, "PATCH", f"nodes/{agent.node_id}", {"price": {"fixed_micros": 0}}, status=404)

    play(sqlite_hub, story)


# ── leases ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_price_is_locked_by_the_lease_whatever_the_host_asks_later(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="IN")
        job_id = await pool.submit(**CARD)
        await agent.take_offer()
        await answer(pool, "PATCH", f"nodes/{agent.node_id}", {"price": {"fixed_micros": 999 * CREDIT}}, user=BOB)
        job = await answer(pool, "GET", f"jobs/{job_id}")
        attempt = job["slices"][0]["attempts"][0]
        assert attempt["price_micros"] == 21 * CREDIT
        assert attempt["price"]["region"] == "IN"
        assert attempt["price"]["tier_millis"] == 3000
        assert pool.rows(Attempt)[0].price_micros == 21 * CREDIT
        assert node_of(pool, agent).traits.ask.gpu_micros == 999 * CREDIT

    play(hub_url, story)


def test_ones_own_node_is_free(sqlite_hub):
    async def story(pool):
        await add_agent(pool, gpus=(gpu(0),), country="US")
        job_id = await pool.submit(max_price=0, **CARD)
        attempt = (await pool.job(job_id)).slices[0].attempts[0]
        assert (attempt.price_micros, attempt.price) == (0, {"own": True, "per": "gpu"})

    play(sqlite_hub, story)


def test_a_job_waits_where_everything_is_above_its_ceiling_and_runs_when_the_host_comes_down(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        job_id = await pool.submit(max_price=25, **CARD)
        assert (await pool.job(job_id)).state == "queued"
        why = await answer(pool, "GET", f"jobs/{job_id}/why")
        assert "price" in json.dumps(why)
        await answer(pool, "PATCH", f"nodes/{agent.node_id}", {"price": {"fixed_micros": 25 * CREDIT}}, user=BOB)
        assert (await agent.take_offer()).manifest.job_id == job_id

    play(sqlite_hub, story)


def test_a_silent_job_gets_a_ceiling_of_a_quarter_more_than_was_quoted(hub_url):
    async def story(pool):
        await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        first = await pool.submit(**CARD)
        assert (await pool.job(first)).ceiling_micros == 38 * CREDIT  # 30 · 1.25 = 37.5, rounded up to two digits
        second = await pool.submit(**CARD)  # nothing is free to quote from: the most that the pool would suggest
        assert (await pool.job(second)).ceiling_micros == 75 * CREDIT
        third = await pool.submit(max_price=31, **CARD)
        assert (await pool.job(third)).ceiling_micros == 31 * CREDIT
        mine = await pool.submit(where={"trust": "mine"}, **CARD)
        assert (await pool.job(mine)).ceiling_micros is None
        await pool.restart()
        briefs = pool.engine.scheduler.briefs
        assert [briefs[one].requirements.max_price_micros for one in (first, second, third, mine)] == [
            38 * CREDIT,
            75 * CREDIT,
            31 * CREDIT,
            None,
        ]

    play(hub_url, story)


def test_jobs_alike_share_a_line_though_spot_moved_a_little(sqlite_hub):
    async def story(pool):
        await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        segment = Segment("3.0", "US")
        ceilings = set()
        for millis in (1000, 1010):
            pool.engine.book.spots[segment] = Spot(millis / 1000, 0.6, millis)
            pool.engine.book._asks.clear()
            await pool.engine.market.reprice()
            quoted = await answer(pool, "POST", "market/quote", {"run": "true", **CARD})
            ceilings.add(quoted["ceiling_micros"])
        assert ceilings == {38 * CREDIT}

    play(sqlite_hub, story)


def test_a_price_that_a_host_made_up_is_paid_only_by_who_says_so(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        await answer(pool, "PATCH", f"nodes/{agent.node_id}", {"price": {"fixed_micros": 10**12}}, user=BOB)
        silent = await pool.submit(**CARD)
        assert (await pool.job(silent)).state == "queued"
        willing = await pool.submit(max_price=1_000_000, max_runtime="1h", **CARD)
        assert (await pool.job(willing)).state == "running"

    play(sqlite_hub, story)


# ── quotes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_quote_says_the_price_the_most_and_the_nodes(sqlite_hub):
    async def story(pool):
        dear = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        cheap = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="IN")
        await add_agent(pool, owner=BOB, country="US")
        await add_agent(pool, owner=BOB, simulated=True)
        spec = {"run": "true", "max_runtime": "30m", **CARD}
        quoted = await answer(pool, "POST", "market/quote", spec)
        assert quoted["price_micros"] == 21 * CREDIT
        assert quoted["ceiling_micros"] == 27 * CREDIT  # 26.25, rounded up
        assert quoted["ceiling_basis"] == "quote"
        assert quoted["now_micros"] == 10.5 * CREDIT
        assert quoted["at_most_micros"] == 13.5 * CREDIT
        assert quoted["begin_micros"] == 1.05 * CREDIT  # three minutes of it
        assert (quoted["nodes_total"], quoted["feasible"], quoted["free_now"]) == (4, 1, 1)
        assert {one["gate"]: one["removed"] for one in quoted["gates"]} == {"simulated": 1, "gpu": 1, "price": 1}
        assert [one["node_id"] for one in quoted["nodes"]] == [cheap.node_id]
        assert BOB not in json.dumps(quoted)
        more = await answer(pool, "POST", "market/quote", {**spec, "max_price": 40})
        assert [one["node_id"] for one in more["nodes"]] == [cheap.node_id, dear.node_id]
        assert (more["ceiling_basis"], more["at_most_micros"]) == ("spec", 20 * CREDIT)

    play(sqlite_hub, story)


def test_quote_without_a_command_tells_what_it_costs_and_whether_it_can_begin(sqlite_hub):
    async def story(pool):
        pickers = {"max_runtime": "2h", "slices": 3, **CARD}
        empty = await answer(pool, "POST", "market/quote", pickers)
        assert (empty["begin"]["code"], empty["begin"]["allowed"], empty["start"]) == ("no_node", False, None)
        agents = [await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US") for _ in range(2)]
        quoted = await answer(pool, "POST", "market/quote", pickers)
        assert quoted["actions"]["submit"] == {
            "allowed": False,
            "reason": "The spec does not say yet what to run.",
        }
        assert {one["code"]: one["micros"] for one in quoted["cost"]} == {
            "slice_hour": 30 * CREDIT,
            "all_now": 3 * 2 * 30 * CREDIT,
            "fee": 36 * CREDIT,
            "set_aside": quoted["begin"]["needed_micros"],
            "ceiling": 38 * CREDIT,
            "at_most": 3 * 2 * 38 * CREDIT,
        }
        assert quoted["cost"][1]["label"] == "3 slices × 2h at current prices"
        assert quoted["begin"]["allowed"]
        assert (quoted["start"], quoted["slices_now"]) == ("2 of 3 slices now; the others when room is free.", 2)

        spec = {"run": "true", **pickers}
        ready = await answer(pool, "POST", "market/quote", spec)
        assert ready["actions"]["submit"] == {"allowed": True, "reason": None}
        poor = await answer(pool, "POST", "market/quote", {**spec, "slices": 1}, user=CAROL)
        assert (poor["begin"]["code"], poor["start"]) == ("credits", None)
        assert poor["begin"]["available_micros"] == 0
        assert poor["begin"]["missing_micros"] == poor["begin"]["needed_micros"] > 30 * CREDIT
        assert "are missing" in poor["begin"]["reason"]
        assert poor["actions"]["submit"]["allowed"]
        await pool.call("PUT", f"admin/limits/{ALICE}", {"hourly_micros": 10 * CREDIT}, user=ADMIN)
        limited = await answer(pool, "POST", "market/quote", spec)
        assert limited["begin"]["code"] == "limit"
        assert limited["begin"]["reason"].startswith("You may spend 10 credits an hour")
        await pool.call("PUT", f"admin/limits/{ALICE}", {}, user=ADMIN)
        small = await answer(pool, "POST", "market/quote", {**spec, "budget": 1})
        assert small["begin"]["code"] == "budget"
        assert "Raise `budget`, or set `max_runtime` to 2m or less" in small["begin"]["reason"]
        lost = await answer(pool, "POST", "market/quote", {**spec, "inputs": {"a": "artifact_none"}})
        assert lost["actions"]["submit"]["allowed"] is False

        # Nothing fits: the gates in words, and what would help.
        never = await answer(pool, "POST", "market/quote", {"resources": {"memory": "500GB"}})
        assert never["summary"] == "None of the 2 nodes can ever run it as it is specified."
        assert [(one["gate"], one["removed"]) for one in never["gates"]] == [("memory", 2)]
        assert never["gates"][0]["detail"] == "less than 500GB of memory"
        assert never["suggestions"][0].startswith("memory: 500GB → ")
        assert never["relaxations"][0]["free_now"]
        for _ in agents:
            await pool.submit(user=ALICE, **CARD)
        busy = await answer(pool, "POST", "market/quote", spec)
        assert (busy["begin"]["code"], busy["start"], busy["free_now"]) == ("busy", None, 0)
        text = "resources: {cpus: 1}\nverify: {replicas: 2}\ndeterministic: true\n"
        headers = {"Content-Type": "application/yaml"}
        in_yaml = await pool.call("POST", "market/quote", content=text, headers=headers)
        assert in_yaml.json()["cost"][1]["label"] == "1 slice × 2 replicas × 1d at current prices"

    play(sqlite_hub, story)


def test_quote_of_many_slices_is_for_all_the_nodes_that_they_would_go_to(sqlite_hub):
    """The cheapest node has room for one of them: it does not keep the others from the rest of the pool."""

    async def story(pool):
        await add_agent(pool, owner=BOB, gpus=(gpu(0), gpu(1)), country="US", cpus=8)
        cheap = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="IN")
        await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        mad = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        await answer(pool, "PATCH", f"nodes/{mad.node_id}", {"price": {"fixed_micros": 900 * CREDIT}}, user=BOB)
        spec = {"run": "true", "max_runtime": "30m", **CARD}
        many = await answer(pool, "POST", "market/quote", {**spec, "slices": 3})
        assert (many["price_micros"], many["ceiling_micros"], many["feasible"]) == (21 * CREDIT, 38 * CREDIT, 3)
        assert many["now_micros"] == (21 + 30 + 30) * CREDIT / 2
        assert many["at_most_micros"] == 3 * 38 * CREDIT / 2
        beyond = await answer(pool, "POST", "market/quote", {**spec, "slices": 1000})
        assert beyond["ceiling_micros"] == 38 * CREDIT  # and not what somebody made up
        assert beyond["now_micros"] == (21 + 999 * 30) * CREDIT / 2
        job = await pool.submit(slices=3, user=ALICE, **CARD)
        shown = await answer(pool, "GET", f"jobs/{job}")
        assert shown["ceiling_micros"] == 38 * CREDIT
        assert shown["counts"] == {"running": 3}
        assert {one["attempts"][0]["node_id"] for one in shown["slices"]} >= {cheap.node_id}

    play(sqlite_hub, story)


def test_node_that_asks_for_nothing_does_not_bind_the_job_to_itself(sqlite_hub):
    async def story(pool):
        gift = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        await answer(pool, "PATCH", f"nodes/{gift.node_id}", {"price": {"fixed_micros": 0}}, user=BOB)
        quoted = await answer(pool, "POST", "market/quote", {"run": "true", **CARD})
        assert (quoted["price_micros"], quoted["now_micros"], quoted["feasible"]) == (0, 0, 2)
        assert (quoted["ceiling_basis"], quoted["ceiling_micros"]) == ("list", 75 * CREDIT)
        nothing = await answer(pool, "POST", "market/quote", {"run": "true", "max_price": 0, **CARD})
        assert (nothing["ceiling_micros"], nothing["feasible"]) == (0, 1)

    play(sqlite_hub, story)


def test_quote_counts_ones_own_node_for_as_many_slices_as_it_holds(sqlite_hub):
    async def story(pool):
        await add_agent(pool, owner=ALICE, gpus=(gpu(0), gpu(1)), country="US", cpus=8)
        await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        quoted = await answer(pool, "POST", "market/quote", {"run": "true", "slices": 5, "max_runtime": "1h", **CARD})
        assert (quoted["own"], quoted["price_micros"]) == (True, 0)
        assert quoted["now_micros"] == 3 * 30 * CREDIT

    play(sqlite_hub, story)


def test_quote_on_ones_own_node_is_free_and_tells_the_price_elsewhere(sqlite_hub):
    async def story(pool):
        await add_agent(pool, gpus=(gpu(0),), country="US")
        await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        quoted = await answer(pool, "POST", "market/quote", {"run": "true", **CARD})
        assert (quoted["own"], quoted["price_micros"]) == (True, 0)
        assert quoted["elsewhere_micros"] == 30 * CREDIT
        assert quoted["ceiling_micros"] == 38 * CREDIT

    play(sqlite_hub, story)


def test_quote_without_a_node_says_so_and_stores_nothing(sqlite_hub):
    async def story(pool):
        quoted = await answer(pool, "POST", "market/quote", {"run": "true", **CARD})
        assert quoted["price_micros"] is None
        assert (quoted["ceiling_basis"], quoted["ceiling_micros"]) == ("list", 75 * CREDIT)
        assert pool.rows(Job) == []
        await answer(pool, "POST", "market/quote", {"rum": "true"}, status=422)
        await answer(pool, "POST", "market/quote", {"run": "true"}, user=None, status=401)

    play(sqlite_hub, story)


# ── offers ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_offers_are_public_and_tell_nothing_of_owners(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, name="bobs-secret-lair", gpus=(gpu(0), gpu(1)), country="DE", cpus=8)
        await add_agent(pool, owner=BOB, gpus=(gpu(0),), simulated=True)
        page = await answer(pool, "GET", "market/offers", user=None)
        assert [one["node_id"] for one in page["items"]] == [agent.node_id]
        assert (page["total"], page["next"], page["simulated"]) == (1, None, 1)
        offer = page["items"][0]
        assert offer["price_micros"] == 28_500_000
        assert (offer["gpus"], offer["gpus_free"], offer["region"]) == (["rtx-4090", "rtx-4090"], 2, "EU")
        assert BOB not in json.dumps(page)
        assert "lair" not in json.dumps(page)

    play(sqlite_hub, story)


def test_nodes_that_take_no_strangers_are_not_offered(sqlite_hub):
    async def story(pool):
        from computepool.protocol.states import IsolationLevel

        await add_agent(pool, isolation=(IsolationLevel.PROCESS,))
        await add_agent(pool, connect=False)
        assert (await answer(pool, "GET", "market/offers", user=None))["items"] == []

    play(sqlite_hub, story)


# ── the pool's tables ────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_admin_edits_the_tables_and_every_version_is_kept(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        shown = await answer(pool, "GET", "admin/market/tiers", user=ADMIN)
        assert (shown["version"], shown["history"]) == (0, [])
        value = shown["value"] | {"cards": {**shown["value"]["cards"], "rtx-4090": 3500}}
        changed = await answer(pool, "PUT", "admin/market/tiers", {"value": value, "version": 0}, user=ADMIN)
        assert changed["value"]["cards"]["rtx-4090"] == 3500
        assert changed["history"][0]["changed_by"] == ADMIN
        assert node_of(pool, agent).traits.ask.gpu_micros == 35 * CREDIT
        stale = await pool.call("PUT", "admin/market/tiers", {"value": value, "version": 0}, user=ADMIN)
        assert stale.status_code == 409
        audit = next(row for row in pool.rows(AuditRow) if row.action == "market.table_changed")
        assert (audit.actor, audit.subject) == (ADMIN, "market/tiers")
        assert audit.details["old"]["cards"]["rtx-4090"] == 3000
        assert audit.details["new"]["cards"]["rtx-4090"] == 3500
        again = await answer(pool, "PUT", "admin/market/tiers", {"value": value}, user=ADMIN)
        assert again["version"] == changed["version"]  # nothing changed, so nothing is noted
        await pool.restart()
        assert node_of(pool, agent).traits.ask.gpu_micros == 35 * CREDIT
        assert len(pool.rows(MarketSetting)) == 1

    play(hub_url, story)


def test_tables_are_for_admins_alone(sqlite_hub):
    async def story(pool):
        for method, body in (("GET", None), ("PUT", {"value": {}})):
            await answer(pool, method, "admin/market/regions", body, status=403)
            await answer(pool, method, "admin/market/regions", body, user=None, status=401)
        await answer(pool, "GET", "admin/market/nonsense", user=ADMIN, status=422)
        bad = await answer(pool, "PUT", "admin/market/rates", {"value": {"base_micros": -1}}, user=ADMIN, status=422)
        assert bad["error"]["fields"][0]["field"] == "base_micros"

    play(sqlite_hub, story)


def test_regions_are_imported_from_csv_and_count_at_once(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="DE")
        path = "admin/market/regions/import"
        assert node_of(pool, agent).traits.ask.gpu_micros == 28_500_000
        shown = await answer(pool, "POST", path, {"csv": "country,factor\nDE,0.8\n"}, user=ADMIN)
        assert node_of(pool, agent).traits.ask.gpu_micros == 24 * CREDIT
        assert {"name": "DE", "countries": ["DE"], "factor_millis": 800} in shown["value"]["items"]
        assert "IN" in {one["name"] for one in shown["value"]["items"]}
        wrong = await answer(pool, "POST", path, {"csv": "DE,0.8\nXX,1\n"}, user=ADMIN, status=422)
        assert "line 2" in wrong["error"]["message"]
        only = await answer(pool, "POST", path, {"csv": "FR,0.9", "replace": True}, user=ADMIN)
        assert [one["name"] for one in only["value"]["items"]] == ["FR"]
        assert node_of(pool, agent).traits.ask.gpu_micros == 30 * CREDIT
        await answer(pool, "POST", path, {"csv": "FR,0.9"}, status=403)

    play(hub_url, story)


def test_admin_hears_of_countries_without_a_region(sqlite_hub):
    async def story(pool):
        await add_agent(pool, country="BR")
        await asyncio.sleep(61)
        shown = await answer(pool, "GET", "admin/market/regions", user=ADMIN)
        assert shown["notices"] == ["1 node in BR, which is in no region: the factor 1.0 is used"]

    play(sqlite_hub, story)


# ── spot ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_spot_follows_use_is_drawn_and_outlives_a_restart(hub_url):
    async def story(pool):
        agents = [
            await add_agent(pool, owner=BOB, cpus=8, gpus=tuple(gpu(index) for index in range(20)), country="US")
            for _ in range(2)
        ]
        for agent in agents:
            agent.beat_on()
            await measure(agent)
            await pool.submit(resources={"gpu": "rtx-4090:20"})
        await asyncio.sleep(3 * 3600)
        book, segment = pool.engine.book, Segment("3.0", "US")
        before = book.spot_millis(segment)
        assert before > 1500
        assert node_of(pool, agents[0]).traits.ask.gpu_micros == 30 * before * 1000
        shown = await answer(pool, "GET", "market/prices?history=24h&tier=3.0&region=US", user=None)
        assert shown["items"][0]["spot"] == before / 1000
        assert shown["items"][0]["utilisation"] == 1.0
        spots = [point["spot"] for point in shown["history"]]
        assert len(spots) >= 15
        assert spots == sorted(spots)
        assert len(pool.rows(SpotPoint, tier="3.0", hourly=True)) in (3, 4)
        await pool.restart()
        assert pool.engine.book.spot_millis(segment) == pytest.approx(before, abs=70)
        for agent in agents:
            agent.stop_beating()

    play(hub_url, story)


def test_history_that_is_cut_says_so(sqlite_hub):
    async def story(pool):
        now = pool.clock.now()
        point = {"region": "US", "simulated": False, "spot_millis": 1000, "level_millis": 1000, "use_millis": 500}
        point |= {"busy": 1, "total": 2, "hourly": False}

        def add(session, tier, count):
            at = [now - timedelta(seconds=count - number) for number in range(count)]
            session.execute(insert(SpotPoint), [{**point, "tier": tier, "at": one} for one in at])

        await pool.db.run(add, "3.0", POINTS_LIMIT)
        shown = await answer(pool, "GET", "market/prices?history=24h", user=None)
        assert (len(shown["history"]), shown["history_cut"]) == (POINTS_LIMIT, False)
        await pool.db.run(add, "2.5", 1)
        shown = await answer(
            pool, "GET", "market/prices?history=1d", user=None
        )  # the other answer is kept for a second
        assert (len(shown["history"]), shown["history_cut"]) == (POINTS_LIMIT, True)
        assert shown["history"][-1]["tier"] == "2.5"
        shown = await answer(pool, "GET", "market/prices?history=24h&tier=2.5", user=None)
        assert (len(shown["history"]), shown["history_cut"]) == (1, False)

    play(sqlite_hub, story)


def test_an_examination_gives_an_unknown_card_its_tier_within_a_minute(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, gpus=(gpu(0, "nobody-knows-9"),), country="US")
        assert node_of(pool, agent).traits.ask.gpu_micros == 10 * CREDIT
        devices = [{"device": "gpu-0", **MEASURED, "gflops": 40_000.0}]
        await pool.db.run(
            save_benchmark,
            agent.node_id,
            mark="matches",
            words="",
            tier_millis=3000,
            tier_basis="measured",
            hardware=hardware_digest(agent.capacity),
            figures={"devices": devices, "line": {}},
            now=pool.clock.now(),
        )
        await asyncio.sleep(61)
        assert node_of(pool, agent).traits.ask.gpu_micros == 30 * CREDIT
        assert node_of(pool, agent).traits.gpu_gflops == 40_000
        await pool.restart()
        assert node_of(pool, agent).traits.ask.gpu_micros == 30 * CREDIT

    play(sqlite_hub, story)


def test_a_large_fleet_is_priced_in_pieces(sqlite_hub):
    async def story(pool):
        market, fleet = pool.engine.market, pool.engine.scheduler.fleet
        for number in range(3 * REPRICED_AT_ONCE):
            fleet.put(make_node(f"node_{number}", owner_id=BOB, country="US", gpus=(gpu(0),)))
        work = asyncio.create_task(market.reprice())
        breaths = 0
        while not work.done():
            breaths += 1
            await asyncio.sleep(0)
        assert breaths >= 3
        assert {node.traits.ask.gpu_micros for node in fleet} == {30 * CREDIT}

    play(sqlite_hub, story)


def test_what_the_owner_keeps_is_no_part_of_the_market(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, gpus=(gpu(0), gpu(1)), country="US", cpus=8)
        await measure(agent)
        node, segment = node_of(pool, agent), Segment("3.0", "US")
        for left, expected in (
            (Availability(), Use(0, 2)),
            (Availability(gpus_in_use=("gpu-0",)), Use(0, 1)),
            (Availability(strangers=False), Use(0, 0)),
        ):
            node.availability = left
            await pool.engine.market.tick()
            assert pool.engine.book.used[segment] == expected

    play(sqlite_hub, story)


def test_capacity_that_is_only_claimed_is_no_part_of_the_market(sqlite_hub):
    async def story(pool):
        book, cpu, card = pool.engine.book, Segment("cpu", "US"), Segment("3.0", "US")
        cards = tuple(gpu(index) for index in range(64))
        claims = await add_agent(pool, name="claims", owner=BOB, country="US", cpus=4096, gpus=cards)
        await pool.engine.market.tick()
        assert book.used == {}
        assert node_of(pool, claims).traits.ask.gpu_micros == 30 * CREDIT, "its card has the price of the table"
        honest = await add_agent(pool, name="honest", owner=BOB, country="US", cpus=8, gpus=(gpu(0),))
        await measure(honest)
        assert (book.used[cpu], book.used[card]) == (Use(0, 8000), Use(0, 1))
        await measure(claims, core_gflops=40 / 4096)  # as fast as eight cores; its cards are what they say
        assert (book.used[cpu], book.used[card]) == (Use(0, 16_000), Use(0, 65))
        pretends = await add_agent(pool, name="pretends", owner=BOB, country="US", cpus=4, simulated=True)
        await pool.engine.market.tick()
        assert book.used[Segment("cpu", "US", simulated=True)] == Use(0, 4000), pretends.node_id

    play(sqlite_hub, story)


def test_what_runs_on_claimed_capacity_moves_no_price(sqlite_hub):
    async def story(pool):
        cards = tuple(gpu(index) for index in range(40))
        agent = await add_agent(pool, owner=BOB, gpus=cards, country="US", cpus=64)
        agent.beat_on()
        await pool.submit(resources={"gpu": "rtx-4090:40"})
        await asyncio.sleep(3 * 3600)
        agent.stop_beating()
        assert pool.engine.book.spot_millis(Segment("3.0", "US")) == 1000

    play(sqlite_hub, story)


def test_old_points_are_thinned_and_then_forgotten(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        agent.beat_on()
        await measure(agent)
        await asyncio.sleep(2 * 3600)
        agent.stop_beating()
        assert len(pool.rows(SpotPoint, tier="3.0", hourly=False)) > 5
        now = pool.clock.now()
        assert await pool.db.run(prune_points, now + timedelta(days=1), 1000) == 0
        assert await pool.db.run(prune_points, now + timedelta(days=3), 2) == 2  # never more than it was asked for
        await pool.db.run(prune_points, now + timedelta(days=3), 1000)
        assert pool.rows(SpotPoint, hourly=False) == []
        assert pool.rows(SpotPoint, tier="3.0", hourly=True)
        await pool.db.run(prune_points, now + timedelta(days=91), 1000)
        assert pool.rows(SpotPoint) == []

    play(sqlite_hub, story)


# ── earnings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_earnings_say_that_there_is_no_data_where_there_is_none(sqlite_hub):
    async def story(pool):
        shown = await answer(pool, "GET", "market/earnings?gpu=RTX%204090&country=in&tariff=8", user=None)
        card = shown["items"][0]
        assert (card["gpu"], card["price_micros"], card["fee_bps"]) == ("rtx-4090", 21 * CREDIT, 2000)
        assert (card["utilisation"], card["utilisation_basis"]) == (None, "no data")
        assert card["per_day"] is None
        assert card["full_day"]["gross_micros"] == 24 * 21 * CREDIT
        every = await answer(pool, "GET", "market/earnings", user=None)
        assert len(every["items"]) == 10
        for wrong in ("country=Mars", "tariff=-1", "tariff=much", "power_watts=-1", "utilisation=2", "gpu=!!"):
            await answer(pool, "GET", f"market/earnings?{wrong}", user=None, status=422)

    play(sqlite_hub, story)


def test_earnings_use_what_was_measured_in_this_pool(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, gpus=(gpu(0), gpu(1)), country="US")
        agent.beat_on()
        await measure(agent)
        await pool.submit(**CARD)
        await asyncio.sleep(2 * 3600)
        agent.stop_beating()
        shown = await answer(pool, "GET", "market/earnings?gpu=rtx-4090&country=US&tariff=8&power_watts=400")
        card = shown["items"][0]
        assert card["utilisation"] == pytest.approx(0.5, abs=0.1)
        assert card["utilisation_basis"] == "measured"
        day = card["per_day"]
        assert day["net_micros"] == day["gross_micros"] - day["fee_micros"] - day["power_micros"]
        elsewhere = await answer(pool, "GET", "market/earnings?gpu=rtx-4090&country=IN")
        assert elsewhere["items"][0]["utilisation_basis"] == "measured elsewhere"

    play(sqlite_hub, story)


def test_fee_is_the_operators_setting(sqlite_hub):
    async def story(pool):
        card = (await answer(pool, "GET", "market/earnings?gpu=rtx-4090&utilisation=1"))["items"][0]
        assert card["per_day"]["fee_micros"] * 10 == card["per_day"]["gross_micros"]

    play(sqlite_hub, story, settings={"platform_fee_bps": 1000})


# ── what makes no sense ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "path", ["market/offers?card=rtx-4090", "market/prices?regoin=EU", "market/earnings?card=rtx-4090&country=IN"]
)
def test_a_parameter_that_nobody_knows_is_an_error_and_not_dropped(sqlite_hub, path):
    async def story(pool):
        said = (await answer(pool, "GET", path, user=None, status=422))["error"]
        name = path.partition("?")[2].partition("=")[0]
        assert said["message"] == f"There is no parameter '{name}' here."
        assert "Known are " in said["hint"]

    play(sqlite_hub, story)


def test_a_node_stands_in_a_country_that_there_is_or_in_none_that_is_known(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, gpus=(gpu(0),), country="US")
        path = f"nodes/{agent.node_id}"
        for code, said in (("UK", "is GB meant?"), ("ZZ", "not an ISO 3166"), ("de", "two capital letters")):
            refused = await answer(pool, "PATCH", path, {"country": code}, status=422)
            assert said in refused["error"]["fields"][0]["message"]
        shown = await answer(pool, "PATCH", path, {"country": "IN"})
        assert (shown["country"], shown["ask"]["region"], shown["ask"]["gpu_micros"]) == ("IN", "IN", 21 * CREDIT)
        shown = await answer(pool, "PATCH", path, {"name": "attic"})
        assert shown["country"] == "IN"
        shown = await answer(pool, "PATCH", path, {"country": None})
        assert (shown["country"], shown["ask"]["region"]) == (None, "elsewhere")

    play(sqlite_hub, story)


def test_a_node_without_gpus_has_no_price_of_a_gpu(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, country="US")
        path, wrong = f"nodes/{agent.node_id}", {"price": {"fixed_micros": 5, "per": "gpu"}}
        said = (await answer(pool, "PATCH", path, wrong, status=422))["error"]
        assert said["message"] == "This node has no GPU that could have a price."
        shown = await answer(pool, "PATCH", path, {"price": {"fixed_micros": 5}})
        assert (shown["price"]["per"], shown["ask"]["core_micros"]) == ("core", 5)

    play(sqlite_hub, story)


def test_absurd_tables_make_prices_that_can_be_stored(hub_url):
    """Each factor is within its own bounds; their product is more than a database's integer holds."""

    async def story(pool):
        agent = await add_agent(pool, owner=ADMIN, gpus=(gpu(0),), country="US")
        region = {"name": "US", "countries": ["US"], "factor_millis": 20_000}
        for name, value in (
            ("tiers", {"cards": {"rtx-4090": 10**6}}),
            ("regions", {"items": [region]}),
            ("rates", {"base_micros": 10**12, "spot_most_millis": 20_000}),
        ):
            await answer(pool, "PUT", f"admin/market/{name}", {"value": value}, user=ADMIN)
        assert node_of(pool, agent).traits.ask.gpu_micros == 10**12
        waiting = await pool.submit(resources={"gpu": "rtx-4090:64"}, max_runtime="30d", user=BOB)
        running = await pool.submit(**CARD, max_runtime="1h", user=BOB)
        assert (await answer(pool, "GET", f"jobs/{waiting}", user=BOB))["ceiling_micros"] == 80 * 10**12
        shown = await answer(pool, "GET", f"jobs/{running}", user=BOB)
        assert shown["slices"][0]["attempts"][0]["price_micros"] == 10**12

    play(hub_url, story)


def test_earnings_of_every_card_cost_one_look_at_the_past(sqlite_hub):
    async def story(pool):
        await pool.settle(1)
        before = pool.db.statements
        found = (await answer(pool, "GET", "market/earnings?country=IN", user=None))["items"]
        assert len(found) == 10
        assert pool.db.statements - before < 5  # the hub's own looks are among them

    play(sqlite_hub, story)
