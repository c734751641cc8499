"""A job, live: its state as it changes, and the log of its slices' newest attempts as it is written.

The reader's pace sets everything: nothing is buffered for it. What it has not taken yet stays in the store, and is read
by offset when it is ready, so a slow reader holds no memory and misses nothing. A log that is over and was sent is not
looked at again, so a job of many slices costs what its running ones do. What can be shared with the job's other
readers is in `live.py`.

Readers that ask for a window get its slices once, then those that changed (`api.stream_views.JobStreamMessage`).
Older ones get the whole job whenever it changed.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import cast, get_args

from computepool.hub.accounts.visibility import sees
from computepool.hub.core.context import Context
from computepool.hub.core.http import Principal
from computepool.hub.jobs.errors import NoSuchJob
from computepool.hub.jobs.live import LiveJob, LiveJobs, Picture, SliceWindow, Watcher, WindowPicture
from computepool.hub.jobs.queries import LiveLog, Logs, find_logs
from computepool.hub.jobs.views import SHOWN_SLICES_LIMIT
from computepool.protocol.spec import MAX_SLICES

SLICES_A_SECOND = 500
"""Shown to one reader in job frames, over time: five frames of a small job, half a frame of the largest."""
FRAME_LEAST_SLICES = 100
"""A frame counts for at least so many."""
BURST_SLICES = 2_000
Resume = dict[tuple[int, int], int]
"""(slice, attempt) → the offset to go on from."""


@dataclass(slots=True)
class Source:
    """One attempt's log, and how far it was sent."""

    place: LiveLog
    offset: int
    ended: bool = False
    """Nothing is written to it any more: read to its end, then done with."""


@dataclass(frozen=True, slots=True)
class JobLook:
    """What is to be sent of a look at the job."""

    slices: int
    """Read for it."""
    is_final: bool
    frame: str
    end_frame: str


