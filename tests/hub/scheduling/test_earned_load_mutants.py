"""Bugs put in on purpose into "a node earns its load" (ADR 0043): each rule that is switched off is found."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session
from support.engine import ADMIN, BOB, play
from support.planted import each_check, each_mutant
from support.scripted_agent import add_agent, measure

from computepool.hub.jobs import policy
from computepool.hub.jobs import repository as jobs_repository
from computepool.hub.jobs.tables import Attempt
from computepool.hub.market import allowance
from computepool.hub.reputation import declining, repository
from computepool.hub.scheduling import fleet_node, leases, views
from computepool.hub.scheduling.fleet_node import Held
from computepool.protocol.timing import BEGIN_SECONDS, PROGRESS_SECONDS, REQUEUE_AFTER_SECONDS

HUGE: dict[str, Any] = {"cpus": 4096, "memory_bytes": 2**50, "disk_bytes": 2**50}
BEATS = 15.0
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FOR_EVER = 10.0**9
TRIAL_SECONDS = 10 * 60.0
"""Instead of 45 minutes: each costs the tests six heartbeats."""


@pytest.fixture(autouse=True)
def _short_trials(monkeypatch):
    monkeypatch.setattr(fleet_node, "TRIAL_START_SECONDS", TRIAL_SECONDS)


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def unmeasured_node_earns_half_a_slice_with_each_attempt(pool):
    agent = await add_agent(pool, **HUGE)
    await pool.submit(user=BOB, slices=30)
    await pool.settle()
    held = []
    for _ in range(5):
        held.append(len(agent.works))
        await agent.run_next()
        await pool.settle(0.1)
    assert held == [1, 1, 2, 2, 3]


async def measured_node_begins_with_two_and_stops_at_what_was_measured(pool):
    agent = await add_agent(pool, **HUGE)
    await measure(agent, core_gflops=20 / HUGE["cpus"])  # as fast as four cores
    await pool.submit(user=BOB, slices=30)
    await pool.settle()
    held = []
    for _ in range(5):
        held.append(len(agent.works))
        await agent.run_next()
        await pool.settle(0.1)
    assert held == [2, 3, 4, 4, 4]


async def slices_for_one_node_wait_for_its_allowance_too(pool):
    """They are not looked for in the index, which leaves out nodes without a slot."""
    agent = await add_agent(pool, **HUGE)
    await pool.submit(user=BOB, slices=3, where={"node": agent.node_id})
    await pool.settle()
    assert len(agent.works) == 1
    await agent.run_next()
    await pool.settle(0.1)
    assert len(agent.works) == 1


async def checked_owner_gets_all_that_fits(pool):
    agent = await add_agent(pool, cpus=4)
    await pool.call("POST", f"admin/nodes/{agent.node_id}/verify", user=ADMIN)
    await pool.submit(user=BOB, slices=4)
    await pool.settle()
    assert len(agent.works) == 4


async def only_right_answers_are_a_measurement(_pool):
    def device(**facts):
        return {"device": "cpu", "mark": "matches", "gflops": 40.0, "backend": "numpy"} | facts

    assert allowance.measured_capacity([device()]).slices == 8
    assert allowance.measured_capacity([device(mark="failed")]).slices == 0
    assert allowance.measured_capacity([device(backend="python")]).slices == 1
    assert allowance.measured_capacity([device(device="gpu-0", mark="failed")]).gpus == frozenset()


async def idle(pool, *, prepares=list, **facts):
    agent = await add_agent(pool, **facts)
    agent.prepares = prepares
    await pool.submit(user=BOB, max_runtime="10m")
    return agent, await agent.take_offer()


def ended(pool, work):
    return pool.attempt(work.id).reason


async def slice_is_begun_in_time_or_lost(pool):
    agent, work = await idle(pool)
    agent.beat_on()
    await pool.settle(BEGIN_SECONDS + BEATS)
    assert ended(pool, work) == "not_begun"
    assert pool.slice_of(work).losses == 0, "or ten such nodes could fail any job"


async def begun_slice_makes_progress_or_is_lost(pool):
    agent, work = await idle(pool)
    await agent.update(work, "preparing")
    agent.beat_on()
    await pool.settle(PROGRESS_SECONDS + BEATS)
    assert ended(pool, work) == "stalled"


async def preparing_slice_of_a_newcomer_ends(pool):
    agent, work = await idle(pool)
    agent.prepares = agent.unstarted
    await agent.update(work, "preparing")
    agent.beat_on()
    await pool.settle(TRIAL_SECONDS - BEATS)
    assert ended(pool, work) is None
    await pool.settle(2 * BEATS)
    assert ended(pool, work) == "stalled"


async def node_with_a_record_may_prepare_for_longer(pool):
    agent = await add_agent(pool)
    standing = pool.engine.scheduler.fleet.get(agent.node_id).traits.standing
    pool.engine.scheduler.standings.put(agent.node_id, replace(standing, ok_count=allowance.PROVEN_OK))
    await pool.submit(user=BOB, max_runtime="10m")
    work = await agent.take_offer()
    await agent.update(work, "preparing")
    agent.beat_on()
    await pool.settle(TRIAL_SECONDS + BEATS)
    assert ended(pool, work) is None


async def silence_of_the_line_is_not_idleness(pool):
    agent, work = await idle(pool)
    await agent.heartbeat()
    await pool.settle(REQUEUE_AFTER_SECONDS - 10)
    await agent.heartbeat()
    await pool.settle(BEATS)
    assert ended(pool, work) is None


async def idle_node_does_not_get_the_slice_back(pool):
    agent, work = await idle(pool)
    agent.beat_on()
    await pool.settle(BEGIN_SECONDS + BEATS)
    await agent.connect()
    assert pool.attempt(work.id).state == "lost"


async def declines_are_backed_off_and_move_no_reliability(pool):
    agent = await add_agent(pool)
    agent.serve(agent.decline)
    await pool.submit(user=BOB)
    await pool.settle(100)
    times = sorted(row.leased_at for row in pool.rows(Attempt))
    assert [round((time - times[0]).total_seconds()) for time in times] == [0, 10, 30, 70]
    with Session(pool.db.engine) as session:
        record = repository.find(session, agent.node_id)
    assert (record.declines.count, record.evidence.total) == (4, 0)


async def declines_have_a_longest_and_are_forgotten(_pool):
    declines, until = declining.NO_DECLINES, NOON
    for _ in range(12):
        declines = declining.after_decline(declines, until)
        until = declines.until or NOON
        assert declining.after_decline(declines, until - timedelta(seconds=1)) == declines, "it counts once"
    assert declining.length(declines.count) == timedelta(minutes=15)
    assert declining.after_decline(declines, until + timedelta(days=1, seconds=1)).count == 1
    before = until - timedelta(days=9)
    assert declining.not_asked_until(declines, before) == before + timedelta(minutes=15)


# ── mutants ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def claims_are_believed(patch):
    patch.setattr(fleet_node, "slices_at_once", lambda standing, trial: standing.slots)


def room_is_all_that_a_stranger_needs(patch):
    patch.setattr(fleet_node, "has_slot", lambda node: True)


def neither_index_nor_room_knows_the_allowance(patch):
    """Either of them is enough for a slice that any node may run: the index for speed, the room as the rule."""
    room_is_all_that_a_stranger_needs(patch)
    patch.setattr(views, "has_slot", lambda node: True)


def nothing_is_earned(patch):
    patch.setattr(allowance, "OK_FOR_ONE_MORE", 10**9)


def unmeasured_nodes_grow_as_fast(patch):
    patch.setattr(allowance, "OK_FOR_ONE_MORE", 1)


def measured_nodes_are_as_large_as_they_claim(patch):
    patch.setattr(allowance, "CORE_GFLOPS", 0.001)


def checked_owners_are_doubted(patch):
    plain = allowance.slices_at_once
    patch.setattr(fleet_node, "slices_at_once", lambda standing, trial: plain(replace(standing, marked=False), trial))


def wrong_answers_count(patch):
    patch.setattr(allowance, "TRUSTED_MARKS", allowance.TRUSTED_MARKS | {"failed"})


def plain_python_shows_every_core(patch):
    patch.setattr(allowance, "SLOW_BACKEND", "none")


def idleness_is_forgiven(patch):
    patch.setattr(Held, "why_idle", lambda self, tells: None)


def begin_has_no_limit(patch):
    patch.setattr(fleet_node, "BEGIN_SECONDS", FOR_EVER)


def progress_has_no_limit(patch):
    patch.setattr(fleet_node, "PROGRESS_SECONDS", FOR_EVER)


def what_was_not_begun_is_a_loss(patch):
    patch.setattr(policy, "NOT_TAKEN", frozenset())


def every_silence_is_idleness(patch):
    patch.setattr(fleet_node, "HEARD_SECONDS", FOR_EVER)


def handshake_gives_everything_back(patch):
    patch.setattr(jobs_repository, "IDLE_REASONS", frozenset())


def newcomers_are_never_on_trial(patch):
    patch.setattr(leases, "is_on_trial", lambda standing, trial: False)


def preparing_has_no_limit(patch):
    patch.setattr(Held, "is_unproven", lambda self, now: False)


def records_are_not_looked_at(patch):
    patch.setattr(leases, "is_on_trial", lambda standing, trial: True)


def declines_close_nothing(patch):
    patch.setattr(declining, "not_asked_until", lambda declines, now: None)


def every_decline_is_a_first_one(patch):
    patch.setattr(declining, "length", lambda count: declining.FIRST)


def declines_have_no_longest(patch):
    patch.setattr(declining, "LONGEST", timedelta(days=30))


def declines_are_never_forgotten(patch):
    patch.setattr(declining, "FORGOTTEN_AFTER", timedelta(days=9999))


MUTANTS = {
    unmeasured_node_earns_half_a_slice_with_each_attempt: [
        claims_are_believed,
        neither_index_nor_room_knows_the_allowance,
        nothing_is_earned,
        unmeasured_nodes_grow_as_fast,
    ],
    slices_for_one_node_wait_for_its_allowance_too: [claims_are_believed, room_is_all_that_a_stranger_needs],
    measured_node_begins_with_two_and_stops_at_what_was_measured: [measured_nodes_are_as_large_as_they_claim],
    checked_owner_gets_all_that_fits: [checked_owners_are_doubted],
    only_right_answers_are_a_measurement: [wrong_answers_count, plain_python_shows_every_core],
    slice_is_begun_in_time_or_lost: [idleness_is_forgiven, begin_has_no_limit, what_was_not_begun_is_a_loss],
    begun_slice_makes_progress_or_is_lost: [progress_has_no_limit],
    preparing_slice_of_a_newcomer_ends: [newcomers_are_never_on_trial, preparing_has_no_limit],
    node_with_a_record_may_prepare_for_longer: [records_are_not_looked_at],
    silence_of_the_line_is_not_idleness: [every_silence_is_idleness],
    idle_node_does_not_get_the_slice_back: [handshake_gives_everything_back],
    declines_are_backed_off_and_move_no_reliability: [declines_close_nothing, every_decline_is_a_first_one],
    declines_have_a_longest_and_are_forgotten: [declines_have_no_longest, declines_are_never_forgotten],
}


def run(url, check):
    play(url, check, settings={"unproven_slices": 2})


@each_check(MUTANTS)
def test_check_holds(sqlite_hub, check):
    run(sqlite_hub, check)


@each_mutant(MUTANTS)
def test_mutant_is_found(sqlite_hub, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        run(sqlite_hub, check)
