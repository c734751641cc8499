"""Slices are scheduled and retried on their own; the job ends as its worst slice did."""

import itertools

import pytest
from support.engine import play
from support.scripted_agent import add_agent
from support.truth import FAILED, LOST, OK

from computepool.hub.jobs.policy import Ending, job_end
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import Verdict
from computepool.protocol.timing import LOST_LIMIT

GOOD = ("succeeded", "ok", 0, "exited")
BAD = ("failed", "renter", 3, "exited")
MEMORY = ("failed", "renter", 137, "memory")
GIVEN_UP = ("failed", "host", None, "lease_expired")
CANCELED = ("canceled", "renter", None, "canceled")
NEVER_RAN = ("canceled", None, None, None)


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        ([GOOD], GOOD),
        ([GOOD, BAD], BAD),
        ([BAD, GIVEN_UP], GIVEN_UP),
        ([GOOD, CANCELED], CANCELED),
        ([BAD, CANCELED], CANCELED),
        ([GIVEN_UP, CANCELED, GOOD], CANCELED),
        ([NEVER_RAN], CANCELED),
        ([NEVER_RAN, CANCELED], CANCELED),
    ],
)
def test_job_ends_as_its_worst_slice(slices, expected):
    for order in itertools.permutations(slices):
        state, values = job_end(order)
        assert (state, values["verdict"], values["exit_code"], values["reason"]) == expected


@pytest.mark.parametrize("order", list(itertools.permutations([0, 1, 2])))
def test_message_is_the_worst_slices_in_whatever_order_they_end(truth, order):
    job_id = truth.add_job(slices=3)
    helds = [truth.lease(job_id, index) for index in range(3)]
    ends = [OK, FAILED, Ending(Verdict.OK, "exited", 0)]
    finals = [truth.end(helds[index], ends[index]).job_final for index in order]
    assert finals == [False, False, True]
    job = truth.job(job_id)
    assert (job.state, job.verdict, job.exit_code) == ("failed", "renter", 1)
    assert job.message == "The command ended with exit code 1."


def test_slice_that_the_pool_gave_up_on_is_worse_than_one_that_failed(truth):
    job_id = truth.add_job(slices=2)
    for _ in range(LOST_LIMIT):
        truth.end(truth.lease(job_id, 0), LOST)
    truth.end(truth.lease(job_id, 1), FAILED)
    job = truth.job(job_id)
    assert (job.state, job.verdict) == ("failed", "host")
    assert job.message == "10 attempts were lost (the last one: lease_expired), so the job was not tried again."


def test_each_slice_has_its_own_attempts_fences_and_retries(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=3)
        job_id = await pool.submit(slices=3, retries=1)
        works = {work.manifest.slice_index: work for work in [await agent.take_offer() for _ in range(3)]}
        assert sorted(works) == [0, 1, 2]
        assert {work.manifest.slices for work in works.values()} == {3}
        await agent.finish(works[0])
        await agent.finish(works[1], exit_code=1)
        await agent.finish(works[2], exit_code=None, reason=EndReason.SANDBOX)
        again = {work.manifest.slice_index: work for work in [await agent.take_offer() for _ in range(2)]}
        assert sorted(again) == [1, 2]
        for index, work in again.items():
            assert work.fence > works[index].fence
            await agent.finish(work)
        view = await pool.job(job_id)
        assert (view.state, view.counts) == ("succeeded", {"succeeded": 3})
        assert [[a.verdict for a in part.attempts] for part in view.slices] == [
            ["ok"],
            ["renter", "ok"],
            ["host", "ok"],
        ]

    play(sqlite_hub, story)


def test_job_with_many_slices_is_stored_and_shown_whole(hub_url):
    async def story(pool):
        job_id = await pool.submit(slices=2500)
        view = await pool.job(job_id)
        assert view.counts == {"queued": 2500}
        assert len(view.slices) == 1000  # the first thousand are shown
        assert len(pool.engine.scheduler.queue) == 2500
        assert (await pool.cancel(job_id)).counts == {"canceled": 2500}

    play(hub_url, story)
