"""Bugs put in on purpose into prices: each check must find its own, or it proves nothing."""

import pytest
from support.engine import BOB, play
from support.fleets import gpu
from support.planted import each_check, each_mutant
from support.scripted_agent import add_agent

from computepool.hub.jobs.brief import with_ceiling
from computepool.hub.market import spot
from computepool.hub.market.book import Book
from computepool.hub.market.spot import Bounds, Spot, Use
from computepool.hub.scheduling import quotes, scheduler
from computepool.hub.scheduling.market_clock import MarketClock

CREDIT = 1_000_000
CARD = {"resources": {"gpu": "rtx-4090"}}


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def lease_keeps_its_price(pool):
    agent = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="IN")
    job_id = await pool.submit(**CARD)
    await agent.take_offer()
    change = {"price": {"fixed_micros": 999 * CREDIT}}
    assert (await pool.call("PATCH", f"nodes/{agent.node_id}", change, user=BOB)).status_code == 200
    await pool.engine.market.reprice()
    assert (await pool.job(job_id)).slices[0].attempts[0].price_micros == 21 * CREDIT


async def nobody_pays_above_the_ceiling(pool):
    agent = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
    asked = await pool.submit(max_price=29, **CARD)
    assert (await pool.job(asked)).state == "queued"
    change = {"price": {"fixed_micros": 10**12}}
    assert (await pool.call("PATCH", f"nodes/{agent.node_id}", change, user=BOB)).status_code == 200
    silent = await pool.submit(max_runtime="1h", **CARD)
    assert (await pool.job(silent)).state == "queued"


async def ceiling_outlives_the_hub(pool):
    await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
    job_id = await pool.submit(max_runtime="1h", **CARD)
    before = pool.engine.scheduler.briefs[job_id].requirements
    await pool.restart()
    assert pool.engine.scheduler.briefs[job_id].requirements == before


async def node_that_comes_back_asks_what_it_asked(pool):
    agent = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
    change = {"price": {"floor_micros": 50 * CREDIT}}
    assert (await pool.call("PATCH", f"nodes/{agent.node_id}", change, user=BOB)).status_code == 200
    await agent.disconnect()
    await agent.connect()
    assert pool.engine.scheduler.fleet.get(agent.node_id).traits.ask.gpu_micros == 50 * CREDIT
    await pool.restart()
    assert pool.engine.scheduler.fleet.get(agent.node_id).traits.ask.gpu_micros == 50 * CREDIT


async def storm_moves_spot_gently(_pool):
    level = Spot()
    for _ in range(30):
        moved = level.step(Use(100, 100), 60, Bounds())
        assert abs(moved.level - level.level) <= 0.01
        level = moved
    assert level.step(Use(0, 500), -3600, Bounds()) == level


# ── mutants ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def price_is_not_kept(monkeypatch):
    monkeypatch.setattr(scheduler, "hourly_price", lambda needs, ask, own: 0)


def ceilings_are_not_asked_for(monkeypatch):
    monkeypatch.setattr(
        "computepool.hub.engine.with_its_ceiling", lambda fleet, book, brief: (with_ceiling(brief, None), None)
    )


def quotes_have_no_bound(monkeypatch):
    monkeypatch.setattr(Book, "list_ceiling", lambda self, needs: 10**15)


def ceilings_are_not_stored(monkeypatch):
    whole = quotes.with_its_ceiling
    monkeypatch.setattr("computepool.hub.engine.with_its_ceiling", lambda *given: (whole(*given)[0], None))


def handshake_forgets_the_price(monkeypatch):
    whole = Book.appraise

    def forgetful(self, traits, capacity):
        self.set_host_price(traits.node_id, None)
        return whole(self, traits, capacity)

    monkeypatch.setattr(Book, "appraise", forgetful)


def start_forgets_the_prices(monkeypatch):
    async def nothing(self):
        """Loads nothing."""

    monkeypatch.setattr(MarketClock, "load", nothing)


def spot_jumps(monkeypatch):
    monkeypatch.setattr(spot, "PACE_PER_HOUR", 1e9)


def spot_takes_a_clock_that_went_back_for_time(monkeypatch):
    whole = Spot.step
    monkeypatch.setattr(Spot, "step", lambda self, now, seconds, bounds: whole(self, now, abs(seconds), bounds))


MUTANTS = {
    lease_keeps_its_price: [price_is_not_kept],
    nobody_pays_above_the_ceiling: [ceilings_are_not_asked_for, quotes_have_no_bound],
    ceiling_outlives_the_hub: [ceilings_are_not_stored],
    node_that_comes_back_asks_what_it_asked: [handshake_forgets_the_price, start_forgets_the_prices],
    storm_moves_spot_gently: [spot_jumps, spot_takes_a_clock_that_went_back_for_time],
}


@each_check(MUTANTS)
def test_check_holds(sqlite_hub, check):
    play(sqlite_hub, check)


@each_mutant(MUTANTS)
def test_mutant_is_found(sqlite_hub, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        play(sqlite_hub, check)
