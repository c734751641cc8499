"""The memory is a projection: whatever happened, rebuilding it from the truth gives the same."""

import random

import pytest
from support.engine import play
from support.proofs import figure
from support.scripted_agent import add_agent

from computepool.hub.scheduling import memory
from computepool.hub.scheduling.scheduler import Scheduler
from computepool.protocol.messages import Offer
from computepool.protocol.receipt import EndReason


def picture(scheduler):
    """What decides, of a scheduler's memory."""
    return {
        "queue": sorted(
            (one.key, one.fence, one.attempts, one.avoid, one.retry_at, one.brief.requirements)
            for one in scheduler.queue
        ),
        "briefs": sorted(scheduler.briefs.values(), key=lambda brief: brief.job_id),
        "nodes": sorted(
            (
                node.traits.node_id,
                node.traits.cpu_millis,
                (node.free.cpu_millis, node.free.memory_bytes, node.free.disk_bytes),
                [gpu.id for gpu in node.free.gpus],
                sorted((held.attempt_id, held.fence, held.job_id, held.grant) for held in node.attempts.values()),
            )
            for node in scheduler.fleet
        ),
    }


async def rebuilt(pool):
    engine = pool.engine
    fresh = Scheduler(engine.context, engine.keyring, lambda brief, saved: {}, lambda attempt_id: None)
    for node in await pool.db.read(memory.load_fleet, pool.clock.monotonic()):
        fresh.fleet.put(node)
    fresh.restore(*await pool.db.read(memory.load_queue))
    return fresh


async def live_randomly(pool, rng, steps):
    agents = [await add_agent(pool, name=f"n{i}", cpus=rng.choice([2, 4])) for i in range(3)]
    jobs = []
    for _ in range(steps):
        agent = rng.choice(agents)
        connected = agent.pipe is not None
        if connected and agent.unread(Offer):
            await agent.take_offer()
        work = rng.choice(list(agent.works.values())) if agent.works and connected else None
        match rng.randrange(9):
            case 0 | 1:
                jobs.append(
                    await pool.submit(
                        slices=rng.choice([1, 1, 3]),
                        retries=rng.randrange(3),
                        priority=rng.randrange(-1, 2),
                        resources={"cpus": rng.choice([0.5, 1, 2])},
                    )
                )
            case 2 if jobs:
                await pool.cancel(rng.choice(jobs))
            case 3 | 4 if work:
                await agent.update(work, rng.choice(["preparing", "running"]))
            case 5 | 6 if work:
                code, reason = rng.choice([(0, "exited"), (1, "exited"), (None, "sandbox"), (None, "canceled")])
                await agent.finish(work, exit_code=code, reason=EndReason(reason))
            case 7 if work:
                await agent.gone(work)
            case 8:
                if connected:
                    await agent.disconnect()
                else:
                    await agent.connect()
        await pool.settle(rng.choice([0.1, 3.0, 40.0]))


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(figure(3, 100)))
def test_rebuilt_memory_is_the_live_one(sqlite_hub, seed):
    async def story(pool):
        await live_randomly(pool, random.Random(seed), 60)
        await pool.settle()
        assert picture(await rebuilt(pool)) == picture(pool.engine.scheduler)

    play(sqlite_hub, story)


def test_rebuilt_memory_is_the_live_one_on_postgresql_too(postgres_hub):
    async def story(pool):
        await live_randomly(pool, random.Random(99), 60)
        await pool.settle()
        assert picture(await rebuilt(pool)) == picture(pool.engine.scheduler)

    play(postgres_hub, story)


def test_restarted_hub_goes_on_with_what_waited_and_in_order(hub_url):
    async def story(pool):
        jobs = [await pool.submit(resources={"cpus": 2}, priority=p) for p in (0, 5, 0)]
        await pool.restart()
        agent = await add_agent(pool)
        order = [(await agent.run_next()).manifest.job_id for _ in range(3)]
        assert order == [jobs[1], jobs[0], jobs[2]]

    play(hub_url, story)
