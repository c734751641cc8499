"""How long a test waits: until a condition holds, or until even a busy machine would have got there.

A test never fails because the machine is slow. It waits for a condition with `eventually`, and every limit that a call
asks for (`timeout=`, `asyncio.timeout`, `Event.wait`) is `patience()`. A passing test is as quick as before; only a
failing one waits to the end. How fast something is, is measured by `./dev bench`.
"""

import asyncio
import os
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 180.0
A_MOMENT_SECONDS = 0.2
"""Long enough to see something that must not happen. A slow machine can only fail to see it."""


def patience(takes: float = 0.0) -> float:
    """Seconds to wait for what will happen: three minutes, and more the more processes share a core.

    `takes` is for what takes minutes on an idle machine: the seconds that it takes there.
    """
    return (PATIENCE_SECONDS + takes) * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def eventually(condition: Callable[[], T | None], what: str, every: float = 0.03, takes: float = 0.0) -> T:
    """The condition's first true answer. AssertionError naming `what` when patience ends."""
    began = time.monotonic()
    while not (found := condition()):
        _check_patience(began, what, takes)
        time.sleep(every)
    return found


async def async_eventually(condition: Callable[[], T | None], what: str, every: float = 0.01) -> T:
    """The same inside an event loop, which goes on meanwhile."""
    began = time.monotonic()
    while not (found := condition()):
        _check_patience(began, what)
        await asyncio.sleep(every)
    return found


def _check_patience(began: float, what: str, takes: float = 0.0) -> None:
    # The load may have risen since the wait began, so the limit is asked for each time.
    waited = time.monotonic() - began
    assert waited < patience(takes), f"{what}: not within {waited:.0f} s"
