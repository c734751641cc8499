"""Nodes that fail again and again, and nodes that hold less than they claim, in a real hub."""

from datetime import timedelta

import pytest
from sqlalchemy.orm import Session
from support.engine import ALICE, BOB, play
from support.scripted_agent import add_agent

from computepool.hub.core.tables import AuditRow
from computepool.hub.reputation import repository
from computepool.protocol.messages import Offer
from computepool.protocol.receipt import EndReason

BROKE = {"reason": EndReason.SANDBOX, "exit_code": None}
MINUTES = 60.0


def trouble(pool, agent):
    with Session(pool.db.engine) as session:
        return repository.find(session, agent.node_id).trouble


def standing(pool, agent):
    return pool.engine.scheduler.fleet.get(agent.node_id).traits.standing


async def quarantined(pool, agent, **fields):
    """Three slices of strangers broke there. They wait for another node."""
    for _ in range(3):
        await pool.submit(user=BOB, **fields)
        await agent.run_next(**BROKE)
    await pool.settle(3)
    assert standing(pool, agent).quarantined_until is not None


def test_a_node_that_fails_three_times_in_a_row_gets_no_strangers_work_and_then_one_probe(hub_url):
    async def story(pool):
        agent = await add_agent(pool, cpus=4)
        agent.beat_on()
        await quarantined(pool, agent)
        for _ in range(3):
            await pool.submit(user=BOB)
        await pool.settle(9 * MINUTES)
        assert agent.unread(Offer) == []
        await pool.settle(1.2 * MINUTES)
        assert len(agent.works) == 1  # one, though there is room for four
        probe = await agent.take_offer()
        await agent.update(probe, "running")
        await pool.settle(60)
        assert len(agent.works) == 1
        await agent.finish(probe)
        await pool.settle(5)
        assert len(agent.works) == 4
        assert trouble(pool, agent).until is None
        agent.stop_beating()

    play(hub_url, story)


def test_registry_that_is_down_closes_no_node_and_earns_it_nothing(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=4)
        before = standing(pool, agent)
        for _ in range(4):
            job = await pool.submit(user=BOB)
            await agent.finish(await agent.take_offer(), reason=EndReason.UNREACHABLE, exit_code=None)
            (one,) = (await pool.job(job, user=BOB)).slices
            # Nothing ran, so there is nothing to pay for.
            assert (one.attempts[0].verdict, one.attempts[0].started_at) == ("hub", None)
        assert standing(pool, agent) == before

    play(sqlite_hub, story)


