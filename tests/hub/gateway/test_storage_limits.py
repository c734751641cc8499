"""What agents may bring: as much as the slice was granted, and as much as its renter may store."""

from datetime import timedelta

import pytest
from sqlalchemy.orm import Session
from support.checkpoints import running, save
from support.engine import ALICE, play
from support.money import give_credits
from support.scripted_agent import add_agent
from support.stored import ask, put_outputs, usage

from computepool.hub.artifacts.tables import Artifact
from computepool.hub.artifacts.usage import NO_QUOTAS, Amount, charge, find_stored
from computepool.hub.core.owners import Owner
from computepool.hub.jobs.storage import COUNTED_BYTES
from computepool.protocol.messages import LogAck, Refused, UploadFile, UploadRequest
from computepool.protocol.receipt import EndReason

KB = 1024
CAROL = "user_carol"
SMALL = {"resources": {"disk": "1MB"}}


def test_slice_keeps_no_more_than_the_disk_that_it_was_granted(hub_url):
    """Row 11 of the attacks: outputs and checkpoints of a slice that names none of them."""

    async def story(pool):
        agent, work = await running(pool, **SMALL)
        assert work.manifest.grant.disk_bytes == 1024 * KB
        await put_outputs(pool, agent, work, a=b"a" * 500 * KB)
        grant = await ask(agent, work, b=b"b" * 525 * KB)
        assert "1049600 bytes together" in str(grant.refused)
        grant = await ask(agent, work, "checkpoint", c=b"c" * 1025 * KB)
        assert "1049600 bytes" in str(grant.refused)
        # Whatever it saves, and does not say that it saved: three checkpoints.
        for number in range(3):
            assert (await ask(agent, work, "checkpoint", c=b"%d" % number * 1024 * KB)).refused is None
        assert "old ones go in time" in str((await ask(agent, work, "checkpoint", c=b"c")).refused)
        assert usage(pool, ALICE).bytes <= 4 * 1024 * KB

    play(hub_url, story)


def test_announcing_the_same_output_again_and_again_stores_no_more_than_the_grant(hub_url):
    """Row 11 once more: what an announcement takes the place of is deleted before anything can be put there."""

    async def story(pool):
        agent, work = await running(pool, **SMALL)
        for number in range(6):
            await put_outputs(pool, agent, work, a=b"%d" % number * 1000 * KB)
            assert sum(len(data) for data in pool.store.objects.values()) <= 1024 * KB
        assert usage(pool, ALICE) == Amount(1000 * KB, 1)
        # The same digest with another size is another announcement of a checkpoint's file.
        for size_bytes in range(900 * KB, 900 * KB + 6):
            file = UploadFile(path="c", size_bytes=size_bytes, digest="sha256:" + 64 * "c")
            request = UploadRequest(**work.ref.model_dump(), request=1, files=(file,), purpose="checkpoint")
            for target in (await agent.answer_to(request)).targets:
                pool.store.put(target.urls[0].removeprefix("memory:"), b"c" * size_bytes)
            assert sum(len(data) for data in pool.store.objects.values()) <= 2 * 1024 * KB

    play(hub_url, story)


def test_replaced_announcements_do_not_use_up_the_day_of_a_renter_who_never_paid(hub_url):
    """A host announced the same output ten times: one was kept, and all ten counted against the renter."""

    async def story(pool):
        agent, work = await running(pool, **SMALL)
        for number in range(6):
            await put_outputs(pool, agent, work, a=b"%d" % number * 1000 * KB)
            assert stored_today(pool, ALICE) == 1000 * KB
        assert (await ask(agent, work, a=b"smaller")).refused is None
        assert stored_today(pool, ALICE) == len(b"smaller")
        for size_bytes in (900 * KB, 901 * KB, 10):  # the same digest, announced otherwise
            file = UploadFile(path="c", size_bytes=size_bytes, digest="sha256:" + 64 * "c")
            request = UploadRequest(**work.ref.model_dump(), request=1, files=(file,), purpose="checkpoint")
            assert (await agent.answer_to(request)).refused is None
            assert stored_today(pool, ALICE) == len(b"smaller") + size_bytes
        # What was counted yesterday is not given back today.
        now = pool.clock.now()
        with Session(pool.db.engine) as session:
            before = find_stored(session, ALICE).bytes_on(now)
            old = Artifact(size_bytes=5, created_at=now - timedelta(days=1))
            charge(session, ALICE, Amount(3, 1), now, NO_QUOTAS, replaced=[old])
            assert find_stored(session, ALICE).bytes_on(now) == before + 3

    play(hub_url, story)


def stored_today(pool, owner: str) -> int:
    with Session(pool.db.engine) as session:
        return find_stored(session, owner).bytes_on(pool.clock.now())


def test_slice_of_a_large_job_has_no_claim_to_the_room_of_the_others(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool, slices=50, **SMALL)
        for number in range(3):
            await ask(agent, work, "checkpoint", c=b"%d" % number * 1024 * KB)
        assert (await ask(agent, work, "checkpoint", c=b"c")).refused is not None

    play(sqlite_hub, story)


def test_job_may_save_again_and_again_without_using_more_room(hub_url):
    async def story(pool):
        agent, work = await running(pool, **SMALL)
        for number in range(1, 12):
            answer = await save(pool, agent, work, number, step=b"%d" % (number % 10) * 500 * KB + b"%d" % number)
            assert answer.problem is None
            await pool.settle(0.01)
        kept = [row for row in pool.rows(Artifact) if row.freed_at is None]
        assert len(kept) == 2
        assert usage(pool, ALICE) == Amount(sum(row.size_bytes for row in kept), 2)
        assert len(pool.store.objects) == 2

    play(hub_url, story)


