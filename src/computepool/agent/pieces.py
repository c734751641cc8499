"""Long work whose length a job decides, such as reading its files, in pieces.

The work is a generator that yields often. Off the event loop a piece takes a thread for a moment, so that the other
attempts' work comes in between; on the event loop it takes a few milliseconds, so that heartbeats do.
"""

import asyncio
import contextlib
import time
from collections.abc import Generator
from typing import TypeVar, cast

from computepool.agent.ports import Offload

T = TypeVar("T")

PIECE_SECONDS = 0.1
SLICE_SECONDS = 0.002

Steps = Generator[None, None, T]


class _Unfinished:
    pass


_UNFINISHED = _Unfinished()


def _advance(steps: Steps[T], seconds: float) -> T | _Unfinished:
    until = time.monotonic() + seconds
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast(T, end.value)
        if time.monotonic() > until:
            return _UNFINISHED


def run_through(steps: Steps[T]) -> T:
    """All of it at once. Blocking."""
    result = _advance(steps, float("inf"))
    assert not isinstance(result, _Unfinished)
    return result


async def in_pieces(offload: Offload, steps: Steps[T]) -> T:
    """Off the event loop. Whoever gives up waiting stops it at its next step."""
    while isinstance(result := await offload(_advance, steps, PIECE_SECONDS), _Unfinished):
        pass
    return result


async def in_slices(steps: Steps[T]) -> T:
    """On the event loop."""
    with contextlib.closing(steps):
        while isinstance(result := _advance(steps, SLICE_SECONDS), _Unfinished):  # noqa: ASYNC110 - it gives way
            await asyncio.sleep(0)
    return result
