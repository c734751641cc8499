"""WebSockets that are opened at once begin one after the other, and addresses take turns."""

import asyncio

from support.waiting import async_eventually

from computepool.hub.serving.openings import Openings


def test_first_begins_at_once_others_in_turns_and_who_gave_up_never():
    async def story():
        openings, begun = Openings(), []

        def enter(name: str, address: str) -> None:
            openings.enter(name, address, lambda: begun.append(name))

        for name, address in (("a1", "a"), ("a2", "a"), ("a3", "a"), ("a4", "a"), ("b1", "b"), ("c1", "c")):
            enter(name, address)
        assert begun == ["a1"]
        openings.leave("a3", "a")
        openings.leave("c1", "c")
        openings.leave("never there", "d")
        await async_eventually(lambda: len(begun) == 4, "all began")
        assert begun == ["a1", "a2", "b1", "a4"]
        await async_eventually(lambda: not openings._is_resting, "it is quiet again")
        enter("a5", "a")
        assert begun[-1] == "a5"

    asyncio.run(story())