def test_outputs_that_the_renter_has_no_room_for_are_the_renters_end(hub_url):
    """Row 4: the agent asks before it uploads, is told why not, and says so."""

    async def story(pool):
        agent, work = await running(pool)
        outputs = await put_outputs(pool, agent, work, a=b"a" * 60 * KB)
        await agent.finish(work, outputs=outputs)
        _, work = await running(pool, agent)
        grant = await ask(agent, work, b=b"b" * 60 * KB)
        assert grant.refused == "Your storage is full: the limit is 100 KB."
        await agent.finish(work, reason=EndReason.OUTPUTS, detail=grant.refused)
        job = await pool.job(work.manifest.job_id)
        assert (job.state, job.verdict) == ("failed", "renter")
        assert "Your storage is full" in job.message
        assert usage(pool, ALICE) == Amount(60 * KB, 1)

    play(hub_url, story, settings={"storage_limit_bytes": 100 * KB})


def test_number_of_files_has_a_limit_too(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        assert (await ask(agent, work, a=b"", b=b"", c=b"")).refused is None
        assert "the limit is 3 files and logs" in str((await ask(agent, work, d=b"")).refused)

    play(sqlite_hub, story, settings={"storage_limit_objects": 3})


def test_account_that_never_paid_stores_less_in_a_day(hub_url):
    async def story(pool):
        await pool.db.run(lambda session: session.add(Owner(id=CAROL, kind="user", created_at=pool.clock.now())))
        agent, work = await running(pool, await add_agent(pool, owner=CAROL), user=CAROL)
        await put_outputs(pool, agent, work, a=b"a" * 60 * KB)
        grant = await ask(agent, work, b=b"b" * 60 * KB)
        assert grant.refused == "You may store 100 KB in a day until you have bought credits."
        await pool.db.run(give_credits, CAROL, pool.clock.now())
        assert (await ask(agent, work, b=b"b" * 60 * KB)).refused is None

    play(hub_url, story, settings={"storage_limit_bytes_per_day": 100 * KB})


def test_uploads_that_an_attempt_did_not_finish_are_freed_when_it_ends(hub_url):
    async def story(pool):
        agent, work = await running(pool)
        kept = await put_outputs(pool, agent, work, kept=b"kept")
        await put_outputs(pool, agent, work, left=b"left behind")
        await agent.finish(work, outputs=kept)
        await pool.settle()
        assert usage(pool, ALICE) == Amount(4, 1)
        assert [len(data) for data in pool.store.objects.values()] == [4]

    play(hub_url, story)


# ── logs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def write_much(agent, work, size_bytes):
    answer = None
    while len(work.log) < size_bytes:
        answer = await agent.write_log(work, b"x" * min(256 * KB, size_bytes - len(work.log)))
        if not isinstance(answer, LogAck):
            break
    return answer


@pytest.mark.parametrize("how", ["finished", "lost", "taken back"])
def test_log_is_counted_when_its_attempt_ends(hub_url, how):
    async def story(pool):
        agent, work = await running(pool)
        await agent.write_log(work, b"x" * 500)
        assert usage(pool, ALICE) == Amount()
        if how == "finished":
            await agent.finish(work)
        elif how == "lost":
            await agent.gone(work)
        else:
            await agent.disconnect()
            await pool.settle(200)
            assert usage(pool, ALICE) == Amount(500, 1)
            await agent.connect()
            await agent.write_log(work, b"x" * 100)
            await agent.finish(work)
            assert usage(pool, ALICE) == Amount(600, 1)
            return
        assert usage(pool, ALICE) == Amount(500, 1)

    play(hub_url, story)


def test_log_beyond_what_the_renter_may_store_ends_its_job(hub_url):
    async def story(pool):
        agent, work = await running(pool, retries=3)
        answer = await write_much(agent, work, 2 * COUNTED_BYTES)
        assert isinstance(answer, Refused)
        await pool.settle()
        job = await pool.job(work.manifest.job_id)
        assert (job.state, job.verdict, job.slices[0].attempts[0].reason) == ("failed", "renter", "storage")
        assert job.message == "The log could not be stored. Your storage is full: the limit is 10 MB."
        assert COUNTED_BYTES < usage(pool, ALICE).bytes <= 2 * COUNTED_BYTES + 1024 * KB
        refused = await pool.call("POST", "jobs", {"run": ["true"]})
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "storage_quota")

    play(hub_url, story, settings={"storage_limit_bytes": 10 * KB * KB})


def test_many_small_logs_of_a_full_account_end_too(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=4)
        await pool.submit(slices=3)
        first, second = await agent.take_offer(), await agent.take_offer()
        for work in (first, second):
            await agent.update(work, "running")
        await agent.write_log(first, b"x" * 200 * KB)
        await agent.finish(first)
        assert isinstance(await agent.write_log(second, b"x" * 65 * KB), Refused)
        await pool.restart()
        assert (await pool.call("POST", "jobs", {"run": ["true"]})).status_code == 413
        assert (await pool.call("POST", "jobs", {"run": ["true"]}, user="user_bob")).status_code == 201

    play(sqlite_hub, story, settings={"storage_limit_bytes": 100 * KB})
