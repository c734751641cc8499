"""Attempts whose ends come at the same moment share a transaction."""

import asyncio

from support.engine import play
from support.scripted_agent import add_agent
from support.waiting import patience

from computepool.hub.jobs import ending
from computepool.protocol.messages import ReportAck


async def crowd(pool, size, **fields):
    """Nodes that each run a slice of one job."""
    agents = [await add_agent(pool) for _ in range(size)]
    job_id = await pool.submit(slices=size, resources={"cpus": 2}, **fields)
    works = []
    for agent in agents:
        work = await agent.take_offer()
        await agent.update(work, "running")
        works.append((agent, work))
    return job_id, works


async def finish_at_once(pool, works):
    """The first is under way when the others come; then all get their answers."""
    messages = []
    with pool.db.held("end_attempt") as waits:
        for agent, work in works:
            messages.append((agent, agent.finished(work)))
            await agent.send(messages[-1][1])
            await asyncio.wait_for(waits.wait(), patience())
        await pool.settle()
    return [await agent.expect(ReportAck) for agent, _ in messages]


def listen(pool, calls, broken=False):
    real = pool.db.run

    async def run(fn, *args, **kwargs):
        if fn.__name__ in ("end_attempt", "end_attempts"):
            calls.append((fn.__name__, len(args[0]) if fn is ending.end_attempts else 1))
        if broken and fn is ending.end_attempts:
            raise OSError("a broken page")
        return await real(fn, *args, **kwargs)

    pool.db.run = run


def test_ends_that_come_while_one_is_written_are_written_together(hub_url):
    async def story(pool):
        job_id, works = await crowd(pool, 4)
        calls: list[tuple[str, int]] = []
        listen(pool, calls)
        acks = await finish_at_once(pool, works)
        assert [ack.attempt_id for ack in acks] == [work.id for _, work in works]
        assert calls == [("end_attempt", 1), ("end_attempts", 3)]
        assert (await pool.job(job_id)).state == "succeeded"
        assert all(not pool.engine.scheduler.fleet.get(agent.node_id).attempts for agent, _ in works)

    play(hub_url, story)


def test_group_that_fails_is_written_one_by_one(sqlite_hub):
    async def story(pool):
        job_id, works = await crowd(pool, 3)
        calls: list[tuple[str, int]] = []
        listen(pool, calls, broken=True)
        await finish_at_once(pool, works)
        assert calls == [("end_attempt", 1), ("end_attempts", 2), ("end_attempt", 1), ("end_attempt", 1)]
        assert (await pool.job(job_id)).state == "succeeded"

    play(sqlite_hub, story)


def test_what_others_have_to_confirm_is_ended_alone(sqlite_hub):
    async def story(pool):
        _, works = await crowd(pool, 2, deterministic=True)
        calls: list[tuple[str, int]] = []
        listen(pool, calls)
        await finish_at_once(pool, works)
        assert set(calls) == {("end_attempt", 1)}

    play(sqlite_hub, story)
