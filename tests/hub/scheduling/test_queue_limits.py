"""What waits is kept in the hub's memory: one owner's has a size. Row 12 of the attacks."""

import pytest
from support.engine import ALICE, BOB, play
from support.scripted_agent import add_agent

from computepool.hub.core.settings import Settings
from computepool.hub.jobs.errors import QueueFull

NOBODY_CAN = {"resources": {"cpus": 4000}}


async def refused(pool, **spec):
    answer = await pool.call("POST", "jobs", {"run": ["true"], **NOBODY_CAN, **spec})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "queue_full"), answer.text
    return answer.json()["error"]["message"]


def test_one_large_sweep_fits_and_forty_do_not():
    settings = Settings()
    assert 10_000 <= settings.limit_queued_slices < 40 * 10_000
    assert settings.limit_queued_bytes < 400 * 200 * 1024


def test_owner_has_only_so_many_slices_waiting(hub_url):
    async def story(pool):
        first = await pool.submit(slices=60, **NOBODY_CAN)
        assert "60 of your slices wait" in await refused(pool, slices=41)
        await pool.submit(slices=40, **NOBODY_CAN)
        await refused(pool)
        await pool.submit(slices=100, user=BOB, **NOBODY_CAN)
        await pool.restart()
        await refused(pool)
        await pool.cancel(first)
        limits = (await pool.call("GET", "me/limits")).json()
        assert (limits["queued_slices"], limits["limit_queued_slices"]) == (40, 100)
        await pool.submit(slices=60, **NOBODY_CAN)

    play(hub_url, story, settings={"limit_queued_slices": 100})


def test_replicas_wait_too(sqlite_hub):
    async def story(pool):
        with pytest.raises(QueueFull):
            await pool.submit(slices=40, deterministic=True, verify={"replicas": 3}, **NOBODY_CAN)

    play(sqlite_hub, story, settings={"limit_queued_slices": 100})


def test_specs_of_open_jobs_have_a_size(sqlite_hub):
    async def story(pool):
        large = {"env": {"LARGE": "x" * 100_000}}
        jobs = [await pool.submit(**NOBODY_CAN, **large) for _ in range(10)]
        assert "take 1 MB" in await refused(pool, **large)
        await pool.restart()
        await refused(pool, **large)
        await pool.cancel(jobs[0])
        await pool.submit(**NOBODY_CAN, **large)

    play(sqlite_hub, story, settings={"limit_queued_bytes": 1024**2})


def test_what_runs_does_not_wait_and_what_comes_back_is_never_sent_away(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=4)
        await pool.submit(slices=2)
        works = [await agent.take_offer(), await agent.take_offer()]
        assert pool.engine.scheduler.queue.count_of(ALICE) == 0
        await pool.submit(slices=2, **NOBODY_CAN)
        for work in works:
            await agent.gone(work)
        assert pool.engine.scheduler.queue.count_of(ALICE) == 4
        await refused(pool)

    play(sqlite_hub, story, settings={"limit_queued_slices": 2})
