"""Replicas: the same slice at different owners, and what a majority of them says."""

import asyncio
import hashlib

import pytest
from support.checked_work import CAROL, DAVE, add_agents, answer, deliver
from support.engine import BOB, play, play_with_threads
from support.scripted_agent import add_agent

from computepool.hub.jobs.tables import Attempt, Job, Slice
from computepool.hub.trust.tables import Check
from computepool.protocol.capacity import Gpu
from computepool.protocol.messages import Stop

GIB = 1024**3
TWICE = {"deterministic": True, "verify": {"replicas": 2}, "outputs": ["out"]}
THRICE = {**TWICE, "verify": {"replicas": 3}}


def verdicts(pool):
    return sorted((row.verdict, row.reason) for row in pool.rows(Attempt))


async def outputs_of(pool, job_id):
    found = await pool.call("GET", f"jobs/{job_id}/artifacts")
    return [(one["slice"], one["path"], one["digest"]) for one in found.json()["items"]]


def test_a_slice_ends_when_its_replicas_agree(hub_url):
    async def story(pool):
        bob, carol = await add_agents(pool, BOB, CAROL)
        job_id = await pool.submit(**TWICE)
        first = await answer(bob)
        assert (await pool.job(job_id)).state == "running"
        second = await answer(carol)
        assert first.manifest.slice_index == second.manifest.slice_index == 0
        assert first.manifest.slices == second.manifest.slices == 1
        job = await pool.job(job_id)
        assert (job.state, job.verdict) == ("succeeded", "ok")
        assert [one.state for one in pool.rows(Check)] == ["valid"]
        assert {one.state for one in pool.rows(Job)} == {"succeeded"}
        assert not pool.engine.scheduler.briefs
        assert len(await outputs_of(pool, job_id)) == 1

    play(hub_url, story)


def test_replicas_are_not_in_the_list_of_jobs(sqlite_hub):
    async def story(pool):
        job_id = await pool.submit(**THRICE)
        listed = (await pool.call("GET", "jobs")).json()["items"]
        assert [one["id"] for one in listed] == [job_id]
        assert len(pool.rows(Job)) == 3

    play(sqlite_hub, story)


def test_two_nodes_of_one_owner_are_one_voice_so_the_second_replica_waits_and_why_says_so(sqlite_hub):
    async def story(pool):
        (bob,) = await add_agents(pool, BOB)
        await add_agent(pool, name="second", owner=BOB)
        job_id = await pool.submit(**TWICE)
        await answer(bob)
        await pool.settle(60)
        assert (await pool.job(job_id)).state == "running"
        why = (await pool.call("GET", f"jobs/{job_id}/why")).json()["waiting"]
        gates = {one["gate"]: one for one in why[0]["gates"]}
        assert gates["independent"]["removed"] == 2
        (carol,) = await add_agents(pool, CAROL)
        await answer(carol)
        assert (await pool.job(job_id)).state == "succeeded"

    play(sqlite_hub, story)


def test_others_of_the_same_renter_do_not_wait_behind_a_replica_that_finds_nobody(sqlite_hub):
    async def story(pool):
        (bob,) = await add_agents(pool, BOB)
        await pool.submit(**TWICE)
        await answer(bob)
        plain = await pool.submit()
        await bob.run_next()
        assert (await pool.job(plain)).state == "succeeded"

    play(sqlite_hub, story)


def test_a_majority_outvotes_one_and_its_result_is_delivered(hub_url):
    async def story(pool):
        agents = await add_agents(pool, BOB, CAROL, DAVE)
        job_id = await pool.submit(**THRICE)
        works = {agent: await agent.take_offer() for agent in agents}
        first = next(agent for agent, work in works.items() if work.manifest.job_id == job_id)
        for agent, work in works.items():
            await agent.update(work, "running")
            await deliver(agent, work, b"wrong" if agent is first else b"right")
        job = await pool.job(job_id)
        assert (job.state, job.verdict) == ("succeeded", "ok")
        assert verdicts(pool) == [("host", "digest_mismatch"), ("ok", "exited"), ("ok", "exited")]
        assert pool.attempt(works[first].id).verdict == "host"
        (found,) = pool.rows(Slice, job_id=job_id)
        assert found.result_attempt in {work.id for agent, work in works.items() if agent is not first}
        ((_, path, digest),) = await outputs_of(pool, job_id)
        assert (path, digest) == ("out", "sha256:" + hashlib.sha256(b"right").hexdigest())

    play(hub_url, story)


def test_a_tie_is_broken_by_one_more_owner(hub_url):
    async def story(pool):
        bob, carol = await add_agents(pool, BOB, CAROL)
        job_id = await pool.submit(**TWICE)
        await answer(bob, b"wrong")
        await answer(carol, b"right")
        assert (await pool.job(job_id)).state == "running"
        (dave,) = await add_agents(pool, DAVE)
        await answer(dave, b"right")
        assert (await pool.job(job_id)).state == "succeeded"
        assert verdicts(pool).count(("host", "digest_mismatch")) == 1

    play(hub_url, story)