def test_a_probe_that_fails_doubles_the_wait(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        agent.beat_on()
        await quarantined(pool, agent)
        await pool.settle(11 * MINUTES)
        await agent.run_next(**BROKE)
        await pool.settle(1)
        until = standing(pool, agent).quarantined_until
        assert until - pool.clock.now() == pytest.approx(timedelta(minutes=20), abs=timedelta(minutes=1))
        agent.stop_beating()

    play(sqlite_hub, story)


def test_a_probe_that_says_nothing_is_followed_by_another(sqlite_hub):
    """It ended by the renter's own doing: whether the node works is as open as before."""

    async def story(pool):
        agent = await add_agent(pool, cpus=4)
        agent.beat_on()
        await quarantined(pool, agent)
        await pool.settle(11 * MINUTES)
        await agent.run_next(exit_code=3)
        await pool.settle(5)
        assert len(agent.works) == 1
        await agent.run_next()
        await pool.settle(5)
        assert trouble(pool, agent).until is None
        agent.stop_beating()

    play(sqlite_hub, story)


def test_the_owners_own_jobs_take_no_notice_of_a_quarantine(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=ALICE)
        await quarantined(pool, agent)
        job_id = await pool.submit(user=ALICE)
        await agent.run_next()
        assert (await pool.job(job_id)).state == "succeeded"
        assert standing(pool, agent).quarantined_until is not None  # and say nothing of it

    play(sqlite_hub, story)


def test_a_pool_of_one_node_never_stands_still_for_ever(hub_url):
    """It breaks everything for a while, is kept away, and does all of it when it works again."""

    async def story(pool):
        agent = await add_agent(pool)
        agent.beat_on()
        jobs = [await pool.submit(user=BOB) for _ in range(3)]
        for _ in range(5):
            await agent.run_next(**BROKE)
            while not agent.unread(Offer):
                await pool.settle(30)
        for _ in jobs:
            await agent.run_next()
        assert {(await pool.job(job_id, user=BOB)).state for job_id in jobs} == {"succeeded"}
        agent.stop_beating()

    play(hub_url, story)


def test_a_quarantine_outlives_the_hub_and_ends_in_time(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        await quarantined(pool, agent)
        until = standing(pool, agent).quarantined_until
        await pool.restart()
        await agent.connect()
        agent.beat_on()
        assert standing(pool, agent).quarantined_until == until
        await pool.settle(11 * MINUTES)
        assert standing(pool, agent).quarantined_until is None
        assert standing(pool, agent).slots == 1
        assert len(agent.works) == 1
        agent.stop_beating()

    play(hub_url, story)


def test_why_says_so(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await quarantined(pool, agent)
        job_id = await pool.submit(user=BOB)
        (group,) = (await pool.call("GET", f"jobs/{job_id}/why", user=BOB)).json()["waiting"]
        assert "in quarantine after failing again and again" in group["summary"]
        assert [(one["gate"], one["removed"]) for one in group["gates"]] == [("reliability", 1)]

    play(sqlite_hub, story)


def test_another_node_does_the_work_meanwhile(sqlite_hub):
    async def story(pool):
        bad, good = await add_agent(pool, name="bad"), None
        await quarantined(pool, bad)
        good = await add_agent(pool, name="good", owner=ALICE)
        good.beat_on()
        await pool.settle(30)
        for _ in range(3):
            await good.run_next()
        assert bad.unread(Offer) == []
        good.stop_beating()

    play(sqlite_hub, story)


def test_a_node_that_claims_more_than_it_holds_gets_less_and_it_is_noted(hub_url):
    async def story(pool):
        agent = await add_agent(pool, cpus=8)
        agent.beat_on()
        await pool.submit(user=BOB, slices=8)
        works = [await agent.take_offer() for _ in range(8)]
        for work in works:
            await agent.update(work, "running")
        for work in works[:2]:
            await agent.finish(work, reason=EndReason.NODE_DISK, exit_code=None)
        await pool.settle(1)
        assert standing(pool, agent).slots == 3  # half of the seven that it had at the second strike
        noted = pool.rows(AuditRow, action="node.slots")
        assert [(row.details["slots"], row.details["peak"]) for row in noted] == [(3, 8)]
        view = (await pool.call("GET", f"nodes/{agent.node_id}")).json()
        assert view["reliability"]["slots"] == 3
        assert "for want of room with 8 at once" in view["notice"]
        for work in works[2:]:
            await agent.finish(work)
        await pool.submit(user=BOB, slices=8)
        await pool.settle(60)
        assert len(agent.works) == 3
        await pool.submit(user=ALICE, slices=2)
        await pool.settle(1)
        assert len(agent.works) == 5  # the owner's own are the owner's affair
        agent.stop_beating()

    play(hub_url, story)


def test_clean_work_gives_the_slots_back(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=2)
        agent.beat_on()
        await pool.submit(user=BOB, slices=2)
        for _ in range(2):  # each time with another beside it
            await pool.settle(10)
            work = await agent.take_offer()
            await agent.update(work, "running")
            await pool.settle(10)
            await agent.finish(work, **BROKE)
            await pool.settle(30)
        assert standing(pool, agent).slots == 1
        for _ in range(12):
            await pool.submit(user=BOB)
        for _ in range(10):
            await agent.run_next()
        await pool.settle(5)
        assert standing(pool, agent).slots is None
        assert len(agent.works) == 2
        agent.stop_beating()

    play(sqlite_hub, story)
