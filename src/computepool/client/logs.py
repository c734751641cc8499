"""Logs as bytes with offsets: read once, or followed over every loss of the line without losing or repeating a byte.

Following keeps one position per slice: (attempt, offset of the next byte). Whatever arrives is held against it: bytes
that were seen are cut off, a gap is fetched before what comes after it. So neither a reconnect nor a hub that answers
with more or less than it was asked for can tear the log.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass

import httpx

from computepool.client.errors import ClientError, HubError
from computepool.client.http import RETRIED_STATUS, Backoff, Http
from computepool.client.models import Attempt, Job, Slice

READ_BYTES = 64 * 1024
TAIL_STEP_BYTES = 32 * 1024
FOLLOW_SECONDS = 0.5
NEWLINE = 0x0A


@dataclass(frozen=True, slots=True)
class LogChunk:
    slice: int
    attempt: int
    offset: int
    """Of the first byte of `data` in the attempt's log."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Position:
    attempt: int
    offset: int


@dataclass(frozen=True, slots=True)
class LogEnd:
    offset: int
    complete: bool
    """Nothing will be added any more."""


class LogReader:
    """Reads by offset, and goes on where it was when the connection breaks."""

    def __init__(self, http: Http, job_id: str, *, patience_seconds: float | None = None) -> None:
        self._http = http
        self._job_id = job_id
        self._patience = patience_seconds

    def read(self, slice: int, attempt: int, start: int, stop: int | None = None) -> Generator[LogChunk, None, LogEnd]:
        """What there is from `start` on, up to `stop`."""
        offset = start
        backoff: Backoff | None = None
        while stop is None or offset < stop:
            try:
                received, end = yield from self._read_once(slice, attempt, offset, stop)
                offset, backoff = max(offset + received, end.offset), None
                if not received:
                    return LogEnd(offset, end.complete)
            except _Broken as broken:
                offset += broken.received
                backoff = backoff if backoff is not None and not broken.received else self._http.backoff(self._patience)
                if not backoff.wait(getattr(broken.cause, "retry_after_seconds", 0.0)):
                    raise self._http.unreachable(broken.cause) from None
        return LogEnd(offset, complete=False)

    def _read_once(
        self, slice: int, attempt: int, start: int, stop: int | None
    ) -> Generator[LogChunk, None, tuple[int, LogEnd]]:
        received = 0
        params = {"after": start, "slice": slice, "attempt": attempt}
        try:
            with self._http.stream(f"/jobs/{self._job_id}/logs", params) as response:
                for data in response.iter_bytes(READ_BYTES):
                    piece = data if stop is None else data[: max(0, stop - start - received)]
                    if piece:
                        received += len(piece)
                        yield LogChunk(slice, attempt, start + received - len(piece), piece)
                    if len(piece) < len(data):
                        return received, LogEnd(start + received, complete=False)
                after = int(response.headers.get("X-Next-Offset", start + received))
                return received, LogEnd(after, response.headers.get("X-Log-Complete") == "1")
        except httpx.TransportError as error:
            raise _Broken(received, error) from error
        except HubError as error:
            if error.status in RETRIED_STATUS:
                raise _Broken(received, error) from error
            raise

    def tail_start(self, slice: int, attempt: Attempt, lines: int) -> int:
        """Where the last `lines` lines begin."""
        if attempt.finished_at is None:
            return self._live_tail_start(slice, attempt.number, lines)
        return self._ended_tail_start(slice, attempt.number, attempt.log_bytes, lines)

    def _ended_tail_start(self, slice: int, attempt: int, log_bytes: int, lines: int) -> int:
        """Its length is known: reads backwards, in growing steps."""
        if lines <= 0:
            return log_bytes
        step = TAIL_STEP_BYTES
        while True:
            start = max(0, log_bytes - step)
            data = b"".join(chunk.data for chunk in self.read(slice, attempt, start, log_bytes))
            # A last line without its newline counts as a line, so the last byte is not looked at.
            ends = [start + index for index, byte in enumerate(data[:-1]) if byte == NEWLINE]
            if len(ends) >= lines:
                return ends[-lines] + 1
            if start == 0:
                return 0
            step *= 4

    def _live_tail_start(self, slice: int, attempt: int, lines: int) -> int:
        """Its length changes while it is read: reads it through, and keeps where the last lines begin."""
        ends: deque[int] = deque(maxlen=lines + 1)
        length = 0
        for chunk in self.read(slice, attempt, 0):
            length = chunk.offset + len(chunk.data)
            ends.extend(chunk.offset + index for index, byte in enumerate(chunk.data) if byte == NEWLINE)
        before_last = [end for end in ends if end < length - 1]
        if lines <= 0:
            return length
        return before_last[-lines] + 1 if len(before_last) >= lines else 0


class _Broken(Exception):
    def __init__(self, received: int, cause: Exception) -> None:
        self.received = received
        self.cause = cause


def slices_of(http: Http, job: Job) -> Iterator[Slice]:
    """All of them: a hub shows so many at a time."""
    while True:
        yield from job.slices
        if job.next_slice is None:
            return
        job = Job.model_validate(http.get(f"/jobs/{job.id}", {"from_slice": job.next_slice}))


def find_slice(http: Http, job: Job, index: int) -> Slice:
    found = next((part for part in job.slices if part.index == index), None)
    if found is not None:
        return found
    page = Job.model_validate(http.get(f"/jobs/{job.id}", {"from_slice": index, "slice_limit": 1}))
    for part in page.slices:
        if part.index == index:
            return part
    raise ClientError(
        f"{job.id} has no slice {index}.", hint=f"It has {job.slice_count}, counted from 0.", code="not_found"
    )


def chosen_slices(http: Http, job: Job, slice: int | None) -> Iterator[Slice]:
    return slices_of(http, job) if slice is None else iter([find_slice(http, job, slice)])


def read_logs(
    reader: LogReader, slices: Iterable[Slice], *, attempt: int | None = None, tail: int | None = None
) -> Iterator[LogChunk]:
    """What is there now, of each slice's newest attempt or of the one that was named."""
    for part in slices:
        found = part.newest if attempt is None else next((a for a in part.attempts if a.number == attempt), None)
        if found is not None:
            start = 0 if tail is None else reader.tail_start(part.index, found, tail)
            yield from reader.read(part.index, found.number, start)


def follow_attempt(
    reader: LogReader, part: Slice, attempt: int, tail: int | None, sleep: Callable[[float], None]
) -> Iterator[LogChunk]:
    """One attempt to its end, whether or not it is still the newest."""
    found = next((one for one in part.attempts if one.number == attempt), None)
    if found is None:
        raise ClientError(f"Slice {part.index} has no attempt {attempt}.", hint="computepool show JOB lists them.")
    offset = 0 if tail is None else reader.tail_start(part.index, found, tail)
    while True:
        end = yield from reader.read(part.index, attempt, offset)
        if end.complete:
            return
        offset = end.offset
        sleep(FOLLOW_SECONDS)


def pause(seconds: float, tick_seconds: float, sleep: Callable[[float], None]) -> Iterator[None]:
    """Sleep in short steps, so that the caller can look after other things in between."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        sleep(min(left, tick_seconds))
        yield
