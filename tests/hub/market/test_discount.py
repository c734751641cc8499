"""What a slice pays that may lose its slot: the operator decides, and what is leased keeps its price."""

from support.engine import ADMIN, BOB, play
from support.fleets import gpu
from support.scripted_agent import add_agent

from computepool.hub.core.tables import AuditRow
from computepool.hub.market.requirements import Requirements
from computepool.hub.market.tables import MarketSetting
from computepool.hub.scheduling.catalogue import unit_ceiling

CREDIT = 1_000_000
SOFT = {"resources": {"gpu": "rtx-4090"}, "preemptible": True, "max_price": 40}
RATES = "admin/market/rates"


async def set_percent(pool, percent):
    value = (await pool.call("GET", RATES, user=ADMIN)).json()["value"]
    changed = await pool.call("PUT", RATES, {"value": value | {"preemptible_percent": percent}}, user=ADMIN)
    assert changed.status_code == 200, changed.text
    return changed.json()


def test_the_discount_counts_from_the_next_lease_on_and_is_kept(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, gpus=(gpu(0), gpu(1), gpu(2)), country="US", cpus=8)
        await pool.submit(**SOFT)
        first = await agent.take_offer()
        changed = await set_percent(pool, 50)
        await pool.submit(**SOFT)
        second = await agent.take_offer()
        assert pool.attempt(first.id).price_micros == 21 * CREDIT, "what is leased keeps its price"
        assert pool.attempt(first.id).price["preemptible_percent"] == 70
        assert pool.attempt(second.id).price_micros == 15 * CREDIT
        assert pool.attempt(second.id).price["preemptible_percent"] == 50
        assert (await pool.call("GET", "market/prices", user=None)).json()["preemptible_percent"] == 50
        assert changed["history"][0]["changed_by"] == ADMIN
        audit = next(row for row in pool.rows(AuditRow) if row.action == "market.table_changed")
        assert audit.details["old"]["preemptible_percent"] == 70
        await pool.restart()
        await agent.connect()
        await pool.submit(**SOFT)
        third = await agent.take_offer()
        assert pool.attempt(third.id).price_micros == 15 * CREDIT

    play(hub_url, story)


def test_rates_that_were_kept_before_there_was_a_discount_to_set_go_on(sqlite_hub):
    async def story(pool):
        value = {"base_micros": 10 * CREDIT, "spot_least_millis": 500, "spot_most_millis": 2000}
        row = {"name": "rates", "value": value, "changed_by": ADMIN, "changed_at": pool.clock.now()}
        await pool.db.run(lambda session: session.add(MarketSetting(**row)))
        await pool.restart()
        shown = (await pool.call("GET", RATES, user=ADMIN)).json()
        assert shown["value"]["preemptible_percent"] == 70
        again = await pool.call("PUT", RATES, {"value": shown["value"]}, user=ADMIN)
        assert again.json()["version"] == shown["version"], "nothing changed"

    play(sqlite_hub, story)


def test_a_ceiling_that_only_the_new_discount_meets_is_met_at_once(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        job_id = await pool.submit(**SOFT | {"max_price": 10})
        await pool.settle(5)
        assert (await pool.job(job_id)).state == "queued"
        await set_percent(pool, 30)
        work = await agent.take_offer()
        assert pool.attempt(work.id).price_micros == 9 * CREDIT

    play(sqlite_hub, story)


def test_a_ceiling_is_the_most_that_a_node_may_ask():
    needs = Requirements(owner_id="user_a", cpu_millis=1000, memory_bytes=0, disk_bytes=0, preemptible=True)
    assert unit_ceiling(needs, 700, 70) == 1000
    assert unit_ceiling(needs, 700, 100) == 700
