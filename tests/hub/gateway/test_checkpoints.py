"""Checkpoints at the hub: they count when every byte is there, and the next attempt starts from the newest."""

import asyncio
from datetime import timedelta

import pytest
from support.checkpoints import report, running, save, take, upload
from support.engine import play
from support.scripted_agent import add_agent, digest

from computepool.hub.artifacts.parts import PART_BYTES
from computepool.hub.artifacts.tables import Artifact
from computepool.hub.engine import CHECKPOINT_MARGIN
from computepool.hub.jobs.checkpoints import free_unused
from computepool.hub.jobs.policy import GO_ON_SECONDS
from computepool.hub.jobs.tables import Checkpoint
from computepool.hub.scheduling.memory import load_queue
from computepool.protocol.manifest import SavedFile
from computepool.protocol.messages import Refused, ReportAck, UploadFile, UploadRequest
from computepool.protocol.receipt import EndReason
from computepool.protocol.timing import LOST_LIMIT


def restored(pool, offer_work, agent):
    """What the next attempt would find: by path, the bytes behind its URLs."""
    manifest = offer_work.manifest
    found = {}
    for file in manifest.saved.files:
        parts = offer_work.offer.downloads[file.digest]
        found[file.path] = b"".join(pool.store.objects[url.removeprefix("memory:").partition("?")[0]] for url in parts)
    return found


def test_next_attempt_starts_from_the_newest_checkpoint(hub_url):
    async def story(pool):
        agent, work = await running(pool, retries=0)
        assert work.manifest.saved is None
        first = await save(pool, agent, work, 1, step=b"one", model=b"weights")
        assert isinstance(first, ReportAck)
        assert first.problem is None
        await save(pool, agent, work, 2, step=b"two", model=b"weights")
        await agent.gone(work, "owner")
        again = await agent.take_offer()
        assert again.manifest.attempt_number == 2
        assert again.manifest.saved.number == 2
        assert restored(pool, again, agent) == {"step": b"two", "model": b"weights"}

    play(hub_url, story)


def test_checkpoint_survives_a_restart_of_the_hub(hub_url):
    async def story(pool):
        agent, work = await running(pool)
        await save(pool, agent, work, 1, step=b"one")
        await agent.gone(work, "owner")
        await agent.disconnect()
        await pool.restart()
        await agent.connect()
        again = await agent.take_offer()
        assert restored(pool, again, agent) == {"step": b"one"}

    play(hub_url, story)


