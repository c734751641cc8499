"""Who gets which node, and when: event-driven, in order, without a deadlock."""

import asyncio
from datetime import timedelta

import pytest
from support.engine import ALICE, BOB, play
from support.fleets import gpu
from support.scripted_agent import add_agent

from computepool.hub.core.idempotency import KeyReused
from computepool.hub.scheduling.fleet import give_room_back
from computepool.protocol.messages import Offer
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import IsolationLevel, JobState

BIG = {"resources": {"cpus": 2}}


# ── at once ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_submit_that_finds_a_free_node_is_leased_in_the_same_commit(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        pool.db.commits.clear()
        job_id = await pool.submit(key="k1")
        assert pool.db.commits == ["store"]
        assert (await pool.job(job_id)).state == "running"
        await agent.take_offer()
        await pool.settle()
        assert pool.db.commits == ["store"]

    play(hub_url, story)


def test_freed_node_starts_the_next_slice_without_any_timer(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        jobs = [await pool.submit(**BIG) for _ in range(4)]
        began = pool.clock.now()
        for job_id in jobs:
            work = await agent.run_next()
            assert work.manifest.job_id == job_id
        assert pool.clock.now() - began < timedelta(seconds=1)

    play(sqlite_hub, story)


def test_new_node_takes_what_waits_at_once(sqlite_hub):
    async def story(pool):
        job_id = await pool.submit()
        assert (await pool.job(job_id)).state == "queued"
        agent = await add_agent(pool)
        assert (await agent.take_offer()).manifest.job_id == job_id

    play(sqlite_hub, story)


def test_many_slices_fill_the_room_and_no_more(sqlite_hub):
    async def story(pool):
        agents = [await add_agent(pool, cpus=3, name=f"n{i}") for i in range(2)]
        job_id = await pool.submit(slices=100)
        await pool.settle()
        counts = (await pool.job(job_id)).counts
        assert counts == {"running": 6, "queued": 94}
        assert [len(agent.unread(Offer)) for agent in agents] == [3, 3]
        seen = [agent.open(offer.manifest).slice_index for agent in agents for offer in agent.unread(Offer)]
        assert sorted(seen) == [0, 1, 2, 3, 4, 5]

    play(sqlite_hub, story)


# ── in which order ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_priority_goes_first_then_age(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(**BIG)
        low, first, urgent, second = [await pool.submit(**BIG, priority=priority) for priority in (-5, 0, 50, 0)]
        await agent.run_next()
        order = [(await agent.run_next()).manifest.job_id for _ in range(4)]
        assert order == [urgent, first, second, low]

    play(sqlite_hub, story)


def test_lines_of_two_owners_are_served_by_what_they_had_and_not_one_after_the_other(sqlite_hub):
    """Two slots become free at once. Whoever came first has only the first of them; and then whoever had nothing of
    other people's nodes."""

    async def story(pool):
        agent = await add_agent(pool)
        first = [await pool.submit() for _ in range(2)]
        waiting = [await pool.submit(user=user) for user in (ALICE, BOB, BOB, ALICE)]
        works = [await agent.take_offer() for _ in first]
        with pool.db.held("end_attempt"):
            for work in works:
                await agent.send(agent.finished(work))
            await pool.settle()
        assert [(await agent.take_offer()).manifest.job_id for _ in range(2)] == waiting[:2]
        for work in list(agent.works.values())[-2:]:
            await agent.finish(work)
        assert [(await agent.take_offer()).manifest.job_id for _ in range(2)] == [waiting[3], waiting[2]]

    play(sqlite_hub, story)


def test_priority_of_one_renter_does_not_let_it_pass_another(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(**BIG)
        low = await pool.submit(**BIG, user=ALICE, priority=-100)
        other = await pool.submit(**BIG, user=BOB)
        urgent = await pool.submit(**BIG, user=ALICE, priority=100)
        await agent.run_next()
        order = [(await agent.run_next()).manifest.job_id for _ in range(3)]
        assert order == [other, urgent, low]  # before its owner's own older one, and before nobody else

    play(sqlite_hub, story)


def test_blocked_head_does_not_block_other_lines(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        impossible = await pool.submit(resources={"cpus": 64}, priority=100)
        possible = await pool.submit()
        assert (await agent.take_offer()).manifest.job_id == possible
        assert (await pool.job(impossible)).state == "queued"

    play(sqlite_hub, story)


def test_newcomer_does_not_take_the_room_that_somebody_waits_for(sqlite_hub):
    """Room was given back a moment ago and the dispatcher has not had its turn."""

    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(**BIG)
        first = await agent.take_offer()
        waiting = await pool.submit(**BIG, priority=10)
        scheduler = pool.engine.scheduler
        node = scheduler.fleet.get(agent.node_id)
        give_room_back(node, first.id)
        scheduler.wake()
        newcomer = await pool.submit(**BIG)
        assert (await agent.take_offer()).manifest.job_id == waiting
        assert (await pool.job(newcomer)).state == "queued"

    play(sqlite_hub, story)


def test_room_that_a_refused_submit_held_for_a_moment_is_not_lost_to_those_who_looked(hub_url):
    """A repeated submit takes room, finds its twin, and gives the room back: whoever came meanwhile must hear of it."""

    async def story(pool):
        first = await pool.submit(**BIG, key="k")
        await pool.cancel(first)
        agent = await add_agent(pool)
        with pool.db.held("store") as waits:
            twin = asyncio.create_task(pool.submit(**BIG, key="k"))
            await waits.wait()
            job = asyncio.create_task(pool.submit(**BIG))
            await pool.settle()
        assert await twin == first
        assert (await agent.take_offer()).manifest.job_id == await job

    play(hub_url, story)


def test_room_that_a_failed_submit_held_is_given_back(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(**BIG, key="k")
        await agent.run_next()
        with pytest.raises(KeyReused):
            await pool.submit(**BIG, key="k", env={"changed": "body"})
        await pool.submit(**BIG)
        await agent.take_offer()

    play(sqlite_hub, story)


# ── callers who give up ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("when", ["before", "after"])
def test_submit_whose_caller_gave_up_during_the_commit_is_still_scheduled(hub_url, when):
    """The commit happens all the same: then the job must not be one that only the database knows of."""

    async def story(pool):
        agent = await add_agent(pool)
        with pool.db.held("store", when) as waits:
            submitting = asyncio.create_task(pool.submit(**BIG, slices=2))
            await waits.wait()
            submitting.cancel()
            await pool.settle()
        with pytest.raises(asyncio.CancelledError):
            await submitting
        slices = [(await agent.run_next()).manifest.slice_index for _ in range(2)]
        assert slices == [0, 1]
        node = pool.engine.scheduler.fleet.get(agent.node_id)
        assert (node.attempts, node.free.cpu_millis) == ({}, 2000)

    play(hub_url, story)


def test_submit_that_failed_after_its_caller_gave_up_leaves_nothing(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(**BIG, key="k")
        await agent.run_next()
        with pool.db.held("store") as waits:
            submitting = asyncio.create_task(pool.submit(**BIG, key="k", env={"changed": "body"}))
            await waits.wait()
            submitting.cancel()
        await pool.settle()
        assert pool.engine.scheduler.fleet.get(agent.node_id).free.cpu_millis == 2000
        assert len(pool.engine.scheduler.briefs) == 0

    play(sqlite_hub, story)


def test_lease_that_is_being_committed_when_the_hub_stops_is_offered_all_the_same(hub_url):
    async def story(pool):
        job_id = await pool.submit()
        with pool.db.held("lease", "after") as waits:
            agent = await add_agent(pool)
            await waits.wait()
            stopping = asyncio.create_task(pool.engine.stop())
            await pool.settle()
            assert not stopping.done()
        await stopping
        assert (await agent.take_offer()).manifest.job_id == job_id

    play(hub_url, story)


# ── what was tried before ────────────────────────────────────────────────────────────────────────────────────────────


def test_pool_of_one_node_never_deadlocks_on_a_node_that_failed(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit()
        gaps, last = [], pool.clock.now()
        for _ in range(6):
            work = await agent.take_offer()
            gaps.append(round((pool.clock.now() - last).total_seconds()))
            await agent.finish(work, reason=EndReason.SANDBOX, exit_code=None)
            last = pool.clock.now()
        assert gaps == [0, 1, 2, 4, 8, 16]  # after a backoff, each time
        await agent.run_next()
        assert (await pool.job(job_id)).state == "succeeded"

    play(sqlite_hub, story)


def test_another_node_is_used_at_once_after_a_hosts_failure(sqlite_hub):
    async def story(pool):
        bad = await add_agent(pool, name="bad")
        job_id = await pool.submit()
        work = await bad.take_offer()
        good = await add_agent(pool, name="good")
        failed_at = pool.clock.now()
        await bad.finish(work, reason=EndReason.SANDBOX, exit_code=None)
        assert (await good.take_offer()).manifest.job_id == job_id
        assert (pool.clock.now() - failed_at).total_seconds() < 1

    play(sqlite_hub, story)


def test_renters_failure_is_tried_again_after_a_backoff_and_holds_back_nobody(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        failing = [await pool.submit(**BIG, retries=3) for _ in range(3)]
        for _ in failing:
            await agent.run_next(exit_code=1)
        failed_at = pool.clock.now()
        fresh = await pool.submit(**BIG)
        assert (await agent.run_next()).manifest.job_id == fresh
        again = [(await agent.run_next()).manifest.job_id for _ in failing]
        assert sorted(again) == sorted(failing)
        assert (pool.clock.now() - failed_at).total_seconds() >= 1

    play(sqlite_hub, story)


def test_many_who_wait_for_their_second_try_hide_nobody(sqlite_hub):
    """More of them than are looked at in one go, all in front."""

    async def story(pool):
        agent = await add_agent(pool, cpus=150, memory_bytes=400 * 1024**3, disk_bytes=400 * 1024**3)
        await pool.submit(slices=150, retries=5)
        for work in [await agent.take_offer() for _ in range(150)]:
            await agent.finish(work, exit_code=1)
        fresh = await pool.submit()
        assert (await agent.take_offer()).manifest.job_id == fresh

    play(sqlite_hub, story)


def test_wake_up_that_comes_before_its_time_is_repeated(sqlite_hub):
    """Timers and the wall clock do not run alike: a slice must not sleep on because it was woken a moment too early."""

    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(retries=1)
        await agent.run_next(exit_code=1)
        pool.clock.wall_error_seconds -= 30  # the clock is set back
        began = asyncio.get_running_loop().time()
        await agent.take_offer()
        assert 30 < asyncio.get_running_loop().time() - began < 33

    play(sqlite_hub, story)


def test_dispatch_goes_on_after_the_database_failed(sqlite_hub):
    async def story(pool):
        job_id = await pool.submit()
        real, failures = pool.db.run, iter([True, True])

        async def failing(fn, *args, **kwargs):
            if fn.__name__ == "lease" and next(failures, False):
                raise OSError("the disk is full")
            return await real(fn, *args, **kwargs)

        pool.db.run = failing
        agent = await add_agent(pool)
        assert (await agent.take_offer()).manifest.job_id == job_id
        node = pool.engine.scheduler.fleet.get(agent.node_id)
        assert node.free.cpu_millis == 1000

    play(sqlite_hub, story)


def test_slice_canceled_while_it_is_being_leased_gets_no_attempt(hub_url):
    async def story(pool):
        job_id = await pool.submit()
        with pool.db.held("lease") as waits:
            agent = await add_agent(pool)
            await waits.wait()
            await pool.cancel(job_id)
        await pool.settle()
        assert agent.unread(Offer) == []
        view = await pool.job(job_id)
        assert (view.state, view.slices[0].attempts) == (JobState.CANCELED, [])
        node = pool.engine.scheduler.fleet.get(agent.node_id)
        assert (node.attempts, node.free.cpu_millis) == ({}, 2000)

    play(hub_url, story)


# ── on which node ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_strangers_job_goes_to_no_node_without_a_sandbox(sqlite_hub):
    async def story(pool):
        bare = await add_agent(pool, isolation=(IsolationLevel.PROCESS,), owner=ALICE)
        job_id = await pool.submit(user=BOB)
        await pool.settle()
        assert bare.unread(Offer) == []
        assert (await pool.job(job_id, user=BOB)).state == "queued"
        mine = await pool.submit(user=ALICE)
        work = await bare.take_offer()
        assert (work.manifest.job_id, work.manifest.own, work.manifest.isolation) == (mine, True, "process")

    play(sqlite_hub, story)


def test_gpus_are_whole_and_named_in_the_manifest(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=8, gpus=(gpu(0), gpu(1)))
        for _ in range(3):
            await pool.submit(resources={"gpu": 1})
        works = [await agent.take_offer() for _ in range(2)]
        assert sorted(work.manifest.grant.gpus for work in works) == [("gpu-0",), ("gpu-1",)]
        await pool.settle()
        assert agent.unread(Offer) == []
        freed = works[0].manifest.grant.gpus
        await agent.update(works[0], "running")
        await agent.finish(works[0])
        assert (await agent.take_offer()).manifest.grant.gpus == freed

    play(sqlite_hub, story)


def test_fence_of_a_restored_hub_is_greater_than_any_before(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(retries=5)
        fences = []
        for epoch in (1, 2, 1_900_000_000):
            pool.fence_epoch = epoch
            await pool.restart()
            agent.reborn()
            await agent.connect()
            work = await agent.take_offer()
            fences.append(work.fence)
            await agent.finish(work, exit_code=1)
        assert fences == sorted(set(fences))
        assert fences[-1] < 2**53  # every JSON reader keeps it exactly

    play(sqlite_hub, story)
