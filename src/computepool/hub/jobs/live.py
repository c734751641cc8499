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
from computepool.hub.core.money import without_money
from computepool.hub.core.records import Event
from computepool.hub.jobs.errors import NoSuchJob
from computepool.hub.jobs.queries import LiveLog, Logs, find_live, find_window
from computepool.hub.jobs.views import SHOWN_SLICES_LIMIT
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
class SliceWindow:
    """Which of a job's slices somebody looks at."""

    first: int = 0
    limit: int = SHOWN_SLICES_LIMIT
    logs: Logs = "none"
    """Whose logs are followed: of all its slices, of those in the window, or none."""


@dataclass(frozen=True, slots=True)
class WindowPicture:
    """The slices of a window as they were at one moment, each rendered by itself so that they can be compared."""

    version: int
    owner_id: str
    is_final: bool
    job: str
    spec: str
    slices: tuple[tuple[int, str], ...]
    logs: tuple[LiveLog, ...]


@dataclass(slots=True)
class Windowed:
    """A window that somebody looks at."""

    watchers: int = 0
    picture: WindowPicture | None = None
    looking: "asyncio.Task[None] | None" = None


@dataclass(frozen=True, slots=True)
class LogPiece:
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
        self._with_money = context.settings.money == "on"
        self.watchers: set[Watcher] = set()
        self.is_over = False
        """Its end was told. If the bus dropped that, it is seen a little later."""
        self._version = 0
        self._picture: Picture | None = None
        self._looking: asyncio.Task[None] | None = None
        self._windows: dict[SliceWindow, Windowed] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._pieces: OrderedDict[Place, asyncio.Task[LogPiece]] = OrderedDict()

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

    @contextmanager
    def showing(self, window: SliceWindow) -> Iterator[None]:
        """Somebody looks at it."""
        windowed = self._windows.setdefault(window, Windowed())
        windowed.watchers += 1
        try:
            yield
        finally:
            windowed.watchers -= 1
            if not windowed.watchers:
                del self._windows[window]
                if windowed.looking is not None:
                    windowed.looking.cancel()

    async def window(self, window: SliceWindow) -> WindowPicture:
        """Not older than the last event."""
        wanted, windowed = self._version, self._windows[window]
        while windowed.picture is None or windowed.picture.version < wanted:
            if windowed.looking is None or windowed.looking.done():
                windowed.looking = asyncio.create_task(self._look_at(window, windowed))
            await asyncio.shield(windowed.looking)
        return windowed.picture

    async def piece(self, place: LiveLog, offset: int) -> LogPiece:
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
        looking = [windowed.looking for windowed in self._windows.values()]
        for task in (self._looking, *looking, *self._watching.values(), *self._pieces.values()):
            if task is not None:
                task.cancel()

    def _forget(self, key: Place, reading: "asyncio.Task[LogPiece]") -> None:
        if self._pieces.get(key) is reading:
            del self._pieces[key]

    async def _read(self, place: LiveLog, offset: int) -> LogPiece:
        data = await self._logs.read(place.attempt_id, offset, PIECE_BYTES)
        frame = {
            "type": "log",
            "job_id": self._job_id,
            "slice": place.slice_index,
            "attempt": place.number,
            "offset": offset,
            "data": base64.b64encode(data).decode(),
        }
        return LogPiece(len(data), json.dumps(frame, separators=(",", ":")) if data else "")

    async def _look(self) -> None:
        self._picture = await self._context.db.read(_take_picture, self._job_id, self._version, self._with_money)
        self._watch_logs()

    async def _look_at(self, window: SliceWindow, windowed: Windowed) -> None:
        windowed.picture = await self._context.db.read(
            _take_window, self._job_id, self._version, window, self._with_money
        )
        self._watch_logs()

    def _watch_logs(self) -> None:
        pictures = (self._picture, *(windowed.picture for windowed in self._windows.values()))
        logs = (log for picture in pictures if picture is not None for log in picture.logs)
        live = {log.attempt_id for log in logs if not log.over}
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


def _take_picture(session: Session, job_id: str, version: int, with_money: bool) -> Picture:
    """Rendered here, off the event loop."""
    found = find_live(session, job_id)
    if found is None:
        raise NoSuchJob(job_id)
    job, logs = found
    job = job if with_money else without_money(job)
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


def _take_window(session: Session, job_id: str, version: int, window: SliceWindow, with_money: bool) -> WindowPicture:
    found = find_window(session, job_id, window.first, window.limit, window.logs)
    if found is None:
        raise NoSuchJob(job_id)
    job, logs = found
    job = job if with_money else without_money(job)
    return WindowPicture(
        version=version,
        owner_id=job.owner_id,
        is_final=job.state in JOB_FINAL,
        job=job.model_dump_json(exclude={"spec", "slices"}),
        spec=json.dumps(job.spec, separators=(",", ":")),
        slices=tuple((part.index, part.model_dump_json()) for part in job.slices),
        logs=tuple(logs),
    )
