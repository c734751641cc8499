"""Deleting: artifacts that no open job needs, jobs that have ended, and what the operator keeps no longer."""

import asyncio
import hashlib
from contextlib import contextmanager
from datetime import timedelta

import pytest
from sqlalchemy import update
from support.checkpoints import running, save
from support.engine import ALICE, BOB, play, principal
from support.scripted_agent import add_agent
from support.stored import ask, put_outputs, usage

from computepool.hub.api.storage import remove_job
from computepool.hub.artifacts.freeing import LANDING, sweep_abandoned
from computepool.hub.artifacts.service import WRITABLE
from computepool.hub.artifacts.tables import Artifact, StorageUsage
from computepool.hub.artifacts.usage import Amount
from computepool.hub.jobs.tables import Attempt, Checkpoint, Job
from computepool.hub.ledger.tables import EntryRow


async def answer(pool, method, path, body=None, *, status=200, **options):
    response = await pool.call(method, path, body, **options)
    assert response.status_code == status, response.text
    return response.json() if response.content else None


async def stored(pool, data, *, user=ALICE, kind="bundle"):
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    found = await answer(
        pool, "POST", "artifacts", {"digest": digest, "size_bytes": len(data), "kind": kind}, user=user
    )
    for part in found["uploads"]:
        pool.store.put(part["url"].removeprefix("memory:"), data)
    return (await answer(pool, "POST", f"artifacts/{found['id']}/complete", user=user))["id"]


async def done_job(pool, agent, *, log=b"a line\n", user=ALICE, **files):
    """Succeeded, with this log and these outputs."""
    job_id = await pool.submit(user=user)
    work = await agent.take_offer()
    await agent.update(work, "running")
    await agent.write_log(work, log)
    outputs = await put_outputs(pool, agent, work, **files)
    await agent.finish(work, outputs=outputs)
    await pool.settle()
    return job_id


@contextmanager
def later(pool, by):
    """By the wall clock; no timer goes off."""
    pool.clock.wall_error_seconds += by.total_seconds()
    yield
    pool.clock.wall_error_seconds -= by.total_seconds()


def test_artifact_is_deleted_and_its_bytes_with_it(hub_url):
    async def story(pool):
        artifact_id = await stored(pool, b"a bundle")
        assert usage(pool, ALICE) == Amount(8, 1)
        await answer(pool, "DELETE", f"artifacts/{artifact_id}", user=BOB, status=404)
        await answer(pool, "DELETE", f"artifacts/{artifact_id}", status=204)
        assert pool.store.objects == {}
        assert usage(pool, ALICE) == Amount()
        for method in ("GET", "DELETE"):
            await answer(pool, method, f"artifacts/{artifact_id}", status=404)
        assert await stored(pool, b"a bundle") != artifact_id

    play(hub_url, story)


def test_artifact_that_an_open_job_needs_is_not_deleted(sqlite_hub):
    async def story(pool):
        bundle, data = await stored(pool, b"a bundle"), await stored(pool, b"data", kind="input")
        job = await answer(pool, "POST", f"jobs?bundle={bundle}", {"run": ["true"], "inputs": {"a": data}}, status=201)
        for artifact_id in (bundle, data):
            error = await answer(pool, "DELETE", f"artifacts/{artifact_id}", status=409)
            assert error["error"]["code"] == "artifact_in_use"
            assert job["id"] in error["error"]["message"]
        await answer(pool, "POST", f"jobs/{job['id']}/cancel")
        for artifact_id in (bundle, data):
            await answer(pool, "DELETE", f"artifacts/{artifact_id}", status=204)
        error = await answer(pool, "POST", f"jobs/{job['id']}/retry", status=422)
        assert f"The bundle {bundle} of {job['id']} was deleted." in error["error"]["message"]

    play(sqlite_hub, story)


@pytest.mark.parametrize("held", ["find_bundle", "store"])
def test_artifact_of_a_job_that_is_just_being_submitted_is_not_deleted(sqlite_hub, held):
    async def story(pool):
        bundle = await stored(pool, b"a bundle")
        with pool.db.held(held) as waits:
            submitting = asyncio.ensure_future(pool.call("POST", f"jobs?bundle={bundle}", {"run": ["true"]}))
            await waits.wait()
            error = await answer(pool, "DELETE", f"artifacts/{bundle}", status=409)
            assert error["error"]["code"] == "artifact_in_use"
        assert (await submitting).status_code == 201
        agent = await add_agent(pool)
        work = await agent.take_offer()
        (url,) = next(iter(work.offer.downloads.values()))
        assert pool.store.objects[url.removeprefix("memory:")] == b"a bundle"

    play(sqlite_hub, story)