def test_results_that_all_differ_are_the_renters_doing_and_all_are_paid(sqlite_hub):
    async def story(pool):
        agents = await add_agents(pool, BOB, CAROL, DAVE)
        job_id = await pool.submit(**TWICE)
        for place in range(3):
            await pool.settle(1)
            await answer(next(agent for agent in agents if agent.works), b"%d" % place)
        job = await pool.job(job_id)
        assert (job.state, job.verdict, job.reason) == ("failed", "renter", "not_deterministic")
        assert "not deterministic" in job.message
        assert {verdict for verdict, _ in verdicts(pool)} == {"ok"}

    play(sqlite_hub, story)


def test_replicas_run_on_one_kind_of_gpu(sqlite_hub):
    async def story(pool):
        def card(name):
            return (Gpu(id="0", name=name, slug=name, memory_bytes=24 * GIB),)

        await add_agents(pool, BOB, gpus=card("rtx-4090"))
        await add_agents(pool, CAROL, gpus=card("rtx-3090"))
        job_id = await pool.submit(**TWICE, resources={"gpu": 1})
        await pool.settle(60)
        running = [row for row in pool.rows(Attempt) if row.state == "leased"]
        assert len(running) == 1
        taken = pool.engine.scheduler.fleet.get(running[0].node_id).traits.gpus[0].slug
        (dave,) = await add_agents(pool, DAVE, gpus=card(taken))
        work = await dave.take_offer()
        assert work.manifest.grant.gpus == ("0",)
        assert (await pool.job(job_id)).state == "running"

    play(sqlite_hub, story)


def test_a_replica_that_fails_for_good_fails_the_slice_and_nobody_runs_on_for_nothing(sqlite_hub):
    async def story(pool):
        bob, carol, dave = await add_agents(pool, BOB, CAROL, DAVE)
        job_id = await pool.submit(**THRICE)
        works = {agent: await agent.take_offer() for agent in (bob, carol, dave)}
        for agent, work in works.items():
            await agent.update(work, "running")
        root = next(agent for agent, work in works.items() if work.manifest.job_id == job_id)
        other, last = (agent for agent in works if agent is not root)
        await deliver(root, works[root])
        await other.finish(works[other], exit_code=137, reason="memory")
        job = await pool.job(job_id)
        assert (job.state, job.verdict, job.reason) == ("failed", "renter", "replica_failed")
        stop = await last.expect(Stop)
        assert stop.attempt_id == works[last].id
        await last.finish(works[last], exit_code=None, reason="canceled")
        assert not pool.engine.scheduler.briefs

    play(sqlite_hub, story)


def test_a_canceled_job_cancels_its_replicas_and_does_not_wait_for_them(hub_url):
    async def story(pool):
        bob, carol = await add_agents(pool, BOB, CAROL)
        job_id = await pool.submit(**THRICE)
        work = await bob.take_offer()
        await bob.update(work, "running")
        await deliver(bob, work)
        assert [row.state for row in pool.rows(Check)] == ["open"]
        await pool.cancel(job_id)
        (check,) = pool.rows(Check)
        assert (check.state, check.decided_at) == ("abandoned", pool.clock.now())
        assert "canceled before" in check.detail
        theirs = await carol.take_offer()
        await carol.finish(theirs, exit_code=None, reason="canceled")
        assert {row.state for row in pool.rows(Job)} == {"canceled"}
        assert not pool.engine.scheduler.briefs
        assert not len(pool.engine.scheduler.queue)

    play(hub_url, story)


def test_an_answer_that_comes_after_the_cancel_decides_nothing_and_leaves_nothing_open(sqlite_hub):
    async def story(pool):
        bob, carol = await add_agents(pool, BOB, CAROL)
        job_id = await pool.submit(**TWICE)
        works = {agent: await agent.take_offer() for agent in (bob, carol)}
        root, other = sorted(works, key=lambda agent: works[agent].manifest.job_id != job_id)
        for agent, work in works.items():
            await agent.update(work, "running")
        await pool.cancel(job_id)
        await deliver(other, works[other])  # it was just done, and nobody had told it yet
        await root.finish(works[root], exit_code=None, reason="canceled")
        assert (await pool.job(job_id)).state == "canceled"
        assert {row.state for row in pool.rows(Check)} <= {"abandoned"}
        assert not pool.engine.scheduler.briefs

    play(sqlite_hub, story)


