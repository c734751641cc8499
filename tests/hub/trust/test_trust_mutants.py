"""Bugs put in on purpose: the checks that keep replicas and audits honest must find them."""

import asyncio
from dataclasses import replace

import pytest
from support.checked_work import CAROL, DAVE, ERIN, add_agents, answer, judged_by, trust
from support.engine import ALICE, BOB, play
from support.planted import each_check, each_mutant
from support.scripted_agent import add_agent

from computepool.hub.jobs import brief as briefs
from computepool.hub.jobs import ending
from computepool.hub.jobs.tables import Attempt
from computepool.hub.market import feasibility
from computepool.hub.market.feasibility import Gate
from computepool.hub.scheduling.replicas import Replicas
from computepool.hub.trust import auditing, audits, canaries, consequences, replication, repository, reruns
from computepool.hub.trust.judgement import Count, Finding
from computepool.hub.trust.tables import Check, Clawback

SAME = {"deterministic": True, "outputs": ["out"]}
TWICE = {**SAME, "verify": {"replicas": 2}}

# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def one_owner_never_confirms_itself(pool):
    first, _ = [*await add_agents(pool, BOB), await add_agent(pool, name="second", owner=BOB)]
    job_id = await pool.submit(**TWICE)
    await pool.settle(30)
    assert len(pool.rows(Attempt)) == 1
    await pool.restart()
    await first.connect()
    await pool.settle(30)
    assert len(pool.rows(Attempt)) == 1
    assert (await pool.job(job_id)).state == "running"


async def answers_outlive_a_restart(pool):
    bob, carol = await add_agents(pool, BOB, CAROL)
    job_id = await pool.submit(**{**TWICE, "verify": {"replicas": 3}})
    await answer(bob)
    await answer(carol)
    await pool.restart()
    await bob.connect()
    await pool.settle(30)
    assert not bob.works
    assert (await pool.job(job_id)).state == "running"


async def a_result_counts_when_others_confirm_it(pool):
    bob, carol = await add_agents(pool, BOB, CAROL)
    job_id = await pool.submit(**TWICE)
    await answer(bob, b"wrong")
    assert (await pool.job(job_id)).state == "running"
    await answer(carol)
    assert (await pool.job(job_id)).state == "running"
    (dave,) = await add_agents(pool, DAVE)
    await answer(dave)
    assert (await pool.job(job_id)).state == "succeeded"
    assert sorted(row.verdict for row in pool.rows(Attempt)) == ["host", "ok", "ok"]


async def two_judges_convict_and_one_does_not(pool):
    (bob,) = await add_agents(pool, BOB)
    await pool.submit(**SAME)
    work = await answer(bob, b"wrong", seconds=60)
    carol, dave = await add_agents(pool, CAROL, DAVE, connect=False)
    await trust(pool, carol, dave)
    rerun = await judged_by(pool, carol, b"right")
    assert rerun.manifest.renter == ALICE
    assert pool.attempt(work.id).verdict == "ok"
    await judged_by(pool, dave, b"right")
    assert pool.attempt(work.id).verdict == "host"
    assert [row.state for row in pool.rows(Check)] == ["guilty"]
    assert [row.attempt_id for row in pool.rows(Clawback)] == [work.id]
    assert pool.engine.scheduler.fleet.get(bob.node_id).traits.standing.quarantined_until is not None


async def a_canary_is_not_known_as_one_and_needs_judges_of_its_own(pool):
    (bob,) = await add_agents(pool, BOB)
    await pool.submit(**SAME)
    paid = await answer(bob, seconds=30)
    await bob.disconnect()
    carol, dave, erin, mine = await add_agents(pool, CAROL, DAVE, ERIN, ALICE, connect=False)
    await judged_by(pool, carol, b"right")
    for agent in (bob, carol, mine, erin):
        await agent.connect()
        traits = pool.engine.scheduler.fleet.get(agent.node_id).traits
        for _ in range(2):
            after = await pool.db.run(
                canaries.send, traits, pool.clock.now(), consequences.means_of(pool.engine.context)
            )
            pool.engine.checks_changed(after)
        await pool.settle(1)
        assert len(agent.works) == (agent is erin)
    work = await answer(erin, b"wrong", seconds=30)
    assert {**work.manifest.model_dump(), **ANY} == {**paid.manifest.model_dump(), **ANY}
    await erin.disconnect()
    await pool.settle(30)
    assert not bob.works
    assert not carol.works
    await judged_by(pool, dave, b"right")
    (check,) = pool.rows(Check, kind="canary")
    assert check.state == "open"


