"""Turns of bulk work: one at a time, fair between keys, and with rests."""

import asyncio

import pytest
from support.planted import each_check, each_mutant
from support.waiting import patience

from computepool.hub.core import bulk
from computepool.hub.core.bulk import BulkLane


async def pieces_go_one_at_a_time(_monkeypatch) -> None:
    lane, inside, most = BulkLane(), 0, 0

    async def piece() -> None:
        nonlocal inside, most
        async with lane.turn("one"):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(piece() for _ in range(20)))
    assert most == 1


async def keys_take_turns(_monkeypatch) -> None:
    lane, order = BulkLane(), []

    async def piece(key: str) -> None:
        async with lane.turn(key):
            order.append(key)
            await asyncio.sleep(0)

    await asyncio.gather(*(piece("many") for _ in range(10)), piece("few"))
    assert order.index("few") <= 2


async def lane_goes_on_after_those_who_left(_monkeypatch) -> None:
    lane = BulkLane()
    async with lane.turn("first"):
        waiting = [asyncio.create_task(_take(lane)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
    await asyncio.sleep(0)
    waiting[1].cancel()  # its turn may have been granted already
    await asyncio.wait_for(waiting[2], patience())


async def long_pieces_are_followed_by_a_rest(monkeypatch) -> None:
    rests: list[float] = []
    lane = BulkLane()

    def rest(delay, call) -> None:
        rests.append(delay)
        call()

    monkeypatch.setattr(bulk, "perf_counter", iter([0.0, 0.002, 0.002, 0.0023, 0.0023, 60.0]).__next__)
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", rest)
    for _ in range(3):
        await _take(lane)
    assert rests == pytest.approx([0.012, 0.0198])


async def _take(lane: BulkLane) -> None:
    async with lane.turn("one"):
        pass


def everybody_at_once(monkeypatch):
    async def enter(self, key):
        pass

    monkeypatch.setattr(BulkLane, "_enter", enter)


def no_rest(monkeypatch):
    monkeypatch.setattr(bulk, "REST_RATIO", 0.0)


def first_come_first_served(monkeypatch):
    enter = BulkLane._enter
    monkeypatch.setattr(BulkLane, "_enter", lambda self, key: enter(self, "everybody"))


MUTANTS = {
    pieces_go_one_at_a_time: [everybody_at_once],
    keys_take_turns: [first_come_first_served],
    lane_goes_on_after_those_who_left: [],
    long_pieces_are_followed_by_a_rest: [no_rest],
}


@each_check(MUTANTS)
def test_bulk_lane(check, monkeypatch):
    asyncio.run(check(monkeypatch))


@each_mutant(MUTANTS)
def test_check_finds_the_bug(check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError)):
        asyncio.run(check(monkeypatch))
