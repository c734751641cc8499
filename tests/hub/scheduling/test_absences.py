"""The platform pays for what was lost by the hub's own absence, and only if the hub knows of that absence itself."""

import pytest
from support.checkpoints import take
from support.engine import ADMIN, BOB, play
from support.scripted_agent import add_agent

from computepool.hub.ledger.accounts import Kind
from computepool.hub.ledger.journal import balances
from computepool.protocol.messages import LEASE_OVER, Holding

HOST = ADMIN


async def one_paid(pool):
    agent = await add_agent(pool, owner=HOST)
    agent.beat_on()
    await pool.submit(resources={"cpus": 2}, user=BOB)
    work = await take(agent)
    await pool.settle(600)
    agent.stop_beating()
    return agent, work


async def earned(pool):
    return (await pool.db.read(balances, HOST))[Kind.EARNINGS]


@pytest.mark.parametrize(("down_seconds", "is_paid"), [(5, False), (300, True)])
def test_node_that_does_not_come_back_is_paid_only_if_the_hub_was_long_away(hub_url, down_seconds, is_paid):
    """Else each restart would be a chance to be paid for nothing."""

    async def story(pool):
        _, work = await one_paid(pool)
        await pool.restart(down_seconds=down_seconds)
        await pool.settle(150)
        row = pool.attempt(work.id)
        assert (row.state, row.verdict, row.reason) == ("lost", "hub", "hub_downtime")
        assert (row.cost_micros, row.earned_micros > 0) == (0, is_paid)
        assert await earned(pool) == row.earned_micros

    play(hub_url, story)


@pytest.mark.parametrize(("down_seconds", "is_paid"), [(5, False), (300, True)])
def test_nodes_word_that_its_lease_was_over_is_compared_with_the_hubs_own_clock(sqlite_hub, down_seconds, is_paid):
    async def story(pool):
        agent, work = await one_paid(pool)
        await pool.restart(down_seconds=down_seconds)
        gone = Holding(attempt_id=work.id, fence=work.fence, state=work.state, gone=True)
        await agent.connect(holding=(gone,))
        await agent.gone(work, LEASE_OVER)
        await pool.settle(1)
        row = pool.attempt(work.id)
        assert (row.state, row.verdict, row.earned_micros > 0) == ("lost", "hub", is_paid)

    play(sqlite_hub, story)


def test_sleep_of_the_hubs_machine_is_an_absence(sqlite_hub):
    async def story(pool):
        agent, work = await one_paid(pool)
        agent.vanish()
        pool.clock.slept_seconds += 400
        await pool.settle(150)
        row = pool.attempt(work.id)
        assert (row.verdict, row.cost_micros, row.earned_micros > 0) == ("hub", 0, True)

    play(sqlite_hub, story)


def test_short_sleep_is_not_paid_for(sqlite_hub):
    async def story(pool):
        agent, work = await one_paid(pool)
        agent.vanish()
        pool.clock.slept_seconds += 40
        await pool.settle(200)
        row = pool.attempt(work.id)
        assert (row.state, row.cost_micros, row.earned_micros) == ("lost", 0, 0)

    play(sqlite_hub, story)
