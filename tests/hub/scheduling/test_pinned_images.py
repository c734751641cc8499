"""What an image's name meant to a job's first attempt holds for its others, on any node and after a restart."""

from typing import Any

from support.engine import play
from support.scripted_agent import add_agent

from computepool.hub.jobs.tables import Job
from computepool.protocol.messages import Update
from computepool.protocol.states import IsolationLevel

FIRST, SECOND = "sha256:" + "1" * 64, "sha256:" + "2" * 64
SPEC = {"run": "true", "image": "python:3.12-slim", "slices": 3, "retries": 1}
ONE_AT_A_TIME: dict[str, Any] = {"cpus": 1, "isolation": (IsolationLevel.CONTAINER,)}


async def runs(agent, work, digest):
    update = Update(
        **work.ref.model_dump(),
        sequence=work.next_sequence(),
        state="running",
        isolation=IsolationLevel.CONTAINER,
        image_digest=digest,
    )
    await agent.answer_to(update)


def test_first_answer_holds_for_every_later_attempt(hub_url):
    async def story(pool):
        agent = await add_agent(pool, **ONE_AT_A_TIME)
        job = (await pool.call("POST", "jobs", SPEC)).json()["id"]
        first = await agent.take_offer()
        assert (first.manifest.image, first.manifest.image_digest) == ("python:3.12-slim", None)
        await runs(agent, first, FIRST)
        await agent.finish(first)
        second = await agent.take_offer()
        assert second.manifest.image_digest == FIRST
        # Whatever a later node says, the first answer stays.
        await runs(agent, second, SECOND)
        assert pool.rows(Job)[0].image_digest == FIRST
        await agent.disconnect()
        await pool.restart()
        await agent.connect()
        await agent.finish(second)
        third = await agent.take_offer()
        assert (third.manifest.job_id, third.manifest.image_digest) == (job, FIRST)

    play(hub_url, story)


def test_what_is_no_digest_pins_nothing(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, **ONE_AT_A_TIME)
        await pool.call("POST", "jobs", SPEC)
        first = await agent.take_offer()
        await runs(agent, first, "sha256:; rm -rf /")
        await agent.finish(first)
        assert (await agent.take_offer()).manifest.image_digest is None
        assert pool.rows(Job)[0].image_digest is None

    play(sqlite_hub, story)
