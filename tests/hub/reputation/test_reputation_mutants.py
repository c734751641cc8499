"""Bugs put in on purpose: for each promise about reputation, the check that keeps it must find them."""

from dataclasses import replace

import pytest
from sqlalchemy.orm import Session
from support.engine import ADMIN, ALICE, BOB, play
from support.scripted_agent import add_agent

from computepool.hub.gateway import reconcile
from computepool.hub.jobs import repute
from computepool.hub.market import feasibility
from computepool.hub.reputation import claims, contests, quarantine, record, reliability, repository, service
from computepool.hub.reputation.reliability import Evidence
from computepool.hub.scheduling import fleet_node, views
from computepool.hub.scheduling.standings import Standings
from computepool.protocol.messages import Offer
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import Verdict

BROKE = {"reason": EndReason.SANDBOX, "exit_code": None}
MINUTES = 60.0


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def standing(pool, agent):
    return pool.engine.scheduler.fleet.get(agent.node_id).traits.standing


def known(pool, agent):
    with Session(pool.db.engine) as session:
        return repository.find(session, agent.node_id)


async def do(pool, agent, count, *, user=BOB, **changes):
    for _ in range(count):
        await pool.submit(user=user)
        await agent.run_next(**changes)
    await pool.settle(0.1)


async def failures_lower_and_oks_raise_it(pool):
    agent = await add_agent(pool)
    await do(pool, agent, 2)
    good = standing(pool, agent)
    assert good.lower > 0.3
    await do(pool, agent, 1, **BROKE)
    assert standing(pool, agent).lower < good.lower


async def the_past_fades(pool):
    agent = await add_agent(pool)
    await do(pool, agent, 4)
    before = known(pool, agent).evidence.good
    pool.clock.wall_error_seconds = 30 * 86_400.0
    await do(pool, agent, 1)
    assert known(pool, agent).evidence.good == pytest.approx(before / 2 + 1, abs=0.01)


async def own_jobs_build_no_record(pool):
    agent = await add_agent(pool, owner=ALICE)
    await do(pool, agent, 3, user=ALICE)
    assert known(pool, agent).ok_count == 0
    assert standing(pool, agent).mean == pytest.approx(0.6, abs=1e-3)


async def what_comes_back_was_never_lost(pool):
    agent = await add_agent(pool)
    await pool.submit(user=BOB)
    work = await agent.take_offer()
    await agent.update(work, "running")
    agent.vanish()
    await pool.settle(150)
    assert standing(pool, agent).mean < 0.5
    await agent.connect()
    assert standing(pool, agent).mean == pytest.approx(0.6, abs=1e-3)
    assert known(pool, agent).trouble.streak == 0


async def upheld_contests_are_undone(pool):
    agent = await add_agent(pool)
    await do(pool, agent, 1, **BROKE)
    await pool.call("POST", f"nodes/{agent.node_id}/reliability/1/contest", {"reason": "x"})
    answer = await pool.call("POST", "admin/contests/1/resolve", {"resolution": "upheld"}, user=ADMIN)
    assert answer.status_code == 200, answer.text
    assert known(pool, agent).evidence.bad == pytest.approx(0, abs=1e-9)
    assert standing(pool, agent).mean == pytest.approx(0.6, abs=1e-3)


async def dismissed_contests_are_not(pool):
    agent = await add_agent(pool)
    await do(pool, agent, 1, **BROKE)
    await pool.call("POST", f"nodes/{agent.node_id}/reliability/1/contest", {"reason": "x"})
    await pool.call("POST", "admin/contests/1/resolve", {"resolution": "dismissed"}, user=ADMIN)
    assert known(pool, agent).evidence.bad == pytest.approx(4, abs=1e-3)


