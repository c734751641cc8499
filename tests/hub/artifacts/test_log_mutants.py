"""Bugs put in on purpose in the hub's logs: the checks of promise 28 must find them, or they prove nothing."""

import asyncio
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from simulation.virtual_time import VirtualLoop
from support.engine import ALICE, in_place, play, principal
from support.memory_store import MemoryStore
from support.scripted_agent import add_agent

from computepool.hub.artifacts import logs
from computepool.hub.artifacts.logs import LogStore
from computepool.hub.jobs.live import LiveJobs
from computepool.hub.jobs.stream import JobStream

MEGABYTE = 1024**2
CHUNK = b"x" * 256 * 1024
MAY_HOLD_BYTES = 5 * MEGABYTE
"""Of one attempt, whatever it sends and whoever reads it."""
A_VIRTUAL_SECOND = 1


class SlowStore:
    """A log store of which one attempt's objects cannot be put until the gate is open."""

    def __init__(self, slow: str) -> None:
        self._slow = slow
        self.gate = asyncio.Event()
        offload: Any = self._offload
        self.logs = LogStore(MemoryStore(), offload, 10**9)

    async def _offload(self, fn: Callable[..., Any], *args: Any) -> Any:
        await asyncio.sleep(0)
        if fn is logs._put and self._slow in args[1]:
            await self.gate.wait()
        return fn(*args)


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def flood_waits_outside_of_the_hub():
    """A store that is slower than the agent: what does not fit is not taken yet, and so not acknowledged."""
    store = SlowStore("attempt_flood")
    kept = store.logs
    tasks = [asyncio.create_task(kept.append("attempt_flood", n * len(CHUNK), CHUNK)) for n in range(64)]
    await asyncio.sleep(0.05)
    held = kept._logs["attempt_flood"].pending_bytes
    store.gate.set()
    await asyncio.gather(*tasks)
    assert held <= MAY_HOLD_BYTES, f"{held} bytes wait in memory"


async def flood_does_not_hold_a_neighbour():
    store = SlowStore("attempt_flood")
    kept = store.logs
    flood = asyncio.create_task(kept.append("attempt_flood", 0, CHUNK))
    await asyncio.sleep(0.05)  # it is on its way to the store
    try:
        async with asyncio.timeout(A_VIRTUAL_SECOND):
            assert await kept.append("attempt_neighbour", 0, b"line\n") == 5
        assert not flood.done()
    finally:
        store.gate.set()
        await flood


async def watched_log_is_not_kept_in_memory():
    kept = LogStore(MemoryStore(), in_place, 10**9)
    with kept.subscribe("attempt_flood"):
        for number in range(32):
            await kept.append("attempt_flood", number * len(CHUNK), CHUNK)
        assert len(kept._logs["attempt_flood"].tail) <= MEGABYTE


async def slow_reader_holds_no_memory(pool):
    """It reads a little and goes to sleep; the job goes on and prints."""
    agent = await add_agent(pool)
    job_id = await pool.submit()
    work = await agent.take_offer()
    await agent.update(work, "running")
    context = pool.engine.context
    frames = JobStream(context, LiveJobs(context, pool.engine.logs), principal(ALICE), job_id).frames()
    await anext(frames)
    tracemalloc.start()
    try:
        for number in range(64):
            await pool.engine.logs.append(work.id, number * len(CHUNK), CHUNK)
            await asyncio.sleep(0.1)
        held = tracemalloc.get_traced_memory()[0] - sum(map(len, pool.store.objects.values()))
    finally:
        tracemalloc.stop()
    await frames.aclose()
    assert held <= MAY_HOLD_BYTES, f"{held / MEGABYTE:.1f} MB are held for a reader that does not read"


# ── mutants ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def everything_may_wait(patch):
    patch.setattr(logs, "PENDING_LIMIT_BYTES", 1 << 40)


def one_writes_at_a_time(patch):
    real, lock = LogStore.append, asyncio.Lock()

    async def careless(self, attempt_id, offset, data):
        async with lock:
            return await real(self, attempt_id, offset, data)

    patch.setattr(LogStore, "append", careless)


def tail_is_endless(patch):
    patch.setattr(logs, "TAIL_BYTES", 1 << 40)
    patch.setattr(logs, "TAILS_BYTES", 1 << 40)


def frames_are_read_ahead(patch):
    real = JobStream.frames

    async def careless(self):
        ahead: asyncio.Queue[Any] = asyncio.Queue()

        async def read_on():
            async for frame in real(self):
                ahead.put_nowait(frame)

        reading = asyncio.create_task(read_on())
        try:
            while True:
                yield await ahead.get()
        finally:
            reading.cancel()

    patch.setattr(JobStream, "frames", careless)


ALONE: dict[Any, list[Any]] = {
    flood_waits_outside_of_the_hub: [everything_may_wait],
    flood_does_not_hold_a_neighbour: [one_writes_at_a_time],
    watched_log_is_not_kept_in_memory: [tail_is_endless],
}
IN_A_HUB: dict[Any, list[Any]] = {slow_reader_holds_no_memory: [frames_are_read_ahead]}


def pairs(table: dict[Any, list[Any]]) -> Iterator[Any]:
    """Each check without a bug, and with each of its bugs."""
    for check, mutants in table.items():
        for mutant in (None, *mutants):
            yield pytest.param(check, mutant, id=f"{check.__name__}-{mutant.__name__ if mutant else 'holds'}")


@pytest.mark.parametrize(("check", "mutant"), list(pairs(ALONE)))
def test_check_holds_and_finds_its_mutants(monkeypatch, check, mutant):
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        if mutant is None:
            runner.run(check())
            return
        mutant(monkeypatch)
        with pytest.raises((AssertionError, TimeoutError)):
            runner.run(check())


@pytest.mark.parametrize(("check", "mutant"), list(pairs(IN_A_HUB)))
def test_check_of_a_whole_hub_holds_and_finds_its_mutants(sqlite_hub, monkeypatch, check, mutant):
    if mutant is None:
        play(sqlite_hub, check)
        return
    mutant(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError)):
        play(sqlite_hub, check)