def test_answers_of_some_slices_after_the_cancel_harm_nobody(sqlite_hub):
    async def story(pool):
        bob, carol = await add_agents(pool, BOB, CAROL)
        job_id = await pool.submit(**TWICE, slices=2)
        taken = [(agent, await agent.take_offer()) for agent in (bob, carol, bob, carol)]
        for agent, work in taken:
            await agent.update(work, "running")
        await pool.cancel(job_id)
        for agent, work in taken:
            await deliver(agent, work)
        assert (await pool.job(job_id)).state != "running"
        assert {row.state for row in pool.rows(Check)} <= {"abandoned"}
        assert not pool.engine.scheduler.briefs

    play(sqlite_hub, story)


def test_a_restart_of_the_hub_forgets_nobodys_answer(hub_url):
    async def story(pool):
        bob, carol = await add_agents(pool, BOB, CAROL)
        job_id = await pool.submit(**THRICE)
        await answer(bob)
        await pool.restart()
        await bob.connect()
        await carol.connect()
        await answer(carol)
        await pool.settle(200)
        assert not bob.works, "its owner has answered already"
        (dave,) = await add_agents(pool, DAVE)
        await answer(dave)
        assert (await pool.job(job_id)).state == "succeeded"

    play(hub_url, story)


def test_a_replica_that_is_lost_goes_to_another(sqlite_hub):
    async def story(pool):
        bob, carol = await add_agents(pool, BOB, CAROL)
        job_id = await pool.submit(**TWICE)
        await answer(bob)
        lost = await carol.take_offer()
        await carol.gone(lost)
        await carol.disconnect()
        (dave,) = await add_agents(pool, DAVE)
        await answer(dave)
        assert (await pool.job(job_id)).state == "succeeded"

    play(sqlite_hub, story)


def test_every_slice_has_its_own_replicas(sqlite_hub):
    async def story(pool):
        agents = await add_agents(pool, BOB, CAROL, cpus=8)
        job_id = await pool.submit(**TWICE, slices=3)
        await pool.settle(1)
        for agent in agents:
            assert sorted(work.manifest.slice_index for work in agent.works.values()) == [0, 1, 2]
            for work in list(agent.works.values()):
                await agent.update(work, "running")
                await deliver(agent, work, b"%d" % work.manifest.slice_index)
        job = await pool.job(job_id)
        assert (job.state, job.counts) == ("succeeded", {"succeeded": 3})

    play(sqlite_hub, story)


def test_the_renter_sees_the_replicas_and_who_differs(sqlite_hub):
    async def story(pool):
        bob, carol = await add_agents(pool, BOB, CAROL)
        job_id = await pool.submit(**TWICE)
        await answer(bob, b"wrong")
        (part,) = (await pool.call("GET", f"jobs/{job_id}")).json()["slices"]
        assert part["awaits_check"]
        await answer(carol)
        (dave,) = await add_agents(pool, DAVE)
        await answer(dave)
        found = (await pool.call("GET", f"jobs/{job_id}/checks")).json()
        replicas = sorted((one["node_name"], one["agrees"]) for one in found["replicas"])
        assert replicas == [(CAROL, True), (DAVE, True)]
        assert [(one["kind"], one["state"], one["detail"]) for one in found["checks"]] == [
            ("replicas", "valid", "2 of 3 agree")
        ]
        (part,) = (await pool.call("GET", f"jobs/{job_id}")).json()["slices"]
        assert not part["awaits_check"]

    play(sqlite_hub, story)


@pytest.mark.parametrize("where", [{"trust": "mine"}, {"node": "node_01j9zxy3v8k5m2n4p6q7r8s9ta"}])
def test_replicas_where_there_can_be_only_one_owner_are_refused(sqlite_hub, where):
    async def story(pool):
        answered = await pool.call("POST", "jobs", {"run": "true", **TWICE, "where": where})
        assert answered.status_code == 422
        assert "several owners" in answered.text

    play(sqlite_hub, story)


def test_replicas_that_answer_at_the_same_moment_decide_once(hub_url):
    """In threads, as in production: whoever is second waits for the lock of the job whose result it is."""

    async def story(pool):
        agents = await add_agents(pool, BOB, CAROL, DAVE, cpus=8)
        job_id = await pool.submit(**THRICE, slices=4)

        async def work_off(agent):
            for work in [await agent.take_offer() for _ in range(4)]:
                await agent.update(work, "running")
                await deliver(agent, work, b"wrong" if agent is agents[0] else b"right")

        await asyncio.gather(*map(work_off, agents))
        job = await pool.job(job_id)
        assert (job.state, job.counts) == ("succeeded", {"succeeded": 4})
        assert [verdict for verdict, _ in verdicts(pool)] == ["host"] * 4 + ["ok"] * 8
        assert [one.state for one in pool.rows(Check)] == ["valid"] * 4
        assert not pool.engine.scheduler.briefs

    play_with_threads(hub_url, story)
