"""A node's state is written down first, and true then; what is known of it counts at once."""

import asyncio

import pytest
from support.engine import ALICE, play
from support.scripted_agent import add_agent

from computepool.hub.core.tables import AuditRow, OutboxRow
from computepool.hub.nodes.tables import Node
from computepool.protocol.messages import Offer


def written(pool):
    return pool.rows(Node)[0].state


def remembered(pool, agent):
    return pool.engine.scheduler.fleet.get(agent.node_id).state


def fail_to_move(pool):
    """The database takes everything but nodes' states; call what it returns, and it takes those too."""
    real = pool.db.run

    async def failing(fn, *args, **kwargs):
        if fn.__name__ == "_move_node":
            raise OSError("the disk is full")
        return await real(fn, *args, **kwargs)

    def mend():
        pool.db.run = real

    pool.db.run = failing
    return mend


def test_drain_and_resume_are_written_down_and_told(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        for action, state in (("drain", "draining"), ("resume", "online")):
            before = len(pool.rows(OutboxRow))
            answer = await pool.call("POST", f"nodes/{agent.node_id}/{action}")
            assert answer.json()["state"] == written(pool) == remembered(pool, agent) == state
            told = pool.rows(OutboxRow)[before:]
            assert [(row.topic, row.payload["action"]) for row in told] == [
                (f"owner/{ALICE}", f"node.{action}"),
                (f"owner/{ALICE}", f"node.{state}"),
            ]
        actions = [row.action for row in pool.rows(AuditRow, subject=agent.node_id)]
        assert actions[-4:] == ["node.drain", "node.draining", "node.resume", "node.online"]

    play(hub_url, story)


@pytest.mark.parametrize("what", ["silence", "its own word", "drain"])
def test_memory_follows_the_commit_and_work_follows_neither(sqlite_hub, what):
    """A node of which it is known that it may not take work gets none, whether that is written down or not."""

    async def story(pool):
        agent = await add_agent(pool)
        with pool.db.held("_move_node") as waits:
            if what == "silence":
                agent.vanish()
            elif what == "its own word":
                agent.state = "paused"
                await agent.send(agent._heartbeat())
            else:
                draining = asyncio.create_task(pool.call("POST", f"nodes/{agent.node_id}/drain"))
            await waits.wait()
            assert written(pool) == remembered(pool, agent) == "online"
            if what != "silence":
                job_id = await pool.submit()
                await pool.settle()
                assert (await pool.job(job_id)).state == "queued"
        await pool.settle()
        expected = {"silence": "offline", "its own word": "paused", "drain": "draining"}[what]
        assert written(pool) == remembered(pool, agent) == expected
        if what == "drain":
            assert (await draining).json()["state"] == "draining"

    play(sqlite_hub, story)


@pytest.mark.parametrize("what", ["silence", "its own word", "drain"])
def test_state_that_could_not_be_written_down_is_tried_again(sqlite_hub, what):
    async def story(pool):
        agent = await add_agent(pool)
        pipe = agent.pipe
        mend = fail_to_move(pool)
        if what == "silence":
            agent.vanish()
            await pool.settle(60)
        else:
            agent.beat_on()
            if what == "its own word":
                agent.state = "paused"
            else:
                await pool.call("POST", f"nodes/{agent.node_id}/drain")
            await pool.settle(30)
            assert not pipe.closed  # the others on this link are not punished
            await pool.submit()
            await pool.settle()
            assert agent.unread(Offer) == []
        assert written(pool) == remembered(pool, agent) == "online"
        mend()
        await pool.settle(12)
        expected = {"silence": "offline", "its own word": "paused", "drain": "draining"}[what]
        assert written(pool) == remembered(pool, agent) == expected

    play(sqlite_hub, story)


def test_node_whose_state_cannot_be_written_does_not_keep_the_sweep_from_the_others(sqlite_hub):
    async def story(pool):
        silent = await add_agent(pool, name="silent")
        await pool.submit()
        work = await silent.take_offer()
        fail_to_move(pool)
        silent.vanish()
        await pool.settle(150)
        assert pool.attempt(work.id).state == "lost"

    play(sqlite_hub, story)


def test_node_that_is_heard_again_while_its_silence_is_written_down_is_online(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        agent.stop_beating()
        with pool.db.held("_move_node") as waits:
            await waits.wait()
            await agent.send(agent._heartbeat())
            await pool.settle()
        await pool.settle()
        assert written(pool) == remembered(pool, agent) == "online"
        await pool.submit()
        await agent.take_offer()

    play(hub_url, story)


def test_of_a_drain_and_a_resume_at_once_the_later_one_counts(hub_url):
    """Whoever is told last: the one whose commit was last."""

    async def story(pool):
        agent = await add_agent(pool)
        await pool.call("POST", f"nodes/{agent.node_id}/drain")
        stale = pool.rows(Node)[0]
        assert stale.drain_requested
        await pool.call("POST", f"nodes/{agent.node_id}/resume")
        await pool.engine.node_changed(stale)  # the news of the drain came late
        assert written(pool) == remembered(pool, agent) == "online"
        await pool.submit()
        await agent.take_offer()

    play(hub_url, story)


def test_late_news_of_a_change_does_not_bring_a_banned_node_back(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.call("PATCH", f"nodes/{agent.node_id}", {"name": "other"})
        stale = pool.rows(Node)[0]
        await pool.call("POST", f"nodes/{agent.node_id}/ban")
        await pool.engine.node_changed(stale)
        assert len(pool.engine.scheduler.fleet) == 0
        assert written(pool) == "banned"

    play(hub_url, story)


def test_change_whose_caller_gave_up_reaches_the_memory_too(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        with pool.db.held("_drain", "after") as waits:
            draining = asyncio.create_task(pool.call("POST", f"nodes/{agent.node_id}/drain"))
            await waits.wait()
            draining.cancel()
            await pool.settle()
        await pool.settle()
        assert written(pool) == remembered(pool, agent) == "draining"

    play(sqlite_hub, story)


def test_sleep_of_the_hub_brings_no_dead_node_back(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        agent.vanish()
        await pool.settle(60)
        assert written(pool) == "offline"
        pool.clock.slept_seconds += 400
        await pool.settle(10)
        assert written(pool) == remembered(pool, agent) == "offline"

    play(sqlite_hub, story)