def test_job_is_not_given_an_artifact_that_is_just_being_deleted(sqlite_hub):
    async def story(pool):
        bundle = await stored(pool, b"a bundle")
        with pool.db.held("delete_artifact") as waits:
            deleting = asyncio.ensure_future(pool.call("DELETE", f"artifacts/{bundle}"))
            await waits.wait()
            await answer(pool, "POST", f"jobs?bundle={bundle}", {"run": ["true"]}, status=404)
        assert (await deleting).status_code == 204
        await answer(pool, "POST", f"jobs?bundle={bundle}", {"run": ["true"]}, status=422)

    play(sqlite_hub, story)


def test_deleted_job_leaves_nothing_but_what_was_paid(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB)
        await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, "running")
        await asyncio.sleep(120)
        await agent.write_log(work, b"a line\n")
        await save(pool, agent, work, 1, step=b"one")
        outputs = await put_outputs(pool, agent, work, result=b"42")
        await agent.finish(work, outputs=outputs)
        await pool.settle()
        job_id = work.manifest.job_id
        before = await answer(pool, "GET", f"jobs/{job_id}/explain")
        entries = len(pool.rows(EntryRow, job_id=job_id))
        assert entries
        await answer(pool, "DELETE", f"jobs/{job_id}", user=BOB, status=404)
        await answer(pool, "DELETE", f"jobs/{job_id}", status=204)
        assert pool.store.objects == {}
        assert usage(pool, ALICE) == Amount()
        assert pool.rows(Checkpoint) == []
        for path in ("", "/logs", "/artifacts", "/receipts", "/why"):
            await answer(pool, "GET", f"jobs/{job_id}{path}", status=404)
        await answer(pool, "DELETE", f"jobs/{job_id}", status=404)
        await answer(pool, "POST", f"jobs/{job_id}/retry", status=404)
        assert (await answer(pool, "GET", "jobs"))["items"] == []
        assert await answer(pool, "GET", f"jobs/{job_id}/explain") == before
        assert len(pool.rows(EntryRow, job_id=job_id)) == entries
        assert len(pool.rows(Attempt, job_id=job_id)) == 1

    play(hub_url, story)


def test_job_that_has_not_ended_or_is_disputed_is_not_deleted(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB)
        job_id = await pool.submit()
        error = await answer(pool, "DELETE", f"jobs/{job_id}", status=409)
        assert error["error"]["code"] == "job_not_final"
        work = await agent.take_offer()
        await agent.update(work, "running")
        await asyncio.sleep(120)
        await agent.finish(work)
        dispute = await answer(pool, "POST", f"jobs/{job_id}/dispute", {"reason": "wrong"}, status=201)
        error = await answer(pool, "DELETE", f"jobs/{job_id}", status=409)
        assert dispute["id"] in error["error"]["message"]

    play(sqlite_hub, story)


