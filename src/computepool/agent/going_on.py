"""What keeps leases and time limits, and whatever else goes on beside the line: one fault of ours must not end it."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

log = logging.getLogger(__name__)


@contextlib.contextmanager
def going_on(event: str) -> Iterator[None]:
    try:
        yield
    except Exception:
        log.exception(event)


async def for_ever(work: Callable[[], Coroutine[Any, Any, None]], pause_seconds: float) -> None:
    """Begun again whenever it ends, in whatever way."""
    while True:
        with going_on("agent.fault"):
            await work()
        await asyncio.sleep(pause_seconds)
