"""What is deleted disappears from a real S3 bucket, also when the hub dies in the middle of it."""

import asyncio

import pytest
from support.checkpoints import save
from support.engine import ALICE, play
from support.scripted_agent import add_agent, digest
from support.stored import put_outputs, usage

from computepool.hub.artifacts import freeing, repository
from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.opening import open_store
from computepool.hub.artifacts.settings import S3Settings
from computepool.hub.artifacts.store import SignedPut
from computepool.hub.artifacts.usage import Amount
from computepool.hub.core.clock import SystemClock
from computepool.hub.jobs import removal
from computepool.hub.jobs.tables import Job

TIDIED_SECONDS = 2 * 3600.0
"""Virtual: the hub's own hourly work has run by then."""


class Bucket:
    """The hub's store of a real bucket. Scripted agents put objects by their keys instead of by signed URLs."""

    def __init__(self, s3):
        settings = S3Settings(
            access_key_id=s3.access_key, secret_access_key=s3.secret_key, endpoint_url=s3.endpoint_url, region=s3.region
        )
        clock = SystemClock()
        self._store = open_store(f"s3://{s3.bucket}", BlobSigner(b"s" * 32, clock), clock, settings)
        self._raw = s3.store()
        self.is_broken = False

    def __getattr__(self, name):
        return getattr(self._store, name)

    def sign_put(self, key, size_bytes, digest, expires_seconds):
        return SignedPut(f"memory:{key}", {})

    def clear(self, prefix):
        self._fail_if_broken()
        self._store.clear(prefix)

    def delete(self, *keys):
        self._fail_if_broken()
        self._store.delete(*keys)

    def _fail_if_broken(self):
        if self.is_broken:
            raise OSError("the hub died here")

    @property
    def names(self):
        """Of all objects, asked with another client."""
        return sorted(entry["path"] for page in self._raw.list() for entry in page)


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
