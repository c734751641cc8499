"""A node earns its load: one that claims to be large gets little of strangers' work before it has done some."""

from typing import Any

import pytest
from support.engine import ADMIN, ALICE, BOB, play
from support.fleets import STRANGER, make_needs, make_node
from support.scripted_agent import add_agent, measure

from computepool.hub.jobs.tables import Attempt
from computepool.hub.market.allowance import MeasuredCapacity, Trial
from computepool.hub.scheduling.room import how_many_fit
from computepool.hub.scheduling.why import explain_job

HUGE: dict[str, Any] = {"cpus": 4096, "memory_bytes": 2**50, "disk_bytes": 2**50}
ASKED = {"unproven_slices": 2}
"""As every pool has it, unless its operator says otherwise."""


def earned(url, story):
    play(url, story, settings=ASKED)


async def finish_one(pool, agent):
    await agent.run_next()
    await pool.settle(0.1)


def test_unmeasured_node_begins_with_one_slice_and_gets_more_as_they_end_well(hub_url):
    async def story(pool):
        agent = await add_agent(pool, **HUGE)
        await pool.submit(user=BOB, slices=30)
        await pool.settle()
        held = []
        for _ in range(8):
            held.append(len(agent.works))
            await finish_one(pool, agent)
        assert held == [1, 1, 2, 2, 3, 3, 4, 4]

    earned(hub_url, story)


def test_measured_node_begins_with_two_and_gets_one_more_with_each(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=4)
        await measure(agent)
        await pool.submit(user=BOB, slices=30, resources={"cpus": 0.1, "memory": "100MB"})
        await pool.settle()
        held = []
        for _ in range(4):
            held.append(len(agent.works))
            await finish_one(pool, agent)
        assert held == [2, 3, 4, 5]

    earned(sqlite_hub, story)


def test_claim_beyond_what_was_measured_is_worth_no_more(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, **HUGE)
        await measure(agent, core_gflops=40 / HUGE["cpus"])  # as fast as eight cores
        await pool.submit(user=BOB, slices=100)
        for _ in range(12):
            await finish_one(pool, agent)
        assert len(agent.works) == 8

    earned(sqlite_hub, story)


@pytest.mark.parametrize("who", ["owner", "marked", "simulated", "switched off"])
def test_who_is_exempt(sqlite_hub, who):
    async def story(pool):
        agent = await add_agent(pool, cpus=4, simulated=who == "simulated", tags=("simulated",))
        if who == "marked":
            await pool.call("POST", f"admin/nodes/{agent.node_id}/verify", user=ADMIN)
        where = {"where": {"tags": ["simulated"]}} if who == "simulated" else {}
        await pool.submit(user=ALICE if who == "owner" else BOB, slices=4, **where)
        await pool.settle()
        assert len(agent.works) == 4
        shown = await pool.call("GET", f"nodes/{agent.node_id}")
        assert shown.json()["slices_at_once"] == (1 if who == "owner" else None)

    play(sqlite_hub, story, settings={"unproven_slices": 0} if who == "switched off" else ASKED)


def test_what_was_earned_outlives_the_hub(hub_url):
    async def story(pool):
        agent = await add_agent(pool, cpus=8)
        await measure(agent)
        await pool.submit(user=BOB, slices=30)
        for _ in range(3):
            await finish_one(pool, agent)
        assert len(agent.works) == 5
        await pool.restart()
        await agent.connect()
        node = pool.engine.scheduler.fleet.get(agent.node_id)
        assert (node.strangers, len(node.attempts)) == (5, 5)
        await pool.settle()
        assert len(agent.works) == 5
        shown = await pool.call("GET", f"nodes/{agent.node_id}")
        assert shown.json()["slices_at_once"] == 5

    earned(hub_url, story)


def test_why_says_that_a_node_has_as_many_as_it_gets(sqlite_hub):
    async def story(pool):
        await add_agent(pool, cpus=64)
        job_id = await pool.submit(user=BOB, slices=2)
        await pool.settle()
        (group,) = await explain_job(pool.engine.context, pool.engine.scheduler, job_id)
        assert [gate.gate for gate in group.gates] == ["allowance"]
        assert group.summary == (
            "1 node could run it, but is at the limit of slices for others, which grows with each success:"
            " it runs when one of those has ended."
        )

    earned(sqlite_hub, story)


def test_quote_counts_as_many_slices_as_a_node_gets_at_once():
    node = make_node(owner_id=STRANGER, trial=Trial(2, MeasuredCapacity(64)), cpu_millis=64_000)
    assert how_many_fit(node, make_needs()) == 2
    assert how_many_fit(node, make_needs(owner_id=STRANGER)) > 2


# ── issue 15, row 10 ─────────────────────────────────────────────────────────────────────────────────────────────────


async def states_of(pool, jobs):
    return {(await pool.job(job_id, user=BOB)).state for job_id in jobs}


@pytest.mark.parametrize("tells", [True, False])
def test_free_node_that_claims_to_be_huge_and_begins_nothing_keeps_no_job(hub_url, tells):
    """It took 20 of 20 jobs for 6 hours, beside an honest node, and its record did not move."""

    async def story(pool):
        idle = await add_agent(pool, name="idle", **HUGE)
        idle.prepares = list if tells else None
        idle.beat_on()
        answer = await pool.call("PATCH", f"nodes/{idle.node_id}", {"price": {"fixed_micros": 0}})
        assert answer.status_code == 200, answer.text
        honest = await add_agent(pool, name="honest", owner=ADMIN, cpus=2)
        honest.serve(honest.do)
        jobs = [await pool.submit(user=BOB) for _ in range(20)]
        await pool.settle(5 * 60)
        assert await states_of(pool, jobs) == {"succeeded"}
        assert len(idle.commands) <= 3
        standing = pool.engine.scheduler.fleet.get(idle.node_id).traits.standing
        assert standing.mean < 0.5

    earned(hub_url, story)


@pytest.mark.parametrize("slices", [1, 20])
def test_twenty_nodes_that_decline_everything_cost_few_attempts_and_keep_no_job(sqlite_hub, slices):
    """20 jobs and 20 such nodes made 420 attempts in 9 s."""

    async def story(pool):
        for number in range(20):
            agent = await add_agent(pool, name=f"unwilling-{number}", **HUGE)
            agent.serve(agent.decline)
        jobs = [await pool.submit(user=BOB, slices=slices) for _ in range(20 // slices)]
        await pool.settle(9)
        assert len(pool.rows(Attempt)) <= 40
        honest = await add_agent(pool, name="honest", owner=ADMIN, cpus=2)
        honest.serve(honest.do)
        await pool.settle(5 * 60)
        assert await states_of(pool, jobs) == {"succeeded"}
        assert len(pool.rows(Attempt)) <= 20 * 6 + 20, "each of them is asked less and less often"

    earned(sqlite_hub, story)