async def streaks_are_quarantined_then_probed_one_by_one(pool):
    agent = await add_agent(pool, cpus=4)
    agent.beat_on()
    try:
        await do(pool, agent, 3, **BROKE)
        await pool.settle(9 * MINUTES)
        assert agent.works == {}, "it is in quarantine"
        await pool.settle(2 * MINUTES)
        assert len(agent.works) == 1, "one probe, no more"
        await agent.run_next(**BROKE)
        await pool.settle(15 * MINUTES)
        assert agent.works == {}, "the second quarantine is longer"
        await pool.settle(6 * MINUTES)
        await agent.run_next()
        await pool.settle(5)
        assert len(agent.works) == 2, "it works again"
    finally:
        agent.stop_beating()


async def owners_ignore_quarantines(pool):
    agent = await add_agent(pool, owner=ALICE)
    await do(pool, agent, 3, **BROKE)
    await pool.submit(user=ALICE)
    await pool.settle(5)
    assert len(agent.unread(Offer)) == 1


async def liars_get_less_at_once(pool):
    agent = await add_agent(pool, cpus=4)
    agent.beat_on()
    try:
        await pool.submit(user=BOB, slices=4)
        works = [await agent.take_offer() for _ in range(4)]
        for work in works[:2]:
            await agent.finish(work, **BROKE)
        for work in works[2:]:
            await agent.finish(work)
        await pool.submit(user=BOB, slices=4)
        await pool.settle(90)
        assert len(agent.works) == 1, "it broke with four at once, and then with three"
    finally:
        agent.stop_beating()


async def restarts_remember(pool):
    agent = await add_agent(pool)
    await do(pool, agent, 6)
    before = standing(pool, agent).mean
    await pool.restart()
    assert standing(pool, agent).mean == pytest.approx(before, abs=1e-3)
    await agent.connect()
    assert standing(pool, agent).mean == pytest.approx(before, abs=1e-3)


async def fifty_are_needed_to_be_verified(pool):
    agent = await add_agent(pool)
    await do(pool, agent, 1)
    answer = await pool.call("POST", f"admin/nodes/{agent.node_id}/verify", user=ADMIN)
    assert not answer.json()["verified"]
    await pool.submit(user=BOB, where={"trust": "verified"})
    await pool.submit(user=BOB, where={"min_reliability": 0.5})  # its mean is above, its bound is not
    await pool.settle(5)
    assert agent.unread(Offer) == []


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def weights_have_the_wrong_sign(patch):
    real = reliability.weight_of
    patch.setattr(service, "weight_of", lambda verdict, reason, *, saved: -real(verdict, reason, saved=saved))


def failures_weigh_nothing(patch):
    real = reliability.weight_of
    patch.setattr(service, "weight_of", lambda *args, saved: max(0.0, real(*args, saved=saved)))


def decay_is_ignored(patch):
    patch.setattr(reliability, "decay", lambda elapsed, half_life: 1.0)


def own_jobs_count(patch):
    real = repute.count_end

    def careless(session, view, *args, **named):
        return real(session, replace(view, own=False), *args, **named)

    patch.setattr(repute, "count_end", careless)


def losses_are_not_undone(patch):
    patch.setattr(repute, "undo_end", lambda *args: None)


def undoing_leaves_the_streak(patch):
    real = record.without

    def careless(known, what, others, half_life):
        return replace(real(known, what, others, half_life), trouble=known.trouble)

    patch.setattr(record, "without", careless)


def connecting_tells_nothing(patch):
    real = service.note_connected

    def careless(*args, **named):
        return replace(real(*args, **named), mean=0.6)

    patch.setattr(reconcile, "note_connected", careless)


def upholding_changes_nothing(patch):
    def careless(session, event, node_id, now, half_life):
        return service.find_standing(session, node_id, now, half_life)

    patch.setattr(service, "undo", careless)


def everything_is_upheld(patch):
    real = contests.resolve

    def careless(session, event_id, resolution, *rest):
        return real(session, event_id, contests.Resolution.UPHELD, *rest)

    careless.__name__ = "resolve"
    patch.setattr(contests, "resolve", careless)


