"""An end that two nodes of different owners tell alike is the job's: neither node is blamed, and nobody is billed."""

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from support.engine import ADMIN, ALICE, BOB, play
from support.planted import each_mutant
from support.scripted_agent import add_agent

from computepool.hub.jobs import deciding, repute
from computepool.hub.jobs.tables import Attempt
from computepool.hub.reputation import repository as records
from computepool.hub.reputation.tables import ReputationEvent
from computepool.protocol.receipt import EndReason

BROKE = {"reason": EndReason.SANDBOX, "exit_code": None}


def known(pool, agent):
    with Session(pool.db.engine) as session:
        return records.find(session, agent.node_id)


async def two_nodes(pool, first=ALICE, second=ADMIN):
    """The second comes when the first has something to do."""
    here = await add_agent(pool, owner=first, name="first", cpus=1)
    here.beat_on()

    async def other():
        there = await add_agent(pool, owner=second, name="second", cpus=1)
        there.beat_on()
        return there

    return here, other


async def same_end_on_two_owners_nodes_is_the_jobs(pool):
    first, other = await two_nodes(pool)
    before = known(pool, first)
    job_id = await pool.submit(user=BOB)
    work = await first.take_offer()
    second = await other()
    await first.finish(work, **BROKE)
    assert known(pool, first).evidence.bad > 0
    await second.run_next(**BROKE)
    await pool.settle(2)
    job = await pool.job(job_id, user=BOB)
    assert (job.state, job.verdict, job.reason) == ("failed", "renter", "sandbox")
    assert "same way on 2 nodes" in (job.message or "")
    (slice_,) = job.slices
    assert [one.verdict for one in slice_.attempts] == ["host", "hub"]
    with Session(pool.db.engine) as session:
        assert set(session.scalars(select(Attempt.cost_micros))) == {0}
        events = session.scalars(select(ReputationEvent)).all()
    assert [(one.resolution, one.resolution_note) for one in events] == [("taken_back", repute.SAME_ELSEWHERE)]
    for agent in (first, second):
        assert known(pool, agent).evidence.bad == pytest.approx(before.evidence.bad)
        assert known(pool, agent).trouble.streak == 0
        assert pool.engine.scheduler.fleet.get(agent.node_id).traits.standing.quarantined_until is None
        agent.stop_beating()


async def two_nodes_of_one_owner_prove_nothing(pool):
    first, other = await two_nodes(pool, ALICE, ALICE)
    await pool.submit(user=BOB)
    work = await first.take_offer()
    second = await other()
    await first.finish(work, **BROKE)
    await second.run_next(**BROKE)
    for agent in (first, second):
        assert known(pool, agent).evidence.bad > 0
        agent.stop_beating()


async def job_that_works_elsewhere_does_not_excuse_other_slices(pool):
    first, other = await two_nodes(pool)
    await pool.submit(user=BOB, slices=3)
    await first.run_next()
    work = await first.take_offer()
    second = await other()
    await first.finish(work, **BROKE)
    await second.run_next(**BROKE)
    assert known(pool, second).evidence.bad > 0
    for agent in (first, second):
        agent.stop_beating()


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def nothing_is_recognised(patch):
    patch.setattr(deciding, "find_alike", lambda session, view, told: ())


def nobody_is_excused(patch):
    patch.setattr(repute, "excuse", lambda session, alike, now, half_life: ())


def every_node_is_a_witness(patch):
    real = deciding.list_failed_alike
    patch.setattr(deciding, "list_failed_alike", lambda *about: [one._replace(is_others=True) for one in real(*about)])


def success_elsewhere_is_not_seen(patch):
    patch.setattr(deciding, "has_succeeded", lambda session, job_id: False)


MUTANTS = {
    same_end_on_two_owners_nodes_is_the_jobs: [nothing_is_recognised, nobody_is_excused],
    two_nodes_of_one_owner_prove_nothing: [every_node_is_a_witness],
    job_that_works_elsewhere_does_not_excuse_other_slices: [success_elsewhere_is_not_seen],
}


@pytest.mark.parametrize("check", MUTANTS, ids=lambda check: check.__name__)
def test_check_holds(hub_url, check):
    play(hub_url, check)


@each_mutant(MUTANTS)
def test_mutant_is_found(sqlite_hub, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        play(sqlite_hub, check)
