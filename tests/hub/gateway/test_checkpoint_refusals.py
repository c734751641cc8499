"""What a node says of a checkpoint is not believed: it must be one that any node can be told of, and can put back."""

from bisect import bisect_left

import pytest
from support.checkpoints import report, running, save, upload
from support.engine import ALICE, play
from support.scripted_agent import digest

from computepool.hub.artifacts.checkpoints import grant_files
from computepool.hub.artifacts.errors import UploadTooLarge
from computepool.hub.artifacts.tables import Artifact
from computepool.hub.jobs.checkpoints import NUMBERS_AHEAD
from computepool.hub.jobs.tables import Checkpoint
from computepool.protocol.checkpoint_list import find_list_problem
from computepool.protocol.limits import CHECKPOINT_FILES_LIMIT
from computepool.protocol.manifest import SavedFile
from computepool.protocol.messages import (
    CHECKPOINT_NUMBER_LIMIT,
    MESSAGE_LIMIT_BYTES,
    MalformedMessage,
    PollReply,
    UploadFile,
    parse_from_agent,
)


def named(work, *paths, data=b"data"):
    files = tuple(SavedFile(path=path, digest=digest(data), size_bytes=len(data)) for path in paths)
    return report(work, 1).model_copy(update={"files": files})


@pytest.mark.parametrize(
    "paths",
    [
        ("../../etc/cron.d/x",),
        ("/etc/passwd",),
        ("",),
        ("a//b",),
        ("a/./b",),
        ("a\\b",),
        ("a\nb",),
        ("ü" * 1000,),
        ("a", "a"),
        ("a", "a/b"),
        ("a/b/c/d", "a/b"),
    ],
)
def test_checkpoint_that_cannot_be_put_back_does_not_count(sqlite_hub, paths):
    async def story(pool):
        agent, work = await running(pool)
        await upload(pool, agent, work, x=b"data")
        assert (await agent.answer_to(named(work, *paths))).problem
        assert pool.rows(Checkpoint) == []
        assert (await agent.answer_to(named(work, "a/b", "a-b", "ab"))).problem is None

    play(sqlite_hub, story)


def test_largest_checkpoint_that_counts_can_be_offered(sqlite_hub):
    """Names of nothing but quotation marks, which each layer of JSON escapes once more."""

    async def story(pool):
        agent, work = await running(pool)
        await upload(pool, agent, work, x=b"data")

        def message(length):
            return named(work, *(f"{number:04}" + '"' * length for number in range(CHECKPOINT_FILES_LIMIT)))

        assert "too long for one message" in (await agent.answer_to(message(250))).problem
        largest = (
            bisect_left(range(200), True, key=lambda length: find_list_problem(message(length).files) is not None) - 1
        )
        assert (await agent.answer_to(message(largest))).problem is None
        await agent.gone(work, "owner")
        offer = (await agent.take_offer()).offer
        assert len(offer.manifest.body) > CHECKPOINT_FILES_LIMIT * largest
        by_poll = PollReply(accepted=0, start=0, messages=(offer.to_bytes().decode(),))
        assert len(by_poll.to_bytes()) < MESSAGE_LIMIT_BYTES // 2

    play(sqlite_hub, story)


@pytest.mark.parametrize("number", [NUMBERS_AHEAD + 1, CHECKPOINT_NUMBER_LIMIT])
def test_number_far_ahead_is_refused_so_that_later_checkpoints_count(sqlite_hub, number):
    async def story(pool):
        agent, work = await running(pool)
        assert "too far ahead" in (await save(pool, agent, work, number, step=b"far")).problem
        assert (await save(pool, agent, work, 7, step=b"seven")).problem is None
        assert (await save(pool, agent, work, 8, step=b"eight")).problem is None

    play(sqlite_hub, story)


def test_number_beyond_all_is_no_message(sqlite_hub):
    async def story(pool):
        _, work = await running(pool)
        raw = report(work, 1).model_copy(update={"number": CHECKPOINT_NUMBER_LIMIT + 1}).to_bytes()
        with pytest.raises(MalformedMessage, match="number"):
            parse_from_agent(raw)

    play(sqlite_hub, story)


def test_number_that_another_checkpoint_has_is_refused(hub_url):
    async def story(pool):
        agent, work = await running(pool)
        await save(pool, agent, work, 1, step=b"one")
        assert "not newer than the stored checkpoint 1" in (await save(pool, agent, work, 1, step=b"another")).problem
        assert (await save(pool, agent, work, 1, step=b"one")).problem is None

    play(hub_url, story)


def test_slice_has_room_for_what_is_kept_and_one_more(sqlite_hub):
    async def story(pool):
        context = pool.engine.context
        job_id = await pool.submit()

        def grant(number):
            file = UploadFile(path="f", size_bytes=10, digest=digest(b"%d" % number))
            return context.db.run(
                grant_files, job_id, 0, ALICE, [file], context.now(), new_id=context.new_id, limit_bytes=10, copies=3
            )

        for number in (1, 2, 3):
            await grant(number)
        with pytest.raises(UploadTooLarge, match="old ones go in time"):
            await grant(4)
        assert len(pool.rows(Artifact)) == 3
        await grant(3)

    play(sqlite_hub, story)
