"""The engine as in production: transactions in threads, answers in whatever order they come."""

import asyncio

from support.engine import play_with_threads
from support.scripted_agent import add_agent
from support.waiting import async_eventually

from computepool.hub.jobs.tables import Attempt, Job

JOBS = 30


def test_many_jobs_at_once_each_run_once(hub_url):
    async def story(pool):
        agents = [await add_agent(pool, cpus=4, name=f"n{i}") for i in range(3)]

        async def work_on(agent):
            while True:
                await agent.run_next()

        workers = [asyncio.create_task(work_on(agent)) for agent in agents]
        jobs = await asyncio.gather(*(pool.submit(retries=1) for _ in range(JOBS)))
        canceled = await pool.cancel(await pool.submit(resources={"cpus": 64}))

        def all_succeeded():
            assert not any(worker.done() for worker in workers)
            return {row.state for row in pool.rows(Job) if row.id in jobs} == {"succeeded"}

        await async_eventually(all_succeeded, "all jobs succeed", every=0.02)
        for worker in workers:
            worker.cancel()
        assert canceled.state == "canceled"
        assert len(pool.rows(Attempt)) == JOBS
        scheduler = pool.engine.scheduler

        def memory_is_empty():
            free = [node.free.cpu_millis for node in scheduler.fleet]
            return (len(scheduler.queue), scheduler.briefs, free) == (0, {}, [4000] * 3)

        await async_eventually(memory_is_empty, "the scheduler forgets the jobs and frees their nodes")

    play_with_threads(hub_url, story)
