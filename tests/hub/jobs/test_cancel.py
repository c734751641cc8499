"""Cancel at every state, and what becomes of the job."""

import pytest
from support.engine import play
from support.scripted_agent import add_agent

from computepool.protocol.messages import Offer, ReportAck, Stop
from computepool.protocol.receipt import EndReason


async def work_in(pool, state):
    agent = await add_agent(pool)
    agent.beat_on()
    await pool.submit(retries=5)
    work = await agent.take_offer()
    for step in {"leased": [], "preparing": ["preparing"], "running": ["running"],
                 "suspended": ["running", "suspended"], "finishing": ["running", "finishing"]}[state]:  # fmt: skip
        await agent.update(work, step)
    return agent, work


def test_queued_job_is_canceled_at_once(hub_url):
    async def story(pool):
        job_id = await pool.submit(slices=3)
        view = await pool.cancel(job_id)
        assert (view.state, view.verdict, view.reason, view.counts) == (
            "canceled",
            "renter",
            "canceled",
            {"canceled": 3},
        )
        assert view.cancel_requested_at is not None
        assert view.finished_at is not None
        agent = await add_agent(pool)
        await pool.settle(100)
        assert agent.unread(Offer) == []
        assert (len(pool.engine.scheduler.queue), pool.engine.scheduler.briefs) == (0, {})

    play(hub_url, story)


def test_node_is_told_though_whoever_canceled_went_away(sqlite_hub):
    """Between the commit and the word to the node."""

    async def story(pool):
        agent, work = await work_in(pool, "running")
        with pool.db.held("_cancel", "after") as waits:
            asking = pool.loop.create_task(pool.call("POST", f"jobs/{work.manifest.job_id}/cancel"))
            await waits.wait()
            asking.cancel()
            await pool.settle()
        assert (await agent.expect(Stop)).reason == "canceled"

    play(sqlite_hub, story)


@pytest.mark.parametrize("state", ["leased", "preparing", "running", "suspended", "finishing"])
@pytest.mark.parametrize("answer", ["canceled", "finished first", "failed first", "never"])
def test_job_on_a_node_is_told_to_stop_and_ends_when_it_has(sqlite_hub, state, answer):
    async def story(pool):
        agent, work = await work_in(pool, state)
        view = await pool.cancel(work.manifest.job_id)
        assert view.state == "running"
        assert (await agent.expect(Stop)).reason == "canceled"
        match answer:
            case "canceled":
                await agent.finish(work, exit_code=None, reason=EndReason.CANCELED)
                expected = ("canceled", "renter", "canceled")
            case "finished first":
                await agent.finish(work)
                expected = ("succeeded", "ok", "exited")
            case "failed first":  # it had retries left, which a canceled job does not use
                await agent.finish(work, exit_code=3)
                expected = ("canceled", "renter", "exited")
            case _:
                agent.vanish()
                await pool.settle(150)
                expected = ("canceled", "host", "lease_expired")
        view = await pool.job(work.manifest.job_id)
        assert (view.state, view.verdict, view.reason) == expected
        assert len(view.slices[0].attempts) == 1
        assert (len(pool.engine.scheduler.queue), pool.engine.scheduler.briefs) == (0, {})

    play(sqlite_hub, story)


def test_lost_attempts_job_is_canceled_at_once_and_its_late_result_is_superseded(hub_url):
    async def story(pool):
        agent, work = await work_in(pool, "running")
        agent.stop_beating()
        await pool.settle(150)
        view = await pool.cancel(work.manifest.job_id)
        assert (view.state, view.verdict, view.reason) == ("canceled", "renter", "canceled")
        assert isinstance(await agent.finish(work), ReportAck)
        assert (await pool.job(work.manifest.job_id)).state == "canceled"
        assert pool.attempt(work.id).state == "superseded"

    play(hub_url, story)


@pytest.mark.parametrize("exit_code", [0, 1])
def test_final_job_cannot_be_canceled_any_more(sqlite_hub, exit_code):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit()
        await agent.run_next(exit_code=exit_code)
        before = pool.truth()
        view = await pool.cancel(job_id)
        assert view.state == ("failed" if exit_code else "succeeded")
        assert view.cancel_requested_at is None
        assert pool.truth() == before

    play(sqlite_hub, story)


def test_some_slices_run_and_others_wait(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=2)
        job_id = await pool.submit(slices=5)
        works = [await agent.take_offer() for _ in range(2)]
        await agent.finish(works[0])
        third = await agent.take_offer()
        view = await pool.cancel(job_id)
        assert (view.state, view.counts) == ("running", {"succeeded": 1, "running": 2, "canceled": 2})
        assert {(await agent.expect(Stop)).attempt_id for _ in range(2)} == {works[1].id, third.id}
        await agent.finish(works[1])
        await agent.finish(third, exit_code=None, reason=EndReason.CANCELED)
        view = await pool.job(job_id)
        assert (view.state, view.counts) == ("canceled", {"succeeded": 2, "canceled": 3})
        await pool.settle(100)
        assert agent.unread(Offer) == []

    play(sqlite_hub, story)


def test_cancel_twice_is_told_as_once(sqlite_hub):
    async def story(pool):
        _, work = await work_in(pool, "running")
        first = await pool.cancel(work.manifest.job_id)
        await pool.settle(10)
        second = await pool.cancel(work.manifest.job_id)
        assert first.cancel_requested_at == second.cancel_requested_at

    play(sqlite_hub, story)


def test_offer_that_never_arrived_is_not_made_again_for_a_canceled_job(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        agent.pipe.deaf = True
        job_id = await pool.submit()
        await pool.cancel(job_id)
        await pool.restart()
        await agent.connect()
        await pool.settle()
        assert agent.unread(Offer) == []
        view = await pool.job(job_id)
        assert (view.state, view.slices[0].attempts[0].verdict) == ("canceled", "hub")

    play(sqlite_hub, story)
