"""A node that renews an attempt and never gets any further does not keep it for ever."""

import pytest
from support.engine import play
from support.fleets import ORDER
from support.scripted_agent import add_agent

from computepool.hub.scheduling.fleet_node import REST_SECONDS, START_SECONDS, Held
from computepool.protocol.manifest import Grant
from computepool.protocol.states import AttemptState, IsolationLevel
from computepool.protocol.timing import (
    EVICT_GRACE_SECONDS,
    FREEZE_AFTER_SECONDS,
    LAST_CHECKPOINT_SECONDS,
    OVERDUE_SECONDS,
    REQUEUE_AFTER_SECONDS,
)

A_BIT = 20.0


async def one_taken(pool, *states, **spec):
    agent = await add_agent(pool, networked=(IsolationLevel.PROCESS, IsolationLevel.BUBBLEWRAP))
    await pool.submit(max_runtime="10m", **spec)
    work = await agent.take_offer()
    for state in states:
        await agent.update(work, state)
    agent.beat_on()
    return agent, work


@pytest.mark.parametrize(
    ("states", "seconds"),
    [
        ((), START_SECONDS),
        (("preparing",), START_SECONDS),
        (("running", "preparing"), 600 + OVERDUE_SECONDS),  # it cannot go back
    ],
)
def test_attempt_that_gets_no_further_is_given_up(sqlite_hub, states, seconds):
    async def story(pool):
        _, work = await one_taken(pool, *states)
        await pool.settle(seconds - A_BIT)
        assert pool.attempt(work.id).state in ("leased", *states)
        await pool.settle(2 * A_BIT)
        row = pool.attempt(work.id)
        assert (row.state, row.verdict, row.reason) == ("lost", "host", "overdue")

    play(sqlite_hub, story)


def test_its_node_is_not_told_that_it_has_the_lease_long_before_another_gets_the_slice(sqlite_hub):
    """A job that can reach the world stands still by then, on a node that keeps the rules."""

    async def story(pool):
        agent, work = await one_taken(pool, "running", network=True)
        agent.stop_beating()

        async def beat_for(seconds):
            for _ in range(int(seconds / 10)):
                await pool.settle(10)
                ack = await agent.heartbeat()
            return [one.attempt_id for one in ack.renewed]

        assert await beat_for(600) == [work.id]
        assert await beat_for(OVERDUE_SECONDS + A_BIT) == []
        assert await beat_for(FREEZE_AFTER_SECONDS) == []
        assert pool.attempt(work.id).state == "running"
        await beat_for(REQUEUE_AFTER_SECONDS - FREEZE_AFTER_SECONDS + A_BIT)
        assert pool.attempt(work.id).reason == "overdue"

    play(sqlite_hub, story)


def held_in(state):
    return Held("attempt_1", 1, Grant(cpus=1, memory_bytes=1, disk_bytes=1), ORDER, renewed_at=0.0, state=state)


@pytest.mark.parametrize("state", [AttemptState.SUSPENDED, AttemptState.FINISHING])
def test_standing_still_and_uploading_take_a_day_at_most(state):
    held = held_in(AttemptState.RUNNING)
    held.note(state, 10.0)
    assert not held.is_overdue(10.0 + REST_SECONDS)
    assert held.is_overdue(11.0 + REST_SECONDS)


def test_rests_are_counted_together():
    held, now = held_in(AttemptState.RUNNING), 0.0
    for _ in range(4):
        held.note(AttemptState.SUSPENDED, now)
        now += REST_SECONDS / 4
        held.note(AttemptState.RUNNING, now)
        assert not held.is_overdue(now)
    held.note(AttemptState.SUSPENDED, now)
    assert held.is_overdue(now + 1)


def test_many_short_rests_do_not_let_it_run_for_ever():
    held, now = held_in(AttemptState.RUNNING), 0.0
    while not held.is_overdue(now):
        now += ORDER.max_runtime_seconds
        held.note(AttemptState.SUSPENDED, now)
        held.note(AttemptState.RUNNING, now)
    assert REST_SECONDS < now <= REST_SECONDS + 2 * ORDER.max_runtime_seconds


def test_attempt_that_was_taken_back_is_overdue_in_time(sqlite_hub):
    async def story(pool):
        agent, work = await one_taken(pool, "running")
        agent.stop_beating()
        await agent.disconnect()
        await pool.settle(150)
        assert pool.attempt(work.id).state == "lost"
        await agent.connect()
        agent.beat_on()
        await pool.settle(600)
        assert pool.attempt(work.id).state == "running"
        await pool.settle(75)
        assert pool.attempt(work.id).reason == "overdue"

    play(sqlite_hub, story)


def test_evicted_job_may_send_its_last_checkpoint():
    """How large that is the job decides: its node was blamed 70 seconds after it was told."""
    held = held_in(AttemptState.RUNNING)
    held.stopped_at, held.evicted = 10.0, True
    told = EVICT_GRACE_SECONDS + OVERDUE_SECONDS
    assert not held.is_overdue(10.0 + told)
    assert held.is_overdue(10.1 + told)
    held.note(AttemptState.FINISHING, 20.0)
    assert not held.is_overdue(10.0 + told + 2 * LAST_CHECKPOINT_SECONDS)
    assert held.is_overdue(10.1 + told + 2 * LAST_CHECKPOINT_SECONDS)
