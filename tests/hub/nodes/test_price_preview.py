"""What a price would mean, before it is set; and which events of a node's record can be contested."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from support.engine import BOB, play
from support.fleets import gpu
from support.scripted_agent import add_agent

from computepool.hub.reputation.uptime import by_day
from computepool.hub.scheduling.price_preview import bars_of

CREDIT = 1_000_000


def test_host_sees_where_a_price_would_stand_and_what_it_would_earn(sqlite_hub):
    async def story(pool):
        node = await add_agent(pool, gpus=(gpu(0), gpu(1)))
        for price in (10, 20, 20, 40):
            other = await add_agent(pool, owner=BOB, gpus=(gpu(0),))
            body = {"price": {"fixed_micros": price * CREDIT}}
            await pool.call("PATCH", f"nodes/{other.node_id}", body, user=BOB)
        await add_agent(pool, owner=BOB)  # without a card: not comparable
        await pool.settle(30)
        path = f"nodes/{node.node_id}/price-preview"
        preview = (await pool.call("GET", f"{path}?price_micros={20 * CREDIT}")).json()
        assert (preview["rank"], preview["offers"], preview["words"], preview["per"]) == (2, 5, "2nd of 5", "gpu")
        assert sum(bar["offers"] for bar in preview["histogram"]) == 4
        assert (preview["histogram"][0]["from_micros"], preview["histogram"][-1]["to_micros"]) == (10e6, 40e6)
        assert preview["full_day"]["net_micros"] == 2 * 24 * 16 * CREDIT  # less the pool's fifth
        dear = (await pool.call("GET", f"{path}?price_micros={50 * CREDIT}")).json()
        assert dear["words"] == "5th of 5"
        now = (await pool.call("GET", path)).json()
        assert now["price_micros"] == now["suggested_micros"] == now["current_micros"]
        assert (await pool.call("GET", path, user=BOB)).status_code == 404
        await pool.call("POST", f"nodes/{node.node_id}/ban")
        assert (await pool.call("GET", path)).status_code == 409

        reliability = (await pool.call("GET", f"nodes/{other.node_id}/reliability", user=BOB)).json()
        assert [day["share"] for day in reliability["uptime"]] == [1.0]

    play(sqlite_hub, story)


def test_bars_hold_every_price_once():
    assert bars_of([]) == []
    for prices in ([5], [5, 5], [1, 2], list(range(100)), [0, 10**12, 3], [7, 8, 8, 100]):
        bars = bars_of(prices)
        assert sum(bar.offers for bar in bars) == len(prices)
        assert (bars[0].from_micros, bars[-1].to_micros) == (min(prices), max(prices))
        assert all(one.to_micros == following.from_micros for one, following in pairwise(bars))


def test_uptime_by_day_counts_of_each_day_what_the_node_could_have_been_there():
    first, now = datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 1, 3, 6, tzinfo=UTC)
    days = {"2026-01-01": 6 * 3600.0, "2026-01-02": 24 * 3600.0}
    found = by_day(days, now - timedelta(hours=3), first, now)
    assert found == {date(2026, 1, 1): 0.5, date(2026, 1, 2): 1.0, date(2026, 1, 3): 0.5}
