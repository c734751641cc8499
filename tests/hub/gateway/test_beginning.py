"""A node that takes a stranger's slice and does nothing with it loses it soon, and its record says so."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.engine import BOB, play
from support.fleets import ORDER, STRANGER, make_node
from support.scripted_agent import add_agent

from computepool.hub.jobs.policy import UNPROVEN, UNTOLD_SECONDS
from computepool.hub.jobs.receipts import _stored_bytes
from computepool.hub.market.allowance import PROVEN_OK, Trial, is_on_trial
from computepool.hub.market.standing import Standing
from computepool.hub.reputation.tables import Reputation
from computepool.hub.scheduling import fleet_node
from computepool.hub.scheduling.fleet_node import (
    REST_SECONDS,
    START_SECONDS,
    STORE_BYTES_PER_SECOND,
    TRIAL_START_SECONDS,
    Held,
)
from computepool.hub.scheduling.leases import _too_late
from computepool.protocol.manifest import Grant
from computepool.protocol.messages import Heartbeat, HeartbeatAck
from computepool.protocol.states import AttemptState, IsolationLevel
from computepool.protocol.timing import BEGIN_SECONDS, FETCH_SECONDS, PROGRESS_SECONDS, REQUEUE_AFTER_SECONDS

GRANT = Grant(cpus=1, memory_bytes=1, disk_bytes=1)

HOUR = 3600.0
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


def test_node_may_prepare_for_hours_while_it_says_so(sqlite_hub, monkeypatch):
    """One hour here, for six: each costs the test 360 heartbeats."""
    monkeypatch.setattr(fleet_node, "START_SECONDS", HOUR)

    async def story(pool):
        agent, work = await one_leased(pool)
        agent.prepares = agent.unstarted
        await agent.update(work, "preparing")
        agent.beat_on()
        await pool.settle(HOUR - 60)
        assert outcome(pool, work)[0] == "preparing"
        await pool.settle(60 + BEATS)
        assert outcome(pool, work)[0] == "lost"

    play(sqlite_hub, story)


# ── nodes without a record ───────────────────────────────────────────────────────────────────────────────────────────

ASKED = {"unproven_slices": 2}


def on_trial(url, story):
    play(url, story, settings=ASKED)


async def one_preparing(pool, *, tells=True, **spec):
    agent = await add_idle(pool, tells=tells, isolation=(IsolationLevel.PROCESS, IsolationLevel.CONTAINER))
    await pool.submit(user=BOB, max_runtime="10m", **spec)
    work = await agent.take_offer()
    await agent.update(work, "preparing")
    if tells:
        agent.prepares = agent.unstarted
    agent.beat_on()
    return agent, work


def test_node_without_a_record_does_not_prepare_for_hours(sqlite_hub):
    """One that only says `preparing` kept its slices for six hours."""

    async def story(pool):
        agent, work = await one_preparing(pool)
        honest = await add_agent(pool, name="honest", isolation=agent.capacity.isolation)
        honest.beat_on()
        await pool.settle(TRIAL_START_SECONDS - 60)
        assert outcome(pool, work)[0] == "preparing"
        await agent.write_log(work, b"still pulling\n")  # its word, like the heartbeats
        await pool.settle(60 + BEATS)
        assert outcome(pool, work) == ("lost", "host", "stalled")
        assert bad_evidence(pool, agent) > 0
        again = await honest.run_next()
        assert pool.slice_of(again).state == "succeeded"

    on_trial(sqlite_hub, story)


def test_who_may_prepare_for_hours():
    newcomer, trial = Standing(mean=0.6, lower=0.3), Trial(2)
    assert is_on_trial(newcomer, trial)
    assert is_on_trial(replace(newcomer, ok_count=PROVEN_OK - 1), trial)
    assert not is_on_trial(replace(newcomer, ok_count=PROVEN_OK), trial)
    assert not is_on_trial(replace(newcomer, marked=True), trial)
    assert not is_on_trial(newcomer, None)
    assert not is_on_trial(newcomer, Trial(0)), "the operator turned it off"
    now = TRIAL_START_SECONDS + 1
    assert held(ORDER).is_unproven(now)
    assert not held(replace(ORDER, own=True)).is_unproven(now)
    for simulated in (True, False):
        node = make_node(owner_id=STRANGER, trial=trial, standing=newcomer, simulated=simulated)
        node.tells_preparing = True
        one = held(ORDER)
        one.told_of(now)
        assert _too_late(node, one, now) is (None if simulated else UNPROVEN)


def test_image_has_as_long_as_an_honest_agent_may_fetch():
    one = held(replace(ORDER, elsewhere=True))
    assert not one.is_unproven(TRIAL_START_SECONDS + FETCH_SECONDS)
    assert one.is_unproven(TRIAL_START_SECONDS + FETCH_SECONDS + 1)


def held(order):
    return Held("attempt_1", 1, GRANT, order, renewed_at=0.0, state=AttemptState.PREPARING)


def test_older_agent_without_a_record_is_not_blamed(sqlite_hub):
    """It has no limits of its own for what it fetches."""

    async def story(pool):
        agent, work = await one_preparing(pool, tells=False)
        for _ in range(int(TRIAL_START_SECONDS / 600)):
            await agent.write_log(work, b"pulling\n")
            await pool.settle(600)
        await pool.settle(TRIAL_START_SECONDS % 600 + BEATS)
        assert outcome(pool, work) == ("lost", "hub", "stalled")
        assert bad_evidence(pool, agent) == 0

    on_trial(sqlite_hub, story)


def test_what_comes_from_the_hubs_own_store_has_its_time():
    """How much that is the job decides: 200 GB in six hours is more than many lines carry."""
    order = replace(ORDER, stored_bytes=10 * 3600 * STORE_BYTES_PER_SECOND)
    one = held(order)
    assert not one.is_unproven(TRIAL_START_SECONDS + 10 * 3600)
    assert one.is_unproven(TRIAL_START_SECONDS + 10 * 3600 + 1)
    assert not one.is_overdue(START_SECONDS + 10 * 3600)
    assert one.is_overdue(START_SECONDS + 10 * 3600 + 1)
    huge = Held("attempt_2", 1, GRANT, replace(ORDER, stored_bytes=1 << 60), renewed_at=0.0)
    assert huge.is_overdue(REST_SECONDS + 1)


def test_order_counts_what_its_node_has_to_fetch():
    stored = {"digest": "sha256:" + "0" * 64, "size_bytes": 100}
    manifest = SimpleNamespace(
        bundle=SimpleNamespace(**stored),
        inputs=(SimpleNamespace(**stored, url=None), SimpleNamespace(size_bytes=None, url="https://x.example/y")),
        saved=SimpleNamespace(files=(SimpleNamespace(**stored),)),
    )
    assert _stored_bytes(manifest) == 300  # type: ignore[arg-type]


# ── older agents, owners, lines ──────────────────────────────────────────────────────────────────────────────────────


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
