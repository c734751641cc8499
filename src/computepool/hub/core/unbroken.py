"""Work that is not left half-way when whoever asked for it is gone: a commit, and what memory makes of it.

A request may be canceled at any await. If that is the one on a commit, the commit happens all the same; only its caller
takes it for failed.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

R = TypeVar("R")

log = structlog.get_logger()


class Unbroken:
    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, R]) -> R:
        """The work's result. A cancellation ends only the waiting for it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_tell_failure)
            raise

    async def finish(self, patience_seconds: float) -> None:
        """Wait until all of it is done; not for ever, if the database does not answer any more."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=patience_seconds)


def _tell_failure(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("unbroken.failed", exc_info=error)