def test_same_content_is_stored_and_sent_once(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        assert sorted(await upload(pool, agent, work, a=b"same", b=b"same", c=b"other")) == ["a", "c"]
        await agent.answer_to(report(work, 1, a=b"same", b=b"same", c=b"other"))
        assert await upload(pool, agent, work, a=b"same", d=b"new") == ["d"]
        assert isinstance(await agent.answer_to(report(work, 2, a=b"same", d=b"new")), ReportAck)

    play(sqlite_hub, story)


def test_checkpoint_whose_bytes_are_not_there_does_not_count(hub_url):
    async def story(pool):
        agent, work = await running(pool)
        answer = await agent.answer_to(report(work, 1, step=b"never uploaded"))
        assert "not uploaded whole: step" in answer.problem
        request = UploadRequest(
            **work.ref.model_dump(),
            request=1,
            files=(UploadFile(path="step", size_bytes=3, digest=digest(b"one")),),
            purpose="checkpoint",
        )
        await agent.answer_to(request)
        assert "not uploaded whole" in (await agent.answer_to(report(work, 1, step=b"one"))).problem
        assert pool.rows(Checkpoint) == []

    play(hub_url, story)


def test_large_file_whose_parts_do_not_make_it_is_not_believed(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        parts = [bytes(PART_BYTES), b"tail"]
        whole = digest(b"something else")
        file = UploadFile(
            path="m", size_bytes=PART_BYTES + 4, digest=whole, part_digests=tuple(digest(part) for part in parts)
        )
        grant = await agent.answer_to(
            UploadRequest(**work.ref.model_dump(), request=1, files=(file,), purpose="checkpoint")
        )
        for url, part in zip(grant.targets[0].urls, parts, strict=True):
            pool.store.put(url.removeprefix("memory:"), part)
        saved = SavedFile(path="m", digest=whole, size_bytes=PART_BYTES + 4)
        answer = await agent.answer_to(report(work, 1).model_copy(update={"files": (saved,)}))
        assert "not what was announced" in answer.problem

    play(sqlite_hub, story)


@pytest.mark.parametrize("when", ["wrong_fence", "lost", "ended"])
def test_stale_attempt_saves_nothing(hub_url, when):
    async def story(pool):
        agent, work = await running(pool)
        message = report(work, 1, step=b"stale")
        await upload(pool, agent, work, step=b"stale")
        if when == "wrong_fence":
            message = message.model_copy(update={"fence": work.fence + 1})
        elif when == "lost":
            await pool.settle(150)
        else:
            await agent.finish(work)
        assert isinstance(await agent.answer_to(message), Refused)
        assert pool.rows(Checkpoint) == []

    play(hub_url, story)


def test_repeated_and_late_reports_change_nothing(hub_url):
    async def story(pool):
        agent, work = await running(pool)
        for number in (1, 2, 2, 1):
            await save(pool, agent, work, number, step=b"%d" % number)
        assert sorted(row.number for row in pool.rows(Checkpoint)) == [1, 2]
        await agent.gone(work, "owner")
        assert restored(pool, await agent.take_offer(), agent) == {"step": b"2"}

    play(hub_url, story)


def test_another_job_gets_nothing_by_knowing_a_digest(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        await save(pool, agent, work, 1, secret=b"weights of alice")
        await pool.submit()
        other = await take(agent)
        answer = await agent.answer_to(report(other, 1, secret=b"weights of alice"))
        assert "not uploaded whole" in answer.problem
        assert await upload(pool, agent, other, secret=b"weights of alice") == ["secret"]

    play(sqlite_hub, story)


def test_exit_code_85_with_a_new_checkpoint_is_continued_and_costs_no_retry(hub_url):
    async def story(pool):
        agent, work = await running(pool, retries=0)
        for number in (1, 2, 3):
            await save(pool, agent, work, number, step=b"%d" % number)
            await agent.finish(work, exit_code=85)
            assert (await pool.job(work.manifest.job_id)).state == "running"
            work = await take(agent)
            assert work.manifest.attempt_number == number + 1
        await agent.finish(work)
        job = await pool.job(work.manifest.job_id)
        assert (job.state, job.verdict) == ("succeeded", "ok")

    play(hub_url, story)


def test_slice_that_waits_to_be_continued_is_said_to_and_still_is_after_a_restart(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool, retries=1)
        await save(pool, agent, work, 1, step=b"1")
        await agent.finish(work, exit_code=85)
        url = f"jobs/{work.manifest.job_id}/why"
        told = (await pool.call("GET", url)).json()["summary"]
        assert told.startswith("It asked to be continued, and goes on at ")
        _, waiting = await pool.db.read(load_queue)
        assert [one.continues for one in waiting] == [True]

    play(sqlite_hub, story)


def test_job_that_always_asks_to_be_continued_does_not_keep_the_hub_busy(sqlite_hub):
    """Nor does it when a node is avoided, and others are there."""

    async def story(pool):
        agent, work = await running(pool)
        await agent.finish(work, reason=EndReason.SANDBOX, exit_code=None)
        other = await add_agent(pool, name="other")
        work = await take(other)
        began_at = pool.clock.now()
        for number in range(1, 11):
            await save(pool, other, work, number, step=b"%d" % number)
            await other.finish(work, exit_code=85)
            work = await take(other)
        assert pool.slice_of(work).avoid == [agent.node_id]
        assert (pool.clock.now() - began_at).total_seconds() >= 10 * GO_ON_SECONDS

    play(sqlite_hub, story)


def test_exit_code_85_without_a_new_checkpoint_is_a_failure(hub_url):
    async def story(pool):
        agent, work = await running(pool, retries=0)
        await agent.finish(work, exit_code=85)
        job = await pool.job(work.manifest.job_id)
        assert (job.state, job.verdict, job.exit_code) == ("failed", "renter", 85)

    play(hub_url, story)


def test_attempts_that_got_further_are_not_counted_as_lost(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        for number in range(1, LOST_LIMIT + 3):
            await save(pool, agent, work, number, step=b"%d" % number)
            await agent.gone(work, "owner")
            await pool.settle(2)
            work = await take(agent)
        await agent.finish(work)
        assert (await pool.job(work.manifest.job_id)).state == "succeeded"

    play(sqlite_hub, story)


def test_path_that_leads_elsewhere_is_refused(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        file = UploadFile(path="../../etc/passwd", size_bytes=1, digest=digest(b"x"))
        request = UploadRequest(**work.ref.model_dump(), request=1, files=(file,), purpose="checkpoint")
        assert (await agent.answer_to(request)).refused

    play(sqlite_hub, story)


def test_files_that_no_checkpoint_needs_are_deleted_and_others_kept(hub_url):
    async def story(pool):
        agent, work = await running(pool)
        for number in (1, 2, 3, 4):
            await save(pool, agent, work, number, step=b"%d" % number, model=b"weights")
        context = pool.engine.context

        async def free():
            return await context.db.run(free_unused, context.now() + CHECKPOINT_MARGIN)

        def kept():
            return {row.digest for row in pool.rows(Artifact) if row.state == "stored"}

        await pool.settle()
        assert kept() == {digest(b"3"), digest(b"4"), digest(b"weights")}
        assert await free() == 0
        freed = {row.digest for row in pool.rows(Artifact) if row.freed_at is not None}
        assert freed == {digest(b"1"), digest(b"2")}
        await agent.finish(work)
        await pool.settle(1)
        assert await free() == 3
        assert kept() == set()
        assert pool.rows(Checkpoint) == []

    play(hub_url, story)


def test_saving_what_it_was_restored_from_is_no_progress(hub_url):
    """Else a job that leaves to be continued, and never gets any further, would go on for ever."""

    async def story(pool):
        agent, work = await running(pool, retries=0)
        await save(pool, agent, work, 1, step=b"one")
        await agent.finish(work, exit_code=85)
        again = await take(agent)
        answer = await save(pool, agent, again, 2, step=b"one")
        assert isinstance(answer, ReportAck)
        await agent.finish(again, exit_code=85)
        job = await pool.job(work.manifest.job_id)
        assert (job.state, job.verdict, job.exit_code) == ("failed", "renter", 85)

    play(hub_url, story)


def test_file_that_is_let_go_while_it_is_saved_again_is_missed(hub_url):
    async def story(pool):
        agent, work = await running(pool)
        for number in (1, 2, 3):
            await save(pool, agent, work, number, step=b"%d" % number)
        context = pool.engine.context
        assert await upload(pool, agent, work, step=b"1") == ["step"]
        with context.db.held("save") as go_on:
            answer = asyncio.ensure_future(agent.answer_to(report(work, 4, step=b"1")))
            await pool.settle(1)
            assert await context.db.run(free_unused, context.now() + CHECKPOINT_MARGIN) == 1
            go_on.set()
        assert "upload it again" in (await answer).problem
        assert await upload(pool, agent, work, step=b"1") == ["step"]
        assert (await agent.answer_to(report(work, 4, step=b"1"))).problem is None

    play(hub_url, story)


def test_file_that_is_announced_again_is_kept_for_a_while(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        for number in (1, 2, 3):
            await save(pool, agent, work, number, step=b"%d" % number)
        context = pool.engine.context
        agent.beat_on()
        await pool.settle(CHECKPOINT_MARGIN.total_seconds())
        await upload(pool, agent, work, step=b"1")
        assert await context.db.run(free_unused, context.now() - timedelta(minutes=1)) == 0

    play(sqlite_hub, story)


def test_files_in_use_do_not_hide_those_that_are_not(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        await save(pool, agent, work, 1, a=b"a", b=b"b", c=b"c")
        await pool.settle(1)
        await upload(pool, agent, work, a=b"a", b=b"b", c=b"c", step=b"2")
        context, never_saved = pool.engine.context, report(work, 2, step=b"2").files
        await pool.engine.checkpoints.complete(work.manifest.job_id, 0, never_saved)
        freed = 0
        for _ in range(5):
            await pool.settle(1)
            freed += await context.db.run(free_unused, context.now(), 2)
        assert freed == 1

    play(sqlite_hub, story)
