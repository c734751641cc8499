"""A job, live: its state on every change, and the log of its slices' newest attempts as it is written.

The reader's pace sets everything: nothing is buffered for it. What it has not taken yet stays in the store, and is read
by offset when it is ready, so a slow reader holds no memory and misses nothing.
"""

import asyncio
import base64
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from computepool.hub.artifacts.logs import LogStore
from computepool.hub.core.context import Context
from computepool.hub.core.http import Principal
from computepool.hub.core.records import Event
from computepool.hub.jobs.queries import show_job
from computepool.hub.jobs.views import JobView
from computepool.protocol.states import JOB_FINAL

PIECE_BYTES = 64 * 1024
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
    watcher: asyncio.Task[None] | None = None


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
        self._sources: dict[str, Source] = {}
        self._changed = True
        self._news = asyncio.Event()

    async def frames(self) -> AsyncGenerator[Frame, None]:
        """Ends after the frame `end`: the job is final, and every byte of its log was sent."""
        with self._context.bus.listen(f"job/{self._job_id}") as events:
            listener = asyncio.create_task(self._listen(events))
            try:
                while True:
                    self._news.clear()
                    if self._changed:
                        self._changed = False
                        job = await self._context.db.read(show_job, self._principal, self._job_id)
                        self._follow(job)
                        yield {"type": "job", "job": job.model_dump(mode="json")}
                    sent = False
                    for source in list(self._sources.values()):
                        data = await self._logs.read(source.attempt_id, source.offset, PIECE_BYTES)
                        if data:
                            sent = True
                            yield self._log_frame(source, data)
                    if sent or self._changed:
                        continue
                    if job.state in JOB_FINAL:
                        yield {"type": "end", "job": job.model_dump(mode="json")}
                        return
                    await self._news.wait()
            finally:
                listener.cancel()
                for source in self._sources.values():
                    if source.watcher is not None:
                        source.watcher.cancel()

    async def _listen(self, events: "asyncio.Queue[Event]") -> None:
        while True:
            await events.get()
            self._changed = True
            self._news.set()

    def _follow(self, job: JobView) -> None:
        """Each slice's newest attempt, and those that the reader asked to go on with."""
        for part in job.slices:
            if self._only_slice is not None and part.index != self._only_slice:
                continue
            for attempt in part.attempts:
                newest = attempt is part.attempts[-1]
                asked = (part.index, attempt.number) in self._resume
                if attempt.id in self._sources or not (newest or asked):
                    continue
                offset = self._resume.get((part.index, attempt.number), 0)
                source = Source(part.index, attempt.number, attempt.id, offset)
                source.watcher = asyncio.create_task(self._watch(source))
                self._sources[attempt.id] = source

    async def _watch(self, source: Source) -> None:
        seen = source.offset
        with self._logs.subscribe(source.attempt_id) as reader:
            while True:
                seen = await reader.wait(seen)
                self._news.set()

    def _log_frame(self, source: Source, data: bytes) -> Frame:
        offset = source.offset
        source.offset += len(data)
        return {
            "type": "log",
            "slice": source.slice_index,
            "attempt": source.attempt,
            "offset": offset,
            "data": base64.b64encode(data).decode(),
        }


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