def the_fleet_hears_nothing(patch):
    patch.setattr(Standings, "put", lambda self, node_id, standing: None)


def the_gate_stays_open(patch):
    rules = tuple(
        (gate, (lambda needs, node: True) if gate is feasibility.Gate.RELIABILITY else rule)
        for gate, rule in feasibility.RULES
    )
    patch.setattr(feasibility, "RULES", rules)
    patch.setattr(quarantine, "closed_until", lambda trouble, now: None)


def quarantines_never_end(patch):
    patch.setattr(Standings, "watch", lambda self, node_id: None)


def probes_are_not_counted(patch):
    patch.setattr(fleet_node, "has_slot", lambda node: True)
    patch.setattr(views, "has_slot", lambda node: True)


def quarantines_do_not_grow(patch):
    patch.setattr(quarantine, "length", lambda level: quarantine.FIRST)


def owners_are_kept_out_too(patch):
    rules = tuple(
        (gate, (lambda needs, node: node.standing.quarantined_until is None) if gate is GATE else rule)
        for gate, rule in feasibility.RULES
    )
    patch.setattr(feasibility, "RULES", rules)


GATE = feasibility.Gate.RELIABILITY


def claims_are_believed(patch):
    patch.setattr(claims, "after", lambda claim, verdict, crowd: claim)


def restarts_forget(patch):
    from computepool.hub import engine

    patch.setattr(engine, "list_standings", lambda session, now, half_life: {})


def the_mean_is_taken_for_the_bound(patch):
    patch.setattr(Evidence, "lower", Evidence.mean)


def a_mark_is_enough(patch):
    patch.setattr(record, "VERIFIED_FROM", 0)
    real = service.is_proven
    patch.setattr(service, "is_proven", lambda capacity, measured: real(capacity, measured) or True)


def oks_do_not_end_a_streak(patch):
    real = quarantine.after

    def careless(trouble, verdict, at):
        return trouble if verdict is Verdict.OK else real(trouble, verdict, at)

    patch.setattr(quarantine, "after", careless)


BUGS = [
    (weights_have_the_wrong_sign, failures_lower_and_oks_raise_it),
    (failures_weigh_nothing, failures_lower_and_oks_raise_it),
    (the_fleet_hears_nothing, failures_lower_and_oks_raise_it),
    (decay_is_ignored, the_past_fades),
    (own_jobs_count, own_jobs_build_no_record),
    (losses_are_not_undone, what_comes_back_was_never_lost),
    (undoing_leaves_the_streak, what_comes_back_was_never_lost),
    (connecting_tells_nothing, restarts_remember),
    (upholding_changes_nothing, upheld_contests_are_undone),
    (everything_is_upheld, dismissed_contests_are_not),
    (the_gate_stays_open, streaks_are_quarantined_then_probed_one_by_one),
    (quarantines_never_end, streaks_are_quarantined_then_probed_one_by_one),
    (probes_are_not_counted, streaks_are_quarantined_then_probed_one_by_one),
    (quarantines_do_not_grow, streaks_are_quarantined_then_probed_one_by_one),
    (oks_do_not_end_a_streak, streaks_are_quarantined_then_probed_one_by_one),
    (owners_are_kept_out_too, owners_ignore_quarantines),
    (claims_are_believed, liars_get_less_at_once),
    (restarts_forget, restarts_remember),
    (the_mean_is_taken_for_the_bound, fifty_are_needed_to_be_verified),
    (a_mark_is_enough, fifty_are_needed_to_be_verified),
]


@pytest.mark.parametrize("check", list(dict.fromkeys(check for _, check in BUGS)), ids=lambda check: check.__name__)
def test_without_a_bug_every_check_passes(sqlite_hub, check):
    play(sqlite_hub, check)


@pytest.mark.parametrize(("bug", "check"), BUGS, ids=lambda one: one.__name__)
def test_the_bug_is_found(sqlite_hub, monkeypatch, bug, check):
    bug(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError)):
        play(sqlite_hub, check)
