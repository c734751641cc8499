"""What is deleted disappears from a real S3 bucket, also when the hub dies in the middle of it."""

import asyncio

import pytest
from support.buckets import Bucket
from support.checkpoints import save
from support.engine import ALICE, play
from support.scripted_agent import add_agent, digest
from support.stored import put_outputs, usage

from computepool.hub.artifacts import freeing, repository
from computepool.hub.artifacts.usage import Amount
from computepool.hub.jobs import removal
from computepool.hub.jobs.tables import Job

TIDIED_SECONDS = 2 * 3600.0
"""Virtual: the hub's own hourly work has run by then."""


async def fill(pool):
    """A bundle that is a job's, an input that is none's, and a job with a log, an output and a checkpoint."""
    bundle, data = [await stored(pool, text, kind) for text, kind in ((b"a bundle", "bundle"), (b"data", "input"))]
    agent = await add_agent(pool)
    job_id = (await pool.call("POST", f"jobs?bundle={bundle}", {"run": ["true"]})).json()["id"]
    work = await agent.take_offer()
    await agent.update(work, "running")
    await agent.write_log(work, b"a line\n")
    await save(pool, agent, work, 1, step=b"one")
    await agent.finish(work, outputs=await put_outputs(pool, agent, work, result=b"42"))
    await pool.settle()
    await agent.disconnect()
    assert len(pool.store.names) == 5, pool.store.names
    assert usage(pool, ALICE) == Amount(24, 5)
    return job_id, [bundle, data]


async def stored(pool, data, kind):
    announced = {"digest": digest(data), "size_bytes": len(data), "kind": kind}
    found = (await pool.call("POST", "artifacts", announced)).json()
    for part in found["uploads"]:
        pool.store.put(part["url"].removeprefix("memory:"), data)
    return (await pool.call("POST", f"artifacts/{found['id']}/complete")).json()["id"]


async def delete_all(pool, job_id, artifacts):
    for path in (f"jobs/{job_id}", *(f"artifacts/{artifact_id}" for artifact_id in artifacts)):
        assert (await pool.call("DELETE", path)).status_code == 204
        assert (await pool.call("GET", path)).status_code == 404


def test_objects_of_deleted_jobs_and_artifacts_are_gone_from_the_bucket(sqlite_hub, s3):
    async def story(pool):
        await delete_all(pool, *await fill(pool))
        assert pool.store.names == []
        assert usage(pool, ALICE) == Amount()

    play(sqlite_hub, story, store=Bucket(s3))


def test_hub_that_died_before_the_objects_were_deleted_deletes_them_after_its_start(hub_url, s3):
    async def story(pool):
        job_id, artifacts = await fill(pool)
        pool.store.is_broken = True
        await delete_all(pool, job_id, artifacts)
        assert len(pool.store.names) == 5
        assert usage(pool, ALICE) == Amount(24, 5), "what is still there counts"
        await pool.restart()
        pool.store.is_broken = False
        await asyncio.sleep(TIDIED_SECONDS)
        assert pool.store.names == []
        assert usage(pool, ALICE) == Amount()
        assert pool.rows(Job)[0].logs_removed_at is not None

    play(hub_url, story, store=Bucket(s3))


def test_hub_that_died_after_the_objects_were_deleted_counts_them_no_more_after_its_start(sqlite_hub, s3, monkeypatch):
    async def story(pool):
        job_id, artifacts = await fill(pool)
        with monkeypatch.context() as plant:
            plant.setattr(freeing, "note_freed", died)
            await delete_all(pool, job_id, artifacts)
        assert usage(pool, ALICE).objects >= 3
        await pool.restart()
        await asyncio.sleep(TIDIED_SECONDS)
        assert pool.store.names == []
        assert usage(pool, ALICE) == Amount()

    def died(session, artifact_ids, now):
        raise OSError("the hub died here")

    play(sqlite_hub, story, store=Bucket(s3))


@pytest.mark.parametrize("forgotten", ["list_to_free", "list_leaving"])
def test_a_hub_that_forgets_what_was_cut_off_is_noticed(sqlite_hub, s3, monkeypatch, forgotten):
    def nothing(session, limit):
        return []

    monkeypatch.setattr(repository if forgotten == "list_to_free" else removal, forgotten, nothing)
    with pytest.raises(AssertionError):
        test_hub_that_died_before_the_objects_were_deleted_deletes_them_after_its_start(sqlite_hub, s3)