def test_deletion_that_was_cut_off_is_finished_later(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await done_job(pool, agent, a=b"output")
        clear, pool.store.clear = pool.store.clear, broken
        await answer(pool, "DELETE", f"jobs/{job_id}", status=204)
        assert len(pool.store.objects) == 2
        assert usage(pool, ALICE).objects == 2
        pool.store.clear = clear
        await pool.engine.removal.tidy()
        await sweep_abandoned(pool.engine.context, pool.store)
        assert pool.store.objects == {}
        assert usage(pool, ALICE) == Amount()

    def broken(prefix):
        raise OSError("the store is away")

    play(hub_url, story)


def test_log_that_is_sealed_at_the_same_time_stays_deleted(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await done_job(pool, agent, log=b"x" * 100)
        (attempt,) = pool.rows(Attempt)
        await asyncio.gather(remove_job(pool.engine, job_id, principal()), pool.engine.logs.seal(attempt.id))
        await pool.engine.logs.seal(attempt.id)
        assert pool.store.objects == {}
        assert await pool.engine.logs.size(attempt.id) == 0

    play(sqlite_hub, story)


def test_what_is_put_after_the_deletion_goes_too(sqlite_hub):
    """S3 cannot refuse a URL that it signed: what comes by one is swept when no more can come."""

    async def story(pool):
        agent, work = await running(pool)
        grant = await ask(agent, work, a=b"late")
        key = grant.targets[0].urls[0].removeprefix("memory:")
        await agent.finish(work)
        await pool.settle()
        assert usage(pool, ALICE) == Amount()
        pool.store.put(key, b"late")
        context = pool.engine.context
        assert await sweep_abandoned(context, pool.store) == 0
        assert key in pool.store.objects
        row = pool.rows(Artifact)[0]
        assert row.writable_until > pool.clock.now()
        with later(pool, WRITABLE + LANDING + timedelta(minutes=1)):
            await sweep_abandoned(context, pool.store)
        assert key not in pool.store.objects
        assert pool.rows(Artifact) == []

    play(sqlite_hub, story)


def test_output_is_deleted_alone_once_its_job_has_ended(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        outputs = await put_outputs(pool, agent, work, a=b"aa", b=b"bbb")
        items = (await answer(pool, "GET", "artifacts?kind=output"))["items"]
        assert {(item["path"], item["job_id"]) for item in items} == {
            ("a", work.manifest.job_id),
            ("b", work.manifest.job_id),
        }
        first = next(item["id"] for item in items if item["path"] == "a")
        refused = await answer(pool, "DELETE", f"artifacts/{first}", status=409)
        told = {item["actions"]["remove"]["reason"] for item in items if item["id"] == first}
        assert told == {refused["error"]["message"]}
        await agent.finish(work, outputs=outputs)
        by_path = await answer(pool, "GET", f"artifacts?job={work.manifest.job_id}&order=-path&limit=1")
        assert (by_path["items"][0]["path"], by_path["total"]) == ("b", 2)
        more = await answer(
            pool, "GET", f"artifacts?job={work.manifest.job_id}&order=-path&limit=1&cursor={by_path['next']}"
        )
        assert [(item["path"], item["actions"]["remove"]["allowed"]) for item in more["items"]] == [("a", True)]
        await answer(pool, "DELETE", f"artifacts/{first}", status=204)
        left = (await answer(pool, "GET", f"jobs/{work.manifest.job_id}/artifacts"))["items"]
        assert [item["path"] for item in left] == ["b"]
        assert usage(pool, ALICE) == Amount(3, 1)

    play(sqlite_hub, story)


def test_files_are_listed_page_by_page_and_counted(sqlite_hub):
    async def story(pool):
        ids = []
        for number in range(5):
            await asyncio.sleep(0.01)
            ids.append(await stored(pool, b"%d" % number))
        await stored(pool, b"bob's", user=BOB)
        seen, cursor = [], None
        while True:
            page = await answer(pool, "GET", f"artifacts?limit=2{f'&cursor={cursor}' if cursor else ''}")
            seen += [item["id"] for item in page["items"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert seen == ids[::-1]
        assert page["total"] == 5
        mine = await answer(pool, "GET", "me/storage")
        assert (mine["bytes"], mine["objects"], mine["bytes_today"]) == (5, 5, 5)
        assert (mine["limit_bytes"], mine["limit_objects"]) == (20 * 1024**3, 100_000)
        assert mine["limit_bytes_per_day"] is None, "alice has paid"

    play(sqlite_hub, story)


def test_earlier_uploads_are_found_with_the_jobs_that_used_them(hub_url):
    async def story(pool):
        small, large = await stored(pool, b"x", kind="input"), await stored(pool, b"y" * 100, kind="input")
        unused = await stored(pool, b"z" * 10)
        jobs = []
        for name, inputs in (("one", {"a": small, "b": large}), ("two", {"c": large}), ("three", {"a": small})):
            await asyncio.sleep(1)
            body = {"run": "true", "name": name, "inputs": inputs}
            jobs.append((await answer(pool, "POST", "jobs", body, status=201))["id"])
        page = await answer(pool, "GET", "artifacts?kind=input&order=-size")
        assert [item["id"] for item in page["items"]] == [large, small]
        assert [use["job_id"] for use in page["items"][0]["used_by"]] == [jobs[1], jobs[0]]
        assert [use["name"] for use in page["items"][1]["used_by"]] == ["three", "one"]
        refused = await answer(pool, "DELETE", f"artifacts/{large}", status=409)
        assert refused["error"]["code"] == "artifact_in_use"
        assert page["items"][0]["actions"]["remove"]["allowed"] is False
        digest = page["items"][0]["digest"]
        for search in (large, digest, digest.removeprefix("sha256:")[:8].upper()):
            found = await answer(pool, "GET", f"artifacts?search={search}")
            assert [item["id"] for item in found["items"]] == [large]
        rest = await answer(pool, "GET", "artifacts?kind=bundle")
        assert [(item["id"], item["used_by"]) for item in rest["items"]] == [(unused, [])]
        assert rest["items"][0]["actions"]["remove"] == {"allowed": True, "reason": None}
        assert (await answer(pool, "GET", "artifacts?search=%25"))["items"] == []
        await answer(pool, "GET", f"artifacts?order=size&cursor={rest['next'] or 'e30'}", status=422)

    play(hub_url, story)


# ── the operator ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_operator_keeps_logs_and_outputs_for_as_long_as_the_settings_say(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        old = await done_job(pool, agent, a=b"output")
        with later(pool, timedelta(days=3)):
            new = await done_job(pool, agent, a=b"output")
            await pool.engine.removal.tidy()
            error = await answer(pool, "GET", f"jobs/{old}/logs", status=404)
            assert error["error"]["code"] == "removed"
            assert len((await answer(pool, "GET", f"jobs/{old}/artifacts"))["items"]) == 1
            assert (await answer(pool, "GET", f"jobs/{old}"))["logs_removed_at"] is not None
        with later(pool, timedelta(days=6)):
            await pool.engine.removal.tidy()
            await answer(pool, "GET", f"jobs/{old}/artifacts", status=404)
            assert len((await answer(pool, "GET", f"jobs/{new}/artifacts"))["items"]) == 1
            await answer(pool, "DELETE", f"jobs/{old}", status=204)
            await answer(pool, "DELETE", f"jobs/{new}", status=204)
        assert usage(pool, ALICE) == Amount()
        assert pool.store.objects == {}

    play(hub_url, story, settings={"keep_logs_days": 2, "keep_outputs_days": 5})


def test_nothing_that_a_user_made_expires_by_itself(sqlite_hub):
    async def story(pool):
        await done_job(pool, await add_agent(pool), a=b"output")
        await stored(pool, b"a bundle")
        before = dict(pool.store.objects)
        with later(pool, timedelta(days=3_000)):
            await pool.engine.removal.tidy()
            await pool.engine._tidy()
        assert pool.store.objects == before

    play(sqlite_hub, story)


def test_admin_sees_who_stores_how_much_and_changes_it(hub_url):
    async def story(pool):
        await stored(pool, b"a" * 100)
        await stored(pool, b"b" * 10, user=BOB)
        await answer(pool, "GET", "admin/storage", status=403)
        everybody = await answer(pool, "GET", "admin/storage", user="user_admin")
        assert [(item["owner_id"], item["bytes"]) for item in everybody["items"]] == [(ALICE, 100), (BOB, 10)]
        assert (everybody["bytes"], everybody["objects"], everybody["owners"]) == (110, 2, 2)
        changed = await answer(pool, "PUT", f"admin/storage/{ALICE}", {"bytes": 150}, user="user_admin")
        assert (changed["limit_bytes"], changed["limit_objects"], changed["own_limits"]) == (150, 100_000, True)
        error = await answer(pool, "POST", "artifacts", {"digest": f"sha256:{'0' * 64}", "size_bytes": 51}, status=413)
        assert error["error"]["code"] == "storage_quota"
        assert error["error"]["message"] == "Your storage is full: the limit is 150 B."
        await answer(pool, "PUT", f"admin/storage/{ALICE}", {}, user="user_admin")
        assert not (await answer(pool, "GET", f"admin/storage/{ALICE}", user="user_admin"))["own_limits"]
        await answer(pool, "PUT", "admin/storage/user_nobody", {}, user="user_admin", status=404)

    play(hub_url, story)


def test_usage_that_was_miscounted_is_counted_anew(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        await done_job(pool, agent, log=b"1234", a=b"56")
        await pool.db.run(lambda session: session.execute(spoil))
        found = await answer(pool, "POST", f"admin/storage/{ALICE}/reconcile", user="user_admin")
        assert (found["counted_bytes"], found["counted_objects"]) == (999, 99)
        assert (found["bytes"], found["objects"]) == (6, 2)
        assert usage(pool, ALICE) == Amount(6, 2)

    spoil = update(StorageUsage).values(bytes=999, objects=99)
    play(hub_url, story)


def test_hidden_jobs_go_with_the_one_that_they_check(sqlite_hub):
    async def story(pool):
        agents = [await add_agent(pool, owner=owner) for owner in (BOB, "user_admin")]
        job_id = await pool.submit(deterministic=True, verify={"replicas": 2})
        for agent in agents:
            work = await agent.take_offer()
            await agent.update(work, "running")
            await agent.write_log(work, b"a line\n")
            await agent.finish(work, outputs=await put_outputs(pool, agent, work, result=b"42"))
        await pool.settle()
        assert (await pool.job(job_id)).state == "succeeded"
        hidden = next(row for row in pool.rows(Job) if row.rerun_of == job_id)
        await answer(pool, "DELETE", f"jobs/{hidden.id}", status=404)
        await answer(pool, "DELETE", f"jobs/{job_id}", status=204)
        await pool.engine.removal.tidy()
        assert pool.store.objects == {}
        assert usage(pool, ALICE) == Amount()

    play(sqlite_hub, story)
