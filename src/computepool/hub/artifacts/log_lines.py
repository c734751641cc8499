"""Line numbers in logs: how many lines there are, which one is at an offset, and the last lines before one.

Most is known from the names of a log's segments. What lies within one, and logs of older hubs, is counted when it is
asked for; of the logs that were counted last, the result is kept for every MiB.
"""

from array import array
from dataclasses import dataclass

from computepool.hub.artifacts.logs import LogStore
from computepool.hub.core.bulk import BulkLane
from computepool.hub.core.errors import NotFound

MARK_BYTES = 1024**2
MARKED_LOGS = 256
"""Whose marks are kept: 8 bytes for each MiB of a log."""
NEAR_BYTES = 4 * MARK_BYTES
"""So close to a known number behind it, an offset's is counted backwards from there."""
FIRST_STEP_BYTES = 64 * 1024
NEWLINE = b"\n"


@dataclass(frozen=True, slots=True)
class NumberedPiece:
    offset: int
    """Of its first byte."""
    data: bytes
    line: int
    """The number of the line that its first byte is in, counted from 1."""


class LogLines:
    def __init__(self, logs: LogStore, bulk: BulkLane) -> None:
        self._logs = logs
        self._bulk = bulk
        self._marks: dict[str, array[int]] = {}
        """By attempt, used last at the end: the newlines in the first MiB, the first two, and so on."""

    async def count(self, attempt_id: str, size_bytes: int) -> int:
        """The lines in its first bytes. One without a newline at its end is one, too."""
        if not size_bytes:
            return 0
        newlines = await self.newlines_before(attempt_id, size_bytes)
        return newlines + (await self._logs.read(attempt_id, size_bytes - 1, 1) != NEWLINE)

    async def newlines_before(self, attempt_id: str, offset: int) -> int:
        before, after = await self._logs.counted_near(attempt_id, offset)
        if after is not None and after[0] - offset <= min(NEAR_BYTES, offset - before[0]):
            return after[1] - await self._count_between(attempt_id, offset, after[0])
        marks = self._marks.pop(attempt_id, array("Q"))
        index = min(offset // MARK_BYTES, len(marks))
        place, newlines = max(before, (index * MARK_BYTES, marks[index - 1] if index else 0))
        while place < offset:
            until = min(offset, place - place % MARK_BYTES + MARK_BYTES)
            newlines += await self._count_between(attempt_id, place, until)
            place = until
            if place == (len(marks) + 1) * MARK_BYTES:
                marks.append(newlines)
        if marks:
            self._marks[attempt_id] = marks
            while len(self._marks) > MARKED_LOGS:
                del self._marks[next(iter(self._marks))]
        return newlines

    async def last_before(self, attempt_id: str, before: int, lines: int | None, limit_bytes: int) -> NumberedPiece:
        """The lines that end at `before`, which lies within the log: at most so many of them, and so many bytes.

        It begins with a whole line, unless that line alone has more bytes."""
        lowest = max(0, before - limit_bytes)
        start, data, step = before, b"", FIRST_STEP_BYTES if lines is not None else limit_bytes
        cut = None
        while cut is None and start > lowest:
            begin = max(lowest, start - step)
            data = await self._read(attempt_id, begin, start) + data
            start, step = begin, step * 4
            cut = _begin_of_last(data, lines) if lines is not None else None
        if cut is None:
            is_begin = not start or await self._read(attempt_id, start - 1, start) == NEWLINE
            cut = 0 if is_begin else data.find(NEWLINE, 0, len(data) - 1) + 1
        line = await self.newlines_before(attempt_id, start + cut) + 1
        return NumberedPiece(start + cut, data[cut:], line)

    async def _count_between(self, attempt_id: str, start: int, end: int) -> int:
        newlines = 0
        while start < end:
            data = await self._read(attempt_id, start, min(end, start + MARK_BYTES))
            newlines += data.count(NEWLINE)
            start += len(data)
        return newlines

    async def _read(self, attempt_id: str, start: int, end: int) -> bytes:
        """All of it, which is there: a log only grows. Not more than can be read at once."""
        async with self._bulk.turn(attempt_id):
            data = await self._logs.read(attempt_id, start, end - start)
        if len(data) != end - start:
            raise NotFound("This log was just deleted.")
        return data


def _begin_of_last(data: bytes, lines: int) -> int | None:
    """Where the last lines begin; None if there are fewer newlines before them. The last byte ends the last line."""
    end = len(data) - 1
    for _ in range(lines):
        end = data.rfind(NEWLINE, 0, max(end, 0))
        if end < 0:
            return None
    return end + 1
