"""A node that takes a stranger's slice and does nothing with it loses it soon, and its record says so."""

import pytest
from support.engine import BOB, play
from support.scripted_agent import add_agent

from computepool.hub.jobs.policy import UNTOLD_SECONDS
from computepool.hub.reputation.tables import Reputation
from computepool.hub.scheduling.fleet_node import START_SECONDS
from computepool.protocol.messages import Heartbeat, HeartbeatAck
from computepool.protocol.states import IsolationLevel
from computepool.protocol.timing import BEGIN_SECONDS, PROGRESS_SECONDS, REQUEUE_AFTER_SECONDS

BEATS = 15.0
"""A heartbeat, and a look of the hub."""


async def add_idle(pool, *, tells=True, **facts):
    """A node that takes what it is offered and does nothing with it."""
    agent = await add_agent(pool, **facts)
    agent.prepares = list if tells else None
    return agent


async def one_leased(pool, *, user=BOB, tells=True, **spec):
    agent = await add_idle(pool, tells=tells, networked=(IsolationLevel.PROCESS, IsolationLevel.BUBBLEWRAP))
    await pool.submit(user=user, max_runtime="10m", **spec)
    return agent, await agent.take_offer()


def bad_evidence(pool, agent):
    return sum(row.bad for row in pool.rows(Reputation, id=agent.node_id))


def outcome(pool, work):
    row = pool.attempt(work.id)
    return row.state, row.verdict, row.reason


@pytest.mark.parametrize("tells", [True, False])
def test_slice_that_is_not_begun_goes_elsewhere_and_the_record_moves(hub_url, tells):
    async def story(pool):
        silent, work = await one_leased(pool, tells=tells)
        honest = await add_agent(pool, name="honest")
        silent.beat_on()
        honest.beat_on()
        await pool.settle(BEGIN_SECONDS - 5)
        assert outcome(pool, work)[0] == "leased"
        await pool.settle(5 + BEATS)
        assert outcome(pool, work) == ("lost", "host", "not_begun")
        assert bad_evidence(pool, silent) == 4
        again = await honest.run_next()
        assert pool.slice_of(again).state == "succeeded"
        assert pool.slice_of(again).losses == 0

    play(hub_url, story)


@pytest.mark.parametrize("sign", ["preparing", "log", "named"])
def test_sign_of_work_is_a_begin(sqlite_hub, sign):
    async def story(pool):
        agent, work = await one_leased(pool)
        if sign == "preparing":
            await agent.update(work, "preparing")
        elif sign == "log":
            await agent.write_log(work, b"fetching\n")
        else:
            agent.prepares = agent.unstarted
        agent.beat_on()
        await pool.settle(BEGIN_SECONDS + BEATS)
        assert outcome(pool, work)[0] in ("leased", "preparing")

    play(sqlite_hub, story)


def test_begun_slice_that_its_node_stops_telling_of_is_lost(sqlite_hub):
    async def story(pool):
        agent, work = await one_leased(pool)
        await agent.update(work, "preparing")
        agent.beat_on()
        await pool.settle(PROGRESS_SECONDS - 5)
        assert outcome(pool, work)[0] == "preparing"
        await pool.settle(5 + BEATS)
        assert outcome(pool, work) == ("lost", "host", "stalled")

    play(sqlite_hub, story)


def test_node_may_prepare_for_hours_while_it_says_so(sqlite_hub):
    async def story(pool):
        agent, work = await one_leased(pool)
        agent.prepares = agent.unstarted
        await agent.update(work, "preparing")
        agent.beat_on()
        await pool.settle(START_SECONDS - 60)
        assert outcome(pool, work)[0] == "preparing"

    play(sqlite_hub, story)


def test_agent_that_does_not_tell_has_longer_and_is_not_blamed(sqlite_hub):
    async def story(pool):
        agent, work = await one_leased(pool, tells=False)
        await agent.update(work, "preparing")
        agent.beat_on()
        await pool.settle(UNTOLD_SECONDS - 10)
        assert outcome(pool, work)[0] == "preparing"
        await pool.settle(10 + BEATS)
        assert outcome(pool, work) == ("lost", "hub", "stalled")
        assert bad_evidence(pool, agent) == 0

    play(sqlite_hub, story)


