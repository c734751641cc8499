"""Environments that jobs share: nobody waits in vain for one, none goes while a job needs it, no remains pile up."""

import asyncio

import pytest
from support.agents import offload_inline
from support.lone_supervisor import LoneSupervisor
from support.outer_world import outer_world
from support.waiting import async_eventually, patience

from computepool.agent.caching import CacheKeeper, Room
from computepool.agent.environments import Environments
from computepool.agent.unremoved import UnremovedFolders
from computepool.protocol.messages import Finished, Stop
from computepool.protocol.receipt import EndReason

SETUP = ("sleep", "0")


def story(tmp_path, tell):
    async def run():
        async with asyncio.timeout(patience()), outer_world() as world:
            lone = LoneSupervisor(tmp_path)
            lone.supervisor._shop.outside = world.outside()
            lone.listen()
            try:
                await tell(lone)
            finally:
                await lone.close()

    asyncio.run(run())


def offer(lone, *argv, **changes):
    manifest = lone.manifest(*argv, **{"setup": SETUP, **changes})
    lone.give(lone.hub.sign_manifest(manifest))
    return next(attempt for attempt in lone.supervisor.attempts if attempt.id == manifest.attempt_id)


def test_job_that_waits_for_its_twins_setup_hears_a_stop(tmp_path):
    async def tell(lone):
        start = lone.sandbox.start

        async def start_slowly(command):
            await asyncio.sleep(3600)
            return await start(command)

        lone.sandbox.start = start_slowly
        builder = offer(lone)
        await asyncio.sleep(0.1)
        waiting = offer(lone)
        await asyncio.sleep(0.1)
        lone.number += 1
        lone.supervisor.handle(
            Stop(number=lone.number, attempt_id=waiting.id, fence=7, reason="canceled", grace_seconds=1.0)
        )
        await async_eventually(lambda: waiting.ended is not None, "the stop is heard")
        assert waiting.ended.reason is EndReason.CANCELED
        assert builder.ended is None

    story(tmp_path, tell)


@pytest.mark.parametrize("moment", ["_use", "keep"])
def test_environment_that_a_job_was_promised_is_not_tidied_away(tmp_path, moment):
    """Another job ends, and the caches are tidied, just when this one has found its environment, or has kept it."""

    async def tell(lone):
        shop = lone.supervisor._shop
        # An empty environment takes no bytes in a file system that is kept in memory, so a byte is asked for.
        caches = CacheKeeper(lone.home.root, [shop.environments], lambda: Room(0, 0), offload_inline)

        async def offload(work, *args, **kwargs):
            result = await offload_inline(work, *args, **kwargs)
            if getattr(work, "__name__", "") == moment:
                await caches.tidy(wanted_bytes=1)
            return result

        if moment == "_use":
            first = offer(lone)
            await async_eventually(
                lambda: any(message.attempt_id == first.id for message in lone.of(Finished)), "the first job finishes"
            )
        shop.offload = offload
        last = offer(lone)
        await async_eventually(lambda: last.ended is not None, "the last job ends")
        assert last.ended.exit_code == 0
        shown = lone.sandbox.started[-1].shown["env"]
        assert shown.is_dir()
        await async_eventually(lambda: not shop.environments._in_use[shown], "no job needs the environment")
        await caches.tidy(wanted_bytes=1)
        assert not shown.exists()

    story(tmp_path, tell)


def test_environment_never_goes_between_a_jobs_look_and_its_use(tmp_path):
    """Whatever is thrown away is out of sight before anything else can happen."""

    async def run():
        place = tmp_path / "environments" / "key"
        place.mkdir(parents=True)
        seen = []

        async def offload(work, *args, **kwargs):
            seen.append(place.exists())
            return await offload_inline(work, *args, **kwargs)

        environments = Environments(offload, UnremovedFolders(offload))  # type: ignore[arg-type]
        environments._folders.add(place.parent)
        [kept] = await environments.kept()
        assert await kept.remove()
        assert seen == [True, False]
        assert list(place.parent.iterdir()) == []

    asyncio.run(run())


def test_started_agent_clears_away_what_a_killed_one_was_about_to_keep_or_send(tmp_path):
    async def tell(lone):
        staged = lone.home.staging / "attempt_1" / "files"
        staged.mkdir(parents=True)
        (staged / "weights").write_text("half")
        kept = lone.home.attempts.parent / "environments"
        for name in ("whole", "half.new", "old.gone"):
            (kept / name / "bin").mkdir(parents=True)
        for name in ("whole.size", "half.size"):
            (kept / name).write_text("1")
        await lone.supervisor.recover()
        assert not lone.home.staging.exists()
        assert sorted(path.name for path in kept.iterdir()) == ["whole", "whole.size"]

    story(tmp_path, tell)
