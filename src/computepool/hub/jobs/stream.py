"""A job, live: its state as it changes, and the log of its slices' newest attempts as it is written.

The reader's pace sets everything: nothing is buffered for it. What it has not taken yet stays in the store, and is read
by offset when it is ready, so a slow reader holds no memory and misses nothing. A log that is over and was sent is not
looked at again, so a job of many slices costs what its running ones do.
"""

import asyncio
import base64
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import Any

from computepool.hub.artifacts.logs import LogStore
from computepool.hub.core.context import Context
from computepool.hub.core.http import Principal
from computepool.hub.core.records import Event
from computepool.hub.jobs.queries import LiveLog, show_live
from computepool.hub.jobs.views import JobView
from computepool.protocol.states import JOB_FINAL

PIECE_BYTES = 64 * 1024
SLICES_A_SECOND = 500
"""Shown to one reader in job frames, over time: five frames of a small job, half a frame of the largest."""
FRAME_LEAST_SLICES = 100
"""A frame counts for at least so many."""
BURST_SLICES = 2_000
FINAL_ACTIONS = frozenset(f"job.{state}" for state in JOB_FINAL)
Frame = dict[str, Any]
Resume = dict[tuple[int, int], int]
"""(slice, attempt) → the offset to go on from."""


@dataclass
class Source:
    """One attempt's log, and how far it was sent."""

    slice_index: int
    attempt: int
    attempt_id: str
    offset: int
    ended: bool = False
    """Nothing is written to it any more: read to its end, then done with."""
    watcher: asyncio.Task[None] | None = None


class Pace:
    """So much a second over time, and a little more at once."""

    def __init__(self, now: float) -> None:
        self._saved = float(BURST_SLICES)
        self._at = now

    def spend(self, slices: int, now: float) -> None:
        self._saved = self._savings(now) - max(slices, FRAME_LEAST_SLICES)
        self._at = now

    def wait_seconds(self, now: float) -> float:
        return max(0.0, -self._savings(now) / SLICES_A_SECOND)

    def _savings(self, now: float) -> float:
        return min(float(BURST_SLICES), self._saved + (now - self._at) * SLICES_A_SECOND)


class JobStream:
    def __init__(
        self,
        context: Context,
        logs: LogStore,
        principal: Principal,
        job_id: str,
        only_slice: int | None = None,
        resume: Resume | None = None,
    ) -> None:
        self._context = context
        self._logs = logs
        self._principal = principal
        self._job_id = job_id
        self._only_slice = only_slice
        self._resume = resume or {}
        self._asked = list(self._resume)
        """Attempts that the reader was at: looked for once, whether or not they are still the newest."""
        self._sources: dict[str, Source] = {}
        self._done: set[str] = set()
        self._awake: dict[str, Source] = {}
        """Those that may have more to send, in the order in which they said so."""
        self._changed = True
        self._over = False
        self._news = asyncio.Event()

    async def frames(self) -> AsyncGenerator[Frame, None]:
        """Ends after the frame `end`: the job is final, and every byte of its log was sent."""
        loop = asyncio.get_running_loop()
        pace = Pace(loop.time())
        with self._context.bus.listen(f"job/{self._job_id}") as events:
            listener = asyncio.create_task(self._listen(events))
            try:
                while True:
                    self._news.clear()
                    wait = 0.0 if self._over else pace.wait_seconds(loop.time())
                    if self._changed and not wait:
                        self._changed = False
                        job = await self._look()
                        pace.spend(len(job.slices), loop.time())
                        yield {"type": "job", "job": job.model_dump(mode="json")}
                    sent = False
                    for source in list(self._awake.values()):
                        frame = await self._next_piece(source)
                        if frame is not None:
                            sent = True
                            yield frame
                    if sent:
                        continue
                    if self._changed:
                        await self._wait_for_news(pace.wait_seconds(loop.time()))
                    elif job.state in JOB_FINAL:
                        yield {"type": "end", "job": job.model_dump(mode="json")}
                        return
                    else:
                        await self._news.wait()
            finally:
                listener.cancel()
                for source in self._sources.values():
                    if source.watcher is not None:
                        source.watcher.cancel()

    async def _listen(self, events: "asyncio.Queue[Event]") -> None:
        while True:
            event = await events.get()
            self._changed = True
            # The last word is not made to wait. If the bus dropped it, it comes a little later.
            self._over = self._over or event.payload["action"] in FINAL_ACTIONS
            self._news.set()

    async def _wait_for_news(self, seconds: float) -> None:
        if not self._over and seconds > 0:
            try:
                async with asyncio.timeout(seconds):
                    await self._news.wait()
            except TimeoutError:
                pass

    async def _look(self) -> JobView:
        job, places = await self._context.db.read(
            show_live, self._principal, self._job_id, self._only_slice, self._asked
        )
        self._asked = []
        self._follow(places)
        if job.state in JOB_FINAL:
            for source in self._sources.values():
                self._end(source)
        return job

    def _follow(self, places: Iterable[LiveLog]) -> None:
        newest = {source.slice_index: source for source in self._sources.values()}
        for place in places:
            if place.attempt_id in self._done:
                continue
            source = self._sources.get(place.attempt_id)
            if source is None:
                before = newest.get(place.slice_index)
                if before is not None and before.attempt < place.number:
                    self._end(before)  # its slice was given to another
                offset = self._resume.get((place.slice_index, place.number), 0)
                source = Source(place.slice_index, place.number, place.attempt_id, offset)
                self._sources[place.attempt_id] = newest[place.slice_index] = source
                if not place.over:
                    source.watcher = asyncio.create_task(self._watch(source))
                self._awake[place.attempt_id] = source
            if place.over:
                self._end(source)

    def _end(self, source: Source) -> None:
        if not source.ended:
            source.ended = True
            self._awake[source.attempt_id] = source

    async def _watch(self, source: Source) -> None:
        seen = source.offset
        with self._logs.subscribe(source.attempt_id) as reader:
            while True:
                seen = await reader.wait(seen)
                self._awake[source.attempt_id] = source
                self._news.set()

    async def _next_piece(self, source: Source) -> Frame | None:
        ended = source.ended
        self._awake.pop(source.attempt_id, None)  # before the look: what is written meanwhile wakes it again
        data = await self._logs.read(source.attempt_id, source.offset, PIECE_BYTES)
        if not data:
            if ended:
                self._forget(source)
            return None
        self._awake[source.attempt_id] = source
        offset = source.offset
        source.offset += len(data)
        return {
            "type": "log",
            "slice": source.slice_index,
            "attempt": source.attempt,
            "offset": offset,
            "data": base64.b64encode(data).decode(),
        }

    def _forget(self, source: Source) -> None:
        self._done.add(source.attempt_id)
        self._awake.pop(source.attempt_id, None)
        del self._sources[source.attempt_id]
        if source.watcher is not None:
            source.watcher.cancel()


def parse_resume(text: str) -> Resume:
    """`0.1:123,1.2:456`: slice 0, attempt 1, from byte 123 on, and so forth."""
    resume: Resume = {}
    for part in filter(None, text.split(",")):
        place, _, offset = part.partition(":")
        index, _, attempt = place.partition(".")
        resume[int(index), int(attempt)] = offset_of(offset)
    return resume


def offset_of(text: str) -> int:
    offset = int(text)
    if offset < 0:
        raise ValueError("a log begins at 0")
    return offset