class FramePace:
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
        live: LiveJobs,
        principal: Principal,
        job_id: str,
        only_slice: int | None = None,
        resume: Resume | None = None,
        window: SliceWindow | None = None,
        *,
        shows_slices: bool = True,
    ) -> None:
        """`window`: send what changed of these slices, instead of the whole job; or only their logs."""
        self._context = context
        self._live = live
        self._principal = principal
        self._job_id = job_id
        self._only_slice = only_slice
        self._resume = resume or {}
        self._window = window
        self._shows_slices = shows_slices
        self._shown: dict[int, str] = {}
        """What the reader has of each slice of its window."""
        self._shown_job = ""
        self._sources: dict[str, Source] = {}
        self._newest: dict[int, Source] = {}
        """By slice."""
        self._done: set[str] = set()
        self._awake: dict[str, Source] = {}
        """Those that may have more to send, in the order in which they said so."""
        self._changed = True
        self._news = asyncio.Event()

    async def frames(self) -> AsyncGenerator[str, None]:
        """Ends after the frame `end`: the job is final, and every byte of its log was sent."""
        loop = asyncio.get_running_loop()
        pace = FramePace(loop.time())
        with (
            self._live.watch(self._job_id, Watcher(self._hear_change, self._hear_growth)) as job,
            job.showing(self._window) if self._window is not None else nullcontext(),
        ):
            if self._resume:
                # Attempts that the reader was at: looked for once, whether or not they are still the newest.
                asked = await self._context.db.read(find_logs, self._job_id, list(self._resume))
                self._follow(asked)
            while True:
                self._news.clear()
                wait_seconds = 0.0 if job.is_over else pace.wait_seconds(loop.time())
                if self._changed and not wait_seconds:
                    self._changed = False
                    look = await self._look(job)
                    pace.spend(look.slices, loop.time())
                    if look.frame:
                        yield look.frame
                sent = False
                for source in list(self._awake.values()):
                    frame = await self._next_frame(job, source)
                    if frame is not None:
                        sent = True
                        yield frame
                if sent:
                    continue
                if self._changed:
                    await self._wait_for_news(job, pace.wait_seconds(loop.time()))
                elif look.is_final:
                    yield look.end_frame
                    return
                else:
                    await self._news.wait()

    def _hear_change(self) -> None:
        self._changed = True
        self._news.set()

    def _hear_growth(self, attempt_id: str) -> None:
        source = self._sources.get(attempt_id)
        if source is not None:
            self._awake[attempt_id] = source
            self._news.set()

    async def _wait_for_news(self, job: LiveJob, seconds: float) -> None:
        if not job.is_over and seconds > 0:  # the last word is not made to wait
            try:
                async with asyncio.timeout(seconds):
                    await self._news.wait()
            except TimeoutError:
                pass

    async def _look(self, job: LiveJob) -> JobLook:
        picture = await job.picture() if self._window is None else await job.window(self._window)
        if not sees(self._principal, picture.owner_id):
            raise NoSuchJob(self._job_id)
        self._follow(picture.logs)
        if picture.is_final:
            for source in self._sources.values():
                self._end(source)
        if isinstance(picture, Picture):
            return JobLook(picture.slices, picture.is_final, picture.job_frame, picture.end_frame)
        frame = self._changes(picture) if self._shows_slices else ""
        return JobLook(len(picture.slices), picture.is_final, frame, f'{{"type":"end","job":{picture.job}}}')

    def _changes(self, picture: WindowPicture) -> str:
        """Empty where nothing that the reader sees has changed."""
        changed = [text for index, text in picture.slices if self._shown.get(index) != text]
        if not changed and picture.job == self._shown_job:
            return ""
        head = '"first":false,"spec":null' if self._shown_job else f'"first":true,"spec":{picture.spec}'
        self._shown, self._shown_job = dict(picture.slices), picture.job
        return f'{{"type":"slices",{head},"job":{picture.job},"slices":[{",".join(changed)}]}}'

    def _follow(self, places: Iterable[LiveLog]) -> None:
        for place in places:
            if place.attempt_id in self._done or self._only_slice not in (None, place.slice_index):
                continue
            source = self._sources.get(place.attempt_id)
            if source is None:
                before = self._newest.get(place.slice_index)
                if before is not None and before.place.number < place.number:
                    self._end(before)  # its slice was given to another
                offset = self._resume.get((place.slice_index, place.number), 0)
                source = Source(place, offset)
                self._sources[place.attempt_id] = self._newest[place.slice_index] = source
                self._awake[place.attempt_id] = source
            if place.over:
                self._end(source)

    def _end(self, source: Source) -> None:
        if not source.ended:
            source.ended = True
            self._awake[source.place.attempt_id] = source

    async def _next_frame(self, job: LiveJob, source: Source) -> str | None:
        ended, attempt_id = source.ended, source.place.attempt_id
        self._awake.pop(attempt_id, None)  # before the look: what is written meanwhile wakes it again
        piece = await job.piece(source.place, source.offset)
        if not piece.size_bytes:
            if ended:
                self._forget(source)
            return None
        self._awake[attempt_id] = source
        source.offset += piece.size_bytes
        return piece.frame

    def _forget(self, source: Source) -> None:
        attempt_id = source.place.attempt_id
        self._done.add(attempt_id)
        self._awake.pop(attempt_id, None)
        del self._sources[attempt_id]
        if self._newest.get(source.place.slice_index) is source:
            del self._newest[source.place.slice_index]


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


def parse_window(asked: Mapping[str, str]) -> SliceWindow | None:
    """`frames=changes`, with `from_slice`, `slice_limit` and `logs=all|window|none`. None: the whole job each time, as
    older clients expect. Raises ValueError."""
    if "frames" not in asked:
        return None
    if asked["frames"] != "changes":
        raise ValueError("frames can only be `changes`")
    first, limit = int(asked.get("from_slice", 0)), int(asked.get("slice_limit", SHOWN_SLICES_LIMIT))
    logs = asked.get("logs", "all")
    if not (0 <= first <= MAX_SLICES and 1 <= limit <= SHOWN_SLICES_LIMIT and logs in get_args(Logs)):
        raise ValueError("a window that is not possible")
    return SliceWindow(first, limit, cast(Logs, logs))
