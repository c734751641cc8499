"""Which object holds which bytes of a log. Pure: no I/O.

A log is a row of segments, each an object named for the offsets where it begins and ends and for the number of newlines
in it: `START-END-NEWLINES`. So line numbers survive a restart, and cost nothing but names. Segments of older hubs are
named `START-END`; their newlines are counted when somebody asks (`log_lines`). An object never changes: merging
some segments, or sealing all of them into one, makes a new object first and then deletes those that it covers. So
wherever that is cut off, there is at worst more than is needed: leftovers, whose bytes all lie in another object.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from computepool.hub.artifacts.store import Entry

SMALL_BYTES = 64 * 1024
"""A segment smaller than this is merged with its neighbours some day."""
UNCOUNTED = -1
"""In place of a number of newlines."""
SMALL_LIMIT = 64
"""So many small ones at the end are merged into one: a line a second for a day would else be 86,400 objects."""


class SegmentPiece(NamedTuple):
    key: str
    start: int
    """Within the object."""
    length: int


def folder_of(attempt_id: str) -> str:
    return f"logs/{attempt_id}/"


class Segments:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._starts = array("Q")
        self._ends = array("Q")
        self._newlines = array("q")
        """In each, or UNCOUNTED."""
        self._newlines_until = array("Q")
        """From the log's beginning to the end of a segment. Of as many of the first segments as are counted."""

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def size(self) -> int:
        return self._ends[-1] if self._ends else 0

    def key(self, start: int, end: int, newlines: int) -> str:
        counted = f"-{newlines}" if newlines != UNCOUNTED else ""
        return f"{self._folder}{start:016d}-{end:016d}{counted}"

    def grow(self, end: int, newlines: int) -> None:
        """The object from the present end to the new one is durable now."""
        self._add(self.size, end, newlines)

    def _add(self, start: int, end: int, newlines: int) -> None:
        # Where two overlap, some newlines are in both.
        if newlines != UNCOUNTED and start == self.size and len(self._newlines_until) == len(self):
            self._newlines_until.append((self._newlines_until[-1] if self._newlines_until else 0) + newlines)
        self._starts.append(start)
        self._ends.append(end)
        self._newlines.append(newlines)

    def counted_before(self, offset: int) -> tuple[int, int]:
        """The last offset up to this one before which the newlines are known, and their number."""
        index = bisect_right(self._ends, offset, hi=len(self._newlines_until))
        return (self._ends[index - 1], self._newlines_until[index - 1]) if index else (0, 0)

    def counted_after(self, offset: int) -> tuple[int, int] | None:
        """The first offset from this one on before which the newlines are known, and their number."""
        index = bisect_left(self._ends, offset, hi=len(self._newlines_until))
        return (self._ends[index], self._newlines_until[index]) if index < len(self._newlines_until) else None

    def pieces(self, after: int, length: int) -> list[SegmentPiece]:
        """Where the bytes from `after` on are; they must exist."""
        found: list[SegmentPiece] = []
        index = bisect_right(self._starts, after) - 1
        stop = after + length
        while after < stop:
            # Where two overlap they hold the same bytes: what an agent printed at an offset does not change.
            start, end = self._starts[index], self._ends[index]
            until = min(end, stop)
            found.append(SegmentPiece(self.key(start, end, self._newlines[index]), after - start, until - after))
            after, index = until, index + 1
        return found

    def small_tail(self) -> int | None:
        """Where the small segments at the end begin, if there are enough of them to merge."""
        index = len(self)
        while index and self._ends[index - 1] - self._starts[index - 1] < SMALL_BYTES:
            index -= 1
        return self._starts[index] if len(self) - index >= SMALL_LIMIT else None

    def merged_key(self, start: int) -> str:
        """Of an object with everything from `start` on, where a segment begins."""
        return self.key(start, self.size, self._newlines_from(bisect_right(self._starts, start) - 1))

    def _newlines_from(self, first: int) -> int:
        if len(self._newlines_until) == len(self):
            return self._newlines_until[-1] - (self._newlines_until[first - 1] if first else 0)
        return UNCOUNTED

    def merge(self, start: int) -> list[str]:
        """One object, `merged_key`, now holds everything from `start`. Returns the keys it makes leftovers."""
        first = bisect_right(self._starts, start) - 1
        spans = zip(self._starts[first:], self._ends[first:], self._newlines[first:], strict=True)
        leftovers = [self.key(*span) for span in spans]
        end, newlines = self.size, self._newlines_from(first)
        del self._starts[first:], self._ends[first:], self._newlines[first:], self._newlines_until[first:]
        self._add(start, end, newlines)
        return leftovers

    @classmethod
    def found(cls, folder: str, entries: Iterable[Entry]) -> tuple["Segments", list[str]]:
        """From what a store lists, and the keys of the leftovers. What lies behind a gap is out of reach."""
        segments, leftovers = cls(folder), []
        spans = [(*_span(entry.key.removeprefix(folder)), entry.size_bytes) for entry in entries]
        for start, end, newlines, size_bytes in sorted(spans, key=lambda span: (span[0], -span[1], -span[2])):
            if end - start != size_bytes:
                continue  # somebody has damaged it
            if end <= segments.size:
                leftovers.append(segments.key(start, end, newlines))
            elif start <= segments.size:
                segments._add(start, end, newlines)
        return segments, leftovers


def _span(name: str) -> tuple[int, int, int]:
    start, end, *newlines = name.split("-")
    return int(start), int(end), int(newlines[0]) if newlines else UNCOUNTED
