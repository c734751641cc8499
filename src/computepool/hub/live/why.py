"""Why jobs wait, looked at again and again for those that somebody watches, and told when it changes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog

from computepool.hub.live.feed import Reader
from computepool.protocol.events import WhyMessage
from computepool.protocol.states import JOB_FINAL

ROUND_SECONDS = 2.0
JOBS_A_ROUND = 20
"""A look walks through the fleet: with more watched jobs each is looked at less often."""

Why = Callable[[str], Awaitable[WhyMessage]]

log = structlog.get_logger()


@dataclass(slots=True)
class WatchedJob:
    readers: set[Reader] = field(default_factory=set)
    told: WhyMessage | None = None


class WhyWatch:
    def __init__(self, why: Why) -> None:
        self._why = why
        self._jobs: dict[str, WatchedJob] = {}
        """Those that were not looked at for longest come first."""
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def watch(self, job_id: str, reader: Reader, *, wanted: bool = True) -> Iterator[None]:
        """`reader` may see the job."""
        if not wanted:
            yield
            return
        watched = self._jobs.setdefault(job_id, WatchedJob())
        watched.readers.add(reader)
        if watched.told is not None:
            reader.show(f"why/{job_id}", watched.told.model_dump_json())
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_on())
        try:
            yield
        finally:
            watched.readers.discard(reader)
            if not watched.readers and self._jobs.get(job_id) is watched:
                del self._jobs[job_id]
            if not self._jobs:
                self._looking.cancel()

    async def _look_on(self) -> None:
        while self._jobs:
            for job_id in list(self._jobs)[:JOBS_A_ROUND]:
                try:
                    await self._look(job_id)
                except Exception:
                    log.exception("events.why_failed", job_id=job_id)
            await asyncio.sleep(ROUND_SECONDS)

    async def _look(self, job_id: str) -> None:
        watched = self._jobs.pop(job_id, None)
        if watched is None:
            return
        self._jobs[job_id] = watched  # behind the others, also if the look fails
        now = await self._why(job_id)
        if now != watched.told:
            watched.told = now
            text = now.model_dump_json()
            for reader in watched.readers:
                reader.show(f"why/{job_id}", text)
        if now.state in JOB_FINAL and self._jobs.get(job_id) is watched:
            del self._jobs[job_id]
