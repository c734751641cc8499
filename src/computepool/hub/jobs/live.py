"""Jobs that somebody watches. All watchers of a job share one look into the database, one rendering of what was found,
and one watcher of each log, so that the hundredth of them costs little more than its connection."""

import asyncio
import base64
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy.orm import Session

from computepool.hub.artifacts.logs import LogStore
from computepool.hub.core.context import Context
from computepool.hub.core.records import Event
from computepool.hub.jobs.errors import NoSuchJob
from computepool.hub.jobs.queries import LiveLog, find_live
from computepool.protocol.states import JOB_FINAL

PIECE_BYTES = 64 * 1024
KEPT_PIECES = 16
FINAL_ACTIONS = frozenset(f"job.{state}" for state in JOB_FINAL)
Place = tuple[str, int]
"""Where a piece of a log begins: attempt and offset."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A job as it was at one moment."""

    version: int
    owner_id: str
    slices: int
    """Shown in it."""
    is_final: bool
    job_frame: str
    end_frame: str
    """The same with other first words; empty until the job is final."""
    logs: tuple[LiveLog, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of a log."""

    size_bytes: int
    """0 at its end."""
    frame: str


@dataclass(frozen=True, slots=True)
class Watcher:
    """What one of those who watch wants to hear. Called on the event loop."""

    changed: Callable[[], None]
    grown: Callable[[str], None]
    """The log of this attempt has."""


class LiveJob:
    def __init__(self, context: Context, logs: LogStore, job_id: str) -> None:
        self._context = context
        self._logs = logs
        self._job_id = job_id
        self.watchers: set[Watcher] = set()
        self.is_over = False
        """Its end was told. If the bus dropped that, it is seen a little later."""
        self._version = 0
        self._picture: Picture | None = None
        self._looking: asyncio.Task[None] | None = None
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._pieces: OrderedDict[Place, asyncio.Task[Piece]] = OrderedDict()

    async def listen(self) -> None:
        with self._context.bus.listen(f"job/{self._job_id}") as events:
            while True:
                event: Event = await events.get()
                self._version += 1
                self.is_over = self.is_over or event.payload["action"] in FINAL_ACTIONS
                for watcher in self.watchers:
                    watcher.changed()

    async def picture(self) -> Picture:
        """Not older than the last event."""
        wanted = self._version
        while self._picture is None or self._picture.version < wanted:
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(self._look())
            await asyncio.shield(self._looking)
        return self._picture

    async def piece(self, place: LiveLog, offset: int) -> Piece:
        """From `offset` on, as much as is there and goes into a frame."""
        key = (place.attempt_id, offset)
        reading = self._pieces.get(key)
        if reading is None:
            reading = self._pieces[key] = asyncio.create_task(self._read(place, offset))
            while len(self._pieces) > KEPT_PIECES:
                self._pieces.popitem(last=False)
        try:
            piece = await asyncio.shield(reading)
        except BaseException:
            self._forget(key, reading)
            raise
        if not piece.size_bytes:
            self._forget(key, reading)  # there may be more of it next time
        return piece

    def close(self) -> None:
        for task in (self._looking, *self._watching.values(), *self._pieces.values()):
            if task is not None:
                task.cancel()

    def _forget(self, key: Place, reading: "asyncio.Task[Piece]") -> None:
        if self._pieces.get(key) is reading:
            del self._pieces[key]

    async def _read(self, place: LiveLog, offset: int) -> Piece:
        data = await self._logs.read(place.attempt_id, offset, PIECE_BYTES)
        frame = {
            "type": "log",
            "slice": place.slice_index,
            "attempt": place.number,
            "offset": offset,
            "data": base64.b64encode(data).decode(),
        }
        return Piece(len(data), json.dumps(frame, separators=(",", ":")) if data else "")

    async def _look(self) -> None:
        self._picture = await self._context.db.read(_take_picture, self._job_id, self._version)
        live = {log.attempt_id for log in self._picture.logs if not log.over}
        for attempt_id in self._watching.keys() - live:
            self._watching.pop(attempt_id).cancel()
        for attempt_id in live - self._watching.keys():
            self._watching[attempt_id] = asyncio.create_task(self._watch(attempt_id))

    async def _watch(self, attempt_id: str) -> None:
        size = 0
        with self._logs.subscribe(attempt_id) as log:
            while True:
                size = await log.wait(size)
                for watcher in self.watchers:
                    watcher.grown(attempt_id)


class LiveJobs:
    def __init__(self, context: Context, logs: LogStore) -> None:
        self._context = context
        self._logs = logs
        self._jobs: dict[str, LiveJob] = {}
        self._listening: dict[str, asyncio.Task[None]] = {}

    @contextmanager
    def watch(self, job_id: str, watcher: Watcher) -> Iterator[LiveJob]:
        """The job, for as long as somebody watches it."""
        job = self._jobs.get(job_id)
        if job is None:
            job = self._jobs[job_id] = LiveJob(self._context, self._logs, job_id)
            self._listening[job_id] = asyncio.create_task(job.listen())
        job.watchers.add(watcher)
        try:
            yield job
        finally:
            job.watchers.discard(watcher)
            if not job.watchers:
                del self._jobs[job_id]
                self._listening.pop(job_id).cancel()
                job.close()


def _take_picture(session: Session, job_id: str, version: int) -> Picture:
    """Rendered here, off the event loop."""
    found = find_live(session, job_id)
    if found is None:
        raise NoSuchJob(job_id)
    job, logs = found
    text, is_final = job.model_dump_json(), job.state in JOB_FINAL
    return Picture(
        version=version,
        owner_id=job.owner_id,
        slices=len(job.slices),
        is_final=is_final,
        job_frame=f'{{"type":"job","job":{text}}}',
        end_frame=f'{{"type":"end","job":{text}}}' if is_final else "",
        logs=tuple(logs),
    )
