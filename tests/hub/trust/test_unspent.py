"""What a renter spent on an answer that was wrong counts as not spent: in the database, and in memory."""

from support.checked_work import CAROL, DAVE, add_agents, answer
from support.engine import BOB, play

from computepool.hub.jobs.spending import Spending

TWICE = {"deterministic": True, "verify": {"replicas": 2}, "outputs": ["out"]}


def spent_by(pool):
    """In the database, and in the scheduler's memory."""
    truly = {row.owner_id: row.micros for row in pool.rows(Spending)}
    month = pool.clock.now().date().replace(day=1)
    return truly, {owner_id: pool.engine.scheduler.limits.spent(owner_id, month) for owner_id in truly}


def test_outvoted_answer_counts_as_not_spent_in_memory_too(sqlite_hub):
    async def story(pool):
        bob, carol = await add_agents(pool, BOB, CAROL)
        await pool.submit(**TWICE)
        await answer(bob, b"wrong", seconds=100.0)
        before, remembered = spent_by(pool)
        assert remembered == before
        assert sum(before.values()) > 0
        await answer(carol)
        (dave,) = await add_agents(pool, DAVE)
        await answer(dave)
        await pool.settle(120)  # until it is given back
        after, remembered = spent_by(pool)
        assert remembered == after
        assert sum(after.values()) < sum(before.values())

    play(sqlite_hub, story)