def test_agent_that_does_not_tell_may_wait_for_the_setup_of_another(sqlite_hub):
    async def story(pool):
        agent, work = await one_leased(pool, tells=False, setup="true")
        agent.beat_on()
        await pool.settle(UNTOLD_SECONDS - 10)
        assert outcome(pool, work)[0] == "leased"

    play(sqlite_hub, story)


def test_owners_own_slice_may_wait(sqlite_hub):
    async def story(pool):
        agent, work = await one_leased(pool, user="user_alice")
        agent.beat_on()
        await pool.settle(START_SECONDS - 60)
        assert outcome(pool, work)[0] == "leased"

    play(sqlite_hub, story)


def test_silence_of_the_line_is_not_idleness(sqlite_hub):
    """Its heartbeats did not come through: how long it did nothing, nobody knows."""

    async def story(pool):
        agent, work = await one_leased(pool)
        await agent.heartbeat()
        await pool.settle(REQUEUE_AFTER_SECONDS - 10)
        await agent.heartbeat()
        await pool.settle(BEATS)
        assert outcome(pool, work)[0] == "leased"

    play(sqlite_hub, story)


def test_node_that_does_not_even_say_that_it_has_it_loses_it_as_soon(sqlite_hub):
    async def story(pool):
        agent, work = await one_leased(pool)
        agent.works.clear()
        agent.beat_on()
        await pool.settle(BEGIN_SECONDS + BEATS)
        assert outcome(pool, work) == ("lost", "host", "not_begun")

    play(sqlite_hub, story)


def test_network_slice_that_is_not_begun_is_not_renewed_before_another_gets_it(sqlite_hub):
    async def story(pool):
        agent, work = await one_leased(pool, network=True)
        agent.beat_on()
        await pool.settle(BEGIN_SECONDS + BEATS)
        assert outcome(pool, work)[0] == "leased"
        assert agent.unread(HeartbeatAck)[-1].renewed == ()
        await pool.settle(REQUEUE_AFTER_SECONDS + BEATS)
        assert outcome(pool, work) == ("lost", "host", "not_begun")

    play(sqlite_hub, story)


def test_idle_node_cannot_have_the_slice_back_by_a_new_handshake(sqlite_hub):
    """It would be taken for one that runs it, and its record would be as before."""

    async def story(pool):
        agent, work = await one_leased(pool)
        agent.beat_on()
        await pool.settle(BEGIN_SECONDS + BEATS)
        assert pool.slice_of(work).state == "queued"
        await agent.connect()
        assert outcome(pool, work)[0] == "lost"
        assert bad_evidence(pool, agent) == 4

    play(sqlite_hub, story)


def test_many_idle_nodes_do_not_fail_a_job(sqlite_hub):
    async def story(pool):
        agents = [await add_idle(pool, name=f"idle-{number}") for number in range(12)]
        for agent in agents:
            agent.beat_on()
        job_id = await pool.submit(user=BOB)
        await pool.settle(13 * (BEGIN_SECONDS + BEATS))
        assert (await pool.job(job_id, user=BOB)).state in ("queued", "running")
        honest = await add_agent(pool, name="honest", owner=BOB)
        await pool.settle(BEGIN_SECONDS + BEATS)
        await honest.run_next()
        assert (await pool.job(job_id, user=BOB)).state == "succeeded"

    play(sqlite_hub, story)


def test_hub_that_starts_anew_counts_from_its_start(sqlite_hub):
    async def story(pool):
        agent, work = await one_leased(pool)
        agent.beat_on()
        await pool.settle(BEGIN_SECONDS - 10)
        await pool.restart()
        await agent.connect()
        await pool.settle(BEGIN_SECONDS - 10)
        assert outcome(pool, work)[0] == "leased"
        await pool.settle(10 + BEATS)
        assert outcome(pool, work) == ("lost", "host", "not_begun")

    play(sqlite_hub, story)


def test_old_heartbeat_says_nothing_of_what_it_prepares():
    assert Heartbeat.model_validate_json('{"type": "heartbeat"}').preparing is None
