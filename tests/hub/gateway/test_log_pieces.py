"""Logs that were not sealed when their attempts ended are sealed later: after a loss, or a crash."""

import pytest
from support.engine import play
from support.memory_store import MemoryStore
from support.scripted_agent import add_agent

from computepool.hub.engine import TIDY_SECONDS
from computepool.protocol.timing import REQUEUE_AFTER_SECONDS


def objects_of(store, work):
    return len(store.list(f"logs/{work.id}/"))


async def printed(agent, lines):
    work = await agent.take_offer()
    for number in range(lines):
        await agent.write_log(work, b"line %d\n" % number)
    return work


def test_log_of_a_lost_attempt_is_sealed_within_the_hour(sqlite_hub):
    store = MemoryStore()

    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit()
        work = await printed(agent, 20)
        agent.vanish()
        await pool.settle(REQUEUE_AFTER_SECONDS + 10)
        assert pool.attempt(work.id).state == "lost"
        assert work.id not in pool.engine.logs._logs  # it holds no memory
        assert objects_of(store, work) == 20
        await pool.settle(TIDY_SECONDS + 60)
        assert objects_of(store, work) == 1
        assert await pool.engine.logs.read(work.id, 0) == b"".join(b"line %d\n" % number for number in range(20))

    play(sqlite_hub, story, store=store)


@pytest.mark.parametrize("down_seconds", [1, 10 * 3600])
def test_seal_that_a_crash_cut_off_is_repeated_after_the_start(hub_url, down_seconds):
    store = MemoryStore()

    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit()
        work = await printed(agent, 20)

        async def never(log):
            raise ConnectionError("the process ended here")

        pool.engine.logs._seal = never
        await agent.finish(work)
        await pool.settle(1)
        assert pool.attempt(work.id).state == "succeeded"
        assert objects_of(store, work) == 20
        await pool.restart(down_seconds=down_seconds)
        await pool.settle(5)
        assert objects_of(store, work) == 1
        assert not pool.engine.logs._logs

    play(hub_url, story, store=store)


def test_attempt_that_was_taken_back_goes_on_writing_and_is_sealed_at_its_end(sqlite_hub):
    store = MemoryStore()

    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(max_runtime="4h")
        work = await printed(agent, 5)
        agent.vanish()
        await pool.settle(REQUEUE_AFTER_SECONDS + 10)
        assert pool.attempt(work.id).state == "lost"
        await agent.connect()
        agent.beat_on()
        await pool.settle(TIDY_SECONDS + 60)
        for number in range(5, 10):
            await agent.write_log(work, b"line %d\n" % number)
        await agent.finish(work)
        await pool.settle(1)
        assert objects_of(store, work) == 1
        assert await pool.engine.logs.read(work.id, 0) == b"".join(b"line %d\n" % number for number in range(10))

    play(sqlite_hub, story, store=store)
