"""Watchers of one job share what can be shared, and each still sees every change and every byte."""

import asyncio
import base64
from contextlib import AsyncExitStack

import pytest
from support.asgi_socket import connected
from support.engine import ALICE, play
from support.planted import each_check, each_mutant
from support.scripted_agent import add_agent

from computepool.hub.artifacts.log_state import TAIL_BYTES
from computepool.hub.artifacts.logs import LogStore
from computepool.hub.jobs import live
from computepool.hub.jobs.live import LiveJob

READERS = 20


def stream(pool, job_id):
    app = pool.client._transport.app
    return connected(app, f"/api/v1/jobs/{job_id}/stream", {"Authorization": f"Bearer {pool.token(ALICE)}"})


async def watched(pool, monkeypatch):
    """A running job with many readers, and how often it was looked at and its log read for them."""
    looks: list[int] = []
    reads: list[int] = []
    take_picture, read = live._take_picture, LogStore.read

    def counting(session, job_id, version, with_money):
        looks.append(version)
        return take_picture(session, job_id, version, with_money)

    async def counting_read(self, attempt_id, after, limit_bytes):
        reads.append(after)
        return await read(self, attempt_id, after, limit_bytes)

    monkeypatch.setattr(live, "_take_picture", counting)
    monkeypatch.setattr(LogStore, "read", counting_read)
    agent = await add_agent(pool)
    job_id = await pool.submit()
    work = await agent.take_offer()
    return agent, job_id, work, looks, reads


async def readers_share_looks_and_pieces(pool, monkeypatch) -> None:
    agent, job_id, work, looks, reads = await watched(pool, monkeypatch)
    async with AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(stream(pool, job_id)) for _ in range(READERS)]
        collecting = [asyncio.create_task(collect(reader)) for reader in readers]
        await pool.settle()
        assert len(looks) <= 2
        for line in range(10):
            await agent.write_log(work, b"%d\n" % line)
            await pool.settle()
        assert len(reads) <= READERS + 2 * 10 + 4  # that there is nothing; then each line, and that there is no more
        await agent.finish(work)
        for states, log in await asyncio.gather(*collecting):
            assert (states[0], states[-1]) == ("running", "succeeded")
            assert log == b"".join(b"%d\n" % line for line in range(10))
    assert len(looks) <= 8


async def late_reader_sees_the_newest_picture(pool, monkeypatch) -> None:
    agent, job_id, work, _, _ = await watched(pool, monkeypatch)
    async with stream(pool, job_id) as first:
        assert (await first.receive())["job"]["slices"][0]["attempts"][0]["state"] == "leased"
        await agent.update(work, "preparing")
        await agent.update(work, "running")
        await pool.settle()
        async with stream(pool, job_id) as second:
            assert (await second.receive())["job"]["slices"][0]["attempts"][0]["state"] == "running"


async def tails_of_many_watched_logs_are_short(pool, monkeypatch) -> None:
    monkeypatch.setattr("computepool.hub.artifacts.logs.TAILS_BYTES", TAIL_BYTES)
    logs = pool.engine.logs
    async with asyncio.TaskGroup() as group:
        watchers = [group.create_task(_watch(logs, f"attempt_{number}")) for number in range(4)]
        await pool.settle()
        for number in range(4):
            await logs.append(f"attempt_{number}", 0, b"x" * TAIL_BYTES)
        kept = sum(len(logs._logs[f"attempt_{number}"].tail) for number in range(4))
        assert 0 < kept <= TAIL_BYTES
        assert await logs.read("attempt_0", 0, 2 * TAIL_BYTES) == b"x" * TAIL_BYTES
        for watcher in watchers:
            watcher.cancel()


async def _watch(logs, attempt_id):
    with logs.subscribe(attempt_id) as reader:
        size = 0
        while True:
            size = await reader.wait(size)


async def collect(reader):
    states, log = [], b""
    while (frame := await reader.receive())["type"] != "end":
        if frame["type"] == "job":
            states.append(frame["job"]["state"])
        else:
            assert frame["offset"] == len(log)
            log += base64.b64decode(frame["data"])
    return states, log


def everybody_looks(monkeypatch):
    picture = LiveJob.picture

    async def alone(self):
        self._picture = None
        return await picture(self)

    monkeypatch.setattr(LiveJob, "picture", alone)


def everybody_reads(monkeypatch):
    monkeypatch.setattr(live, "KEPT_PIECES", 0)


def pictures_are_kept(monkeypatch):
    picture = LiveJob.picture

    async def old(self):
        return self._picture or await picture(self)

    monkeypatch.setattr(LiveJob, "picture", old)


def every_tail_is_long(monkeypatch):
    monkeypatch.setattr("computepool.hub.artifacts.logs.min", lambda *sizes: max(sizes), raising=False)


MUTANTS = {
    readers_share_looks_and_pieces: [everybody_looks, everybody_reads],
    late_reader_sees_the_newest_picture: [pictures_are_kept],
    tails_of_many_watched_logs_are_short: [every_tail_is_long],
}


@each_check(MUTANTS)
def test_readers(check, hub_url, monkeypatch):
    play(hub_url, lambda pool: check(pool, monkeypatch))


@each_mutant(MUTANTS)
def test_check_finds_the_bug(check, mutant, sqlite_hub, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, ExceptionGroup, TimeoutError)):
        play(sqlite_hub, lambda pool: check(pool, monkeypatch))