ANY = dict.fromkeys(("node_id", "job_id", "attempt_id", "fence", "issued_at", "expires_at"))


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def replicas_go_anywhere(plant):
    plant.setattr(Replicas, "narrowed", lambda self, waiting, needs: needs)


def the_gate_of_owners_stays_open(plant):
    rules = tuple((gate, (lambda n, t: True) if gate is Gate.INDEPENDENT else rule) for gate, rule in feasibility.RULES)
    plant.setattr(feasibility, "RULES", rules)


def restarts_forget_who_answered(plant):
    from computepool.hub import engine

    plant.setattr(engine, "list_answers", lambda session: [])


def restarts_forget_who_is_at_it(plant):
    plant.setattr(Replicas, "seat", lambda self, brief, index, seat: None)


def nobody_is_waited_for(plant):
    plant.setattr(ending, "is_result", lambda reason, exit_code: False)


def the_first_answer_wins(plant):
    first = lambda results, replicas: Count(Finding.VALID, results[0].digest)  # noqa: E731
    plant.setattr(replication, "count_votes", first)


def ties_are_not_broken(plant):
    plant.setattr(replication, "MORE_AT_MOST", 0)


def who_differs_is_paid(plant):
    plant.setattr(replication, "_outvote", lambda case, attempt_id, count: None)


def one_rerun_convicts(plant):
    plant.setattr(audits, "judge", lambda accused, reruns: Finding.GUILTY if reruns else Finding.OPEN)


def nobody_is_drawn(plant):
    plant.setattr(auditing, "is_drawn", lambda share, randbits: False)


def audits_give_themselves_away(plant):
    real = briefs.manifest_of

    def honest(brief, **fields):
        return real(brief, **fields).model_copy(update={"renter": brief.owner_id})

    from computepool.hub.scheduling import scheduler

    plant.setattr(scheduler, "manifest_of", honest)


def nothing_is_given_back(plant):
    plant.setattr(repository, "add_clawbacks", lambda *args: 0)


def the_guilty_go_on(plant):
    real = consequences.convict

    def lenient(*arguments):
        sentence = real(*arguments)
        return replace(sentence, standing=replace(sentence.standing, quarantined_until=None))

    plant.setattr(audits, "convict", lenient)


def renters_own_nodes_get_canaries_too(plant):
    plant.setattr(canaries, "closed_gate", lambda needs, traits: None)
    plant.setattr(canaries, "_suiting", lambda session, candidates, traits: iter(candidates))


def who_ran_it_gets_it_again(plant):
    plant.setattr(canaries, "_was_seen_by", lambda session, known, owner_id: False)


def canaries_pile_up(plant):
    plant.setattr(repository, "has_open_canary", lambda session, node_id: False)


def canaries_have_another_name(plant):
    real = reruns.add_audit

    def told(session, root, index, rerun, now, means, role):
        brief, indices = real(session, root, index, rerun, now, means, role)
        return replace(brief, name="canary"), indices

    plant.setattr(canaries, "add_audit", told)


def who_made_it_known_judges_by_it(plant):
    plant.setattr(repository, "list_owners_behind", lambda session, job_id, index: set())


def one_rerun_convicts_after_a_canary(plant):
    hasty = lambda accused, expected, reruns: Finding.GUILTY if reruns else Finding.OPEN  # noqa: E731
    plant.setattr(audits, "judge_against", hasty)


MUTANTS = {
    a_canary_is_not_known_as_one_and_needs_judges_of_its_own: [
        audits_give_themselves_away,
        renters_own_nodes_get_canaries_too,
        who_ran_it_gets_it_again,
        canaries_pile_up,
        canaries_have_another_name,
        who_made_it_known_judges_by_it,
        one_rerun_convicts_after_a_canary,
    ],
    one_owner_never_confirms_itself: [
        replicas_go_anywhere,
        the_gate_of_owners_stays_open,
        restarts_forget_who_is_at_it,
    ],
    answers_outlive_a_restart: [restarts_forget_who_answered],
    a_result_counts_when_others_confirm_it: [
        nobody_is_waited_for,
        the_first_answer_wins,
        ties_are_not_broken,
        who_differs_is_paid,
    ],
    two_judges_convict_and_one_does_not: [
        one_rerun_convicts,
        nobody_is_drawn,
        audits_give_themselves_away,
        nothing_is_given_back,
        the_guilty_go_on,
    ],
}


@each_check(MUTANTS)
def test_without_a_bug_the_check_holds(sqlite_hub, check):
    play(sqlite_hub, check)


@each_mutant(MUTANTS)
def test_the_check_finds_the_bug(sqlite_hub, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError, asyncio.CancelledError)):
        play(sqlite_hub, check)
