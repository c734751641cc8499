"""What a reader of the event stream asked for besides its events: windows of jobs, and logs.

Each is a task that reads at the pace of the connection: it has one frame at most that was not taken.
"""

import asyncio
from collections.abc import AsyncGenerator

from pydantic import ValidationError

from computepool.hub.core.context import Context
from computepool.hub.core.errors import PoolError
from computepool.hub.core.http import Principal
from computepool.hub.jobs import queries
from computepool.hub.jobs.live import LiveJobs, SliceWindow
from computepool.hub.jobs.stream import JobStream
from computepool.hub.live.feed import Reader
from computepool.hub.live.why import WhyWatch
from computepool.protocol.events import (
    FollowLogMessage,
    RefusedMessage,
    UnfollowLogMessage,
    UnwatchMessage,
    WatchEndedMessage,
    WatchMessage,
    parse_reader_message,
)
from computepool.protocol.states import JOB_FINAL

SUBSCRIPTIONS_LIMIT = 16
"""Of one connection."""
PAUSE_SECONDS = 0.02
"""Between messages of one reader: each may cost a look into the database."""

Place = tuple[str, int | None]
"""A job, and the slice whose log is followed; None for the job's window."""


class Subscriptions:
    def __init__(self, context: Context, live: LiveJobs, why: WhyWatch, principal: Principal, reader: Reader) -> None:
        self._context = context
        self._live = live
        self._why = why
        self._principal = principal
        self._reader = reader
        self._tasks: dict[Place, asyncio.Task[None]] = {}

    async def hear(self, said: str | bytes) -> None:
        try:
            message = parse_reader_message(said)
        except ValidationError as error:
            self._refuse(f"This message was not understood: {error.errors()[0]['msg']}.")
        else:
            match message:
                case WatchMessage():
                    window = SliceWindow(message.from_slice, message.slice_limit)
                    stream = self._stream(message.job_id, None, window)
                    await self._begin((message.job_id, None), stream, asks_why=message.why)
                case FollowLogMessage():
                    attempt = message.attempt
                    resume = {} if attempt is None else {(message.slice, attempt): message.offset}
                    window = SliceWindow(message.slice, 1, "window")
                    stream = self._stream(message.job_id, message.slice, window, resume)
                    await self._begin((message.job_id, message.slice), stream)
                case UnwatchMessage():
                    await self._end((message.job_id, None))
                case UnfollowLogMessage():
                    await self._end((message.job_id, message.slice))
        await asyncio.sleep(PAUSE_SECONDS)

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _stream(
        self, job_id: str, only: int | None, window: SliceWindow, resume: dict[tuple[int, int], int] | None = None
    ) -> AsyncGenerator[str, None]:
        shows = only is None
        return JobStream(
            self._context, self._live, self._principal, job_id, only, resume, window, shows_slices=shows
        ).frames()

    async def _begin(self, place: Place, frames: AsyncGenerator[str, None], *, asks_why: bool = False) -> None:
        await self._end(place)
        if len(self._tasks) >= SUBSCRIPTIONS_LIMIT:
            self._refuse(
                f"This connection has {SUBSCRIPTIONS_LIMIT} subscriptions, which is the limit. End one first.",
                code="too_many_subscriptions",
            )
            return
        self._tasks[place] = asyncio.create_task(self._run(place, frames, asks_why=asks_why))

    async def _end(self, place: Place) -> None:
        task = self._tasks.pop(place, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self, place: Place, frames: AsyncGenerator[str, None], *, asks_why: bool) -> None:
        job_id, slice_index = place
        ended = WatchEndedMessage(job_id=job_id, slice=slice_index)
        try:
            job = await self._context.db.read(queries.load_job, self._principal, job_id)
            if slice_index is not None:
                queries.check_slice(job, slice_index)
            with self._why.watch(job_id, self._reader, wanted=asks_why and job.state not in JOB_FINAL):
                async for frame in frames:
                    if not frame.startswith('{"type":"end"'):
                        await self._reader.put(frame)
        except PoolError as error:
            ended = WatchEndedMessage(job_id=job_id, slice=slice_index, code=error.code, message=error.message)
        finally:
            await frames.aclose()
        await self._reader.put(ended.model_dump_json())
        if self._tasks.get(place) is asyncio.current_task():
            del self._tasks[place]

    def _refuse(self, message: str, code: str = "bad_message") -> None:
        refused = RefusedMessage.model_validate({"code": code, "message": message})
        self._reader.show("refused", refused.model_dump_json())
