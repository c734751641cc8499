"""Nodes that decline are asked again later, each time twice as late; declining moves no reliability."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.orm import Session
from support.engine import ALICE, BOB, play
from support.scripted_agent import add_agent

from computepool.hub.core.tables import AuditRow
from computepool.hub.jobs.tables import Attempt
from computepool.hub.reputation import repository
from computepool.hub.reputation.declining import (
    FORGOTTEN_AFTER,
    LONGEST,
    NO_DECLINES,
    after_decline,
    in_words,
    length,
    not_asked_until,
)
from computepool.hub.scheduling.why import explain_job
from computepool.protocol.messages import Offer

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


# ── the rule ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_decline_closes_it_for_twice_as_long_up_to_a_limit():
    lengths = [length(count).total_seconds() for count in range(1, 9)]
    assert lengths == [10, 20, 40, 80, 160, 320, 640, 900]
    assert length(1_000) == LONGEST


def test_declines_of_what_was_offered_before_count_once():
    once = after_decline(NO_DECLINES, NOON)
    assert after_decline(once, NOON + timedelta(seconds=9)) == once
    again = after_decline(once, NOON + timedelta(seconds=10))
    assert (again.count, again.until) == (2, NOON + timedelta(seconds=30))


def test_decline_after_a_day_is_a_first_one():
    often = NO_DECLINES
    for _ in range(9):
        often = after_decline(often, often.until or NOON)
    assert often.count == 9
    assert often.until is not None
    later = after_decline(often, often.until + FORGOTTEN_AFTER + timedelta(seconds=1))
    assert later.count == 1


@given(st.lists(st.integers(-100_000, 100_000), max_size=50), st.integers(-(10**6), 10**6))
def test_however_the_clock_jumps_it_is_asked_again_within_the_longest(steps, look):
    declines, now = NO_DECLINES, NOON
    for step in steps:
        now += timedelta(seconds=step)
        declines = after_decline(declines, now)
    now = NOON + timedelta(seconds=look)
    until = not_asked_until(declines, now)
    assert until is None or now < until <= now + LONGEST
    assert bool(in_words(declines, now)) is (until is not None)


# ── in a pool ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def add_decliner(pool, is_willing=lambda: False, **facts):
    """Declines what it is offered, at once."""
    agent = await add_agent(pool, **facts)
    agent.serve(lambda work: agent.do(work) if is_willing() else agent.decline(work))
    return agent


def asked(agent):
    return sum(isinstance(command, Offer) for command in agent.commands)


def record_of(pool, agent):
    with Session(pool.db.engine) as session:
        return repository.find(session, agent.node_id)


def test_node_that_declines_is_asked_less_and_less_and_its_reliability_stays(hub_url):
    async def story(pool):
        agent = await add_decliner(pool)
        await pool.submit(user=BOB)
        await pool.settle(200)
        times = sorted(row.leased_at for row in pool.rows(Attempt))
        assert [round((later - earlier).total_seconds()) for earlier, later in pairwise(times)] == [10, 20, 40, 80]
        record = record_of(pool, agent)
        assert record.declines.count == 5
        assert record.evidence.total == 0
        assert record.trouble.streak == 0

    play(hub_url, story)


def test_slice_visits_a_declining_node_once_and_waits_for_another_that_could(sqlite_hub):
    async def story(pool):
        unwilling = await add_decliner(pool)
        honest = await add_agent(pool, name="honest", cpus=1)
        honest.beat_on()
        await pool.submit(user=BOB, where={"node": honest.node_id}, max_runtime="10m")
        blocker = await honest.take_offer()
        await honest.update(blocker, "running")
        job_id = await pool.submit(user=BOB)
        await pool.settle(500)
        assert asked(unwilling) == 1
        await honest.finish(blocker)
        await honest.run_next()
        assert (await pool.job(job_id, user=BOB)).state == "succeeded"

    play(sqlite_hub, story)


def test_pool_of_one_node_that_declined_goes_on_when_it_is_willing(sqlite_hub):
    async def story(pool):
        willing: list[bool] = []
        agent = await add_decliner(pool, is_willing=lambda: bool(willing))
        job_id = await pool.submit(user=BOB)
        await pool.settle(2 * LONGEST.total_seconds())
        willing.append(True)
        await pool.settle(LONGEST.total_seconds() + 60)
        assert (await pool.job(job_id, user=BOB)).state == "succeeded"
        assert record_of(pool, agent).declines == NO_DECLINES

    play(sqlite_hub, story)


def test_declines_outlive_the_hub(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(user=BOB)
        for _ in range(3):
            await agent.decline(await agent.take_offer())
        before = record_of(pool, agent).declines
        assert before.count == 3
        await pool.restart()
        await agent.connect()
        standing = pool.engine.scheduler.fleet.get(agent.node_id).traits.standing
        assert (record_of(pool, agent).declines, standing.declined_until) == (before, before.until)
        await pool.settle(30)
        assert agent.unread(Offer) == []
        await pool.settle(15)
        assert len(agent.unread(Offer)) == 1

    play(hub_url, story)


def test_owner_is_never_held_back_and_does_not_count(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=ALICE)
        await pool.submit(user=ALICE)
        await agent.decline(await agent.take_offer())
        assert record_of(pool, agent).declines == NO_DECLINES
        await pool.submit(user=BOB)
        await agent.decline(await agent.take_offer())
        assert record_of(pool, agent).declines.count == 1
        await pool.submit(user=ALICE)
        await pool.settle(1)
        assert len(agent.unread(Offer)) == 1

    play(sqlite_hub, story)


def test_why_and_the_owner_are_told(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit(user=BOB)
        for _ in range(2):
            await agent.decline(await agent.take_offer())
        await pool.settle(11)
        (group,) = await explain_job(pool.engine.context, pool.engine.scheduler, job_id)
        assert [gate.gate for gate in group.gates] == ["declines"]
        assert group.feasible == 1
        assert group.summary == (
            "1 node could run it, but declined what it was offered last, and is asked again later."
        )
        shown = (await pool.call("GET", f"nodes/{agent.node_id}")).json()
        assert shown["notice"].startswith("It declined offers 2 times in a row: it is offered work of others again at")
        assert shown["reliability"]["declines"] == 2
        assert shown["reliability"]["declined_until"] is not None
        offers = (await pool.call("GET", "market/offers", user=BOB)).json()
        assert offers["total"] == 0
        assert [row.details["count"] for row in pool.rows(AuditRow, action="node.declines")] == [1, 2]

    play(sqlite_hub, story)
