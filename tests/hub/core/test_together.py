"""Requests that come while another is under way are answered as one."""

import asyncio

import pytest
from simulation.virtual_time import VirtualLoop

from computepool.hub.core import together
from computepool.hub.core.together import Together


class Desk:
    """Answers numbers by their doubles, when it is let. Odd ones must be asked alone, those below zero are refused."""

    def __init__(self, most=64):
        self.turns = asyncio.Semaphore(0)
        self.unlocked = asyncio.Event()
        """What 99 waits for, when it is asked alone."""
        self.alone: list[int] = []
        self.groups: list[list[int]] = []
        self.together = Together(self._alone, self._many, most)

    def ask(self, *numbers):
        return [asyncio.ensure_future(self.together.ask(number)) for number in numbers]

    async def let(self, answers=1000):
        """Give so many answers, once everybody has asked."""
        await settle()
        for _ in range(answers):
            self.turns.release()
        await settle()

    async def _alone(self, number):
        self.alone.append(number)
        if number == 99:
            await self.unlocked.wait()
        await self.turns.acquire()
        if number < 0:
            raise ValueError(f"{number} is refused")
        return 2 * number

    async def _many(self, numbers):
        self.groups.append(list(numbers))
        await self.turns.acquire()
        if min(numbers) < 0:
            raise ValueError("one of them is refused")
        return [None if number % 2 else 2 * number for number in numbers]


def tell(story, **how):
    """In virtual time: no pause of this machine uses up the patience of those who wait."""

    async def told():
        await story(Desk(**how))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(told())


async def settle():
    for _ in range(10):
        await asyncio.sleep(0)


def test_one_that_comes_alone_is_asked_alone_each_time():
    async def story(desk):
        await desk.let()
        assert [await desk.together.ask(number) for number in (2, 4, 6)] == [4, 8, 12]
        assert (desk.alone, desk.groups) == ([2, 4, 6], [])

    tell(story)


def test_those_that_come_meanwhile_are_asked_together_in_their_order():
    async def story(desk):
        asked = desk.ask(2, 4, 6, 8)
        await settle()
        assert (desk.alone, desk.groups) == ([2], [])
        await desk.let()
        assert await asyncio.gather(*asked) == [4, 8, 12, 16]
        assert (desk.alone, desk.groups) == ([2], [[4, 6, 8]])

    tell(story)


def test_group_has_a_limit_and_the_rest_comes_next():
    async def story(desk):
        asked = desk.ask(0, 2, 4, 6, 8, 10)
        await desk.let()
        assert await asyncio.gather(*asked) == [0, 4, 8, 12, 16, 20]
        assert desk.groups == [[2, 4], [6, 8]]
        assert desk.alone == [0, 10], "the last one came to nobody"

    tell(story, most=2)


def test_one_that_has_to_be_asked_alone_is():
    async def story(desk):
        asked = desk.ask(0, 1, 2, 3)
        await desk.let()
        assert await asyncio.gather(*asked) == [0, 2, 4, 6]
        assert (desk.groups, desk.alone) == ([[1, 2, 3]], [0, 1, 3])

    tell(story)


def test_one_that_is_refused_refuses_no_other():
    async def story(desk):
        asked = desk.ask(0, 2, -1, 4)
        await desk.let()
        zero, two, refused, four = await asyncio.gather(*asked, return_exceptions=True)
        assert (zero, two, four) == (0, 4, 8)
        assert str(refused) == "-1 is refused"
        assert await desk.together.ask(6) == 12

    tell(story)


def test_first_that_is_refused_keeps_nobody_waiting():
    async def story(desk):
        asked = desk.ask(-1, 2, 4)
        await desk.let()
        with pytest.raises(ValueError, match="-1"):
            await asked[0]
        assert await asyncio.gather(*asked[1:]) == [4, 8]

    tell(story)


def test_one_that_has_to_wait_alone_keeps_no_other_of_its_group_waiting():
    async def story(desk):
        asked = desk.ask(0, 99, 2, 4)
        await desk.let()
        assert [await one for one in (asked[0], asked[2], asked[3])] == [0, 4, 8]
        assert await desk.together.ask(6) == 12
        assert not asked[1].done()
        desk.unlocked.set()
        assert await asked[1] == 198

    tell(story)


def test_nobody_waits_long_for_one_that_is_stuck(monkeypatch):
    monkeypatch.setattr(together, "PATIENCE_SECONDS", 0.01)

    async def story(desk):
        asked = desk.ask(99, 2, 4)
        await desk.let()
        assert [await one for one in asked[1:]] == [4, 8]
        assert desk.groups == [[2, 4]]
        assert await desk.together.ask(6) == 12
        desk.unlocked.set()
        assert await asked[0] == 198
        assert await desk.together.ask(8) == 16

    tell(story)


def test_whoever_went_away_is_left_out_and_takes_nobody_along():
    async def story(desk):
        asked = desk.ask(0, 2, 4, 6)
        await settle()
        asked[2].cancel()
        await settle()
        asked[0].cancel()
        await desk.let()
        assert [await asked[1], await asked[3]] == [4, 12]
        assert desk.groups == [[2, 6]]

    tell(story)


def test_one_who_leaves_while_it_is_asked_changes_nothing_for_the_others():
    async def story(desk):
        asked = desk.ask(0, 2, 3, 5)
        await desk.let(1)
        assert await asked[0] == 0
        assert desk.groups == [[2, 3, 5]]
        asked[1].cancel()
        asked[2].cancel()
        await settle()
        await desk.let()
        assert await asked[3] == 10
        assert desk.alone == [0, 5]

    tell(story)


def test_end_of_the_loop_ends_those_that_wait():
    async def story(desk):
        asked = desk.ask(0, 2, 4)
        await desk.let(1)
        assert await asked[0] == 0
        for task in asyncio.all_tasks() - {asyncio.current_task(), *asked}:
            task.cancel()
        results = await asyncio.gather(*asked[1:], return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results)

    tell(story)
