"""Which object holds which bytes of a log. Pure: no I/O.

A log is a row of segments, each an object named for the offsets where it begins and ends. An object never changes:
merging some segments, or sealing all of them into one, makes a new object first and then deletes those that it covers.
So wherever that is cut off, there is at worst more than is needed: leftovers, whose bytes all lie in another object.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from computepool.hub.artifacts.store import Entry

SMALL_BYTES = 64 * 1024
"""A segment smaller than this is merged with its neighbours some day."""
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

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def size(self) -> int:
        return self._ends[-1] if self._ends else 0

    def key(self, start: int, end: int) -> str:
        return f"{self._folder}{start:016d}-{end:016d}"

    def grow(self, end: int) -> None:
        """The object from the present end to the new one is durable now."""
        self._starts.append(self.size)
        self._ends.append(end)

    def pieces(self, after: int, length: int) -> list[SegmentPiece]:
        """Where the bytes from `after` on are; they must exist."""
        found: list[SegmentPiece] = []
        index = bisect_right(self._starts, after) - 1
        stop = after + length
        while after < stop:
            # Where two overlap they hold the same bytes: what an agent printed at an offset does not change.
            start, end = self._starts[index], self._ends[index]
            until = min(end, stop)
            found.append(SegmentPiece(self.key(start, end), after - start, until - after))
            after, index = until, index + 1
        return found

    def small_tail(self) -> int | None:
        """Where the small segments at the end begin, if there are enough of them to merge."""
        index = len(self)
        while index and self._ends[index - 1] - self._starts[index - 1] < SMALL_BYTES:
            index -= 1
        return self._starts[index] if len(self) - index >= SMALL_LIMIT else None

    def merge(self, start: int) -> list[str]:
        """One object now holds everything from `start`, where a segment begins. Returns the keys it makes leftovers."""
        first = bisect_right(self._starts, start) - 1
        leftovers = [self.key(*span) for span in zip(self._starts[first:], self._ends[first:], strict=True)]
        end = self.size
        del self._starts[first + 1 :], self._ends[first + 1 :]
        self._ends[first] = end
        return leftovers

    @classmethod
    def found(cls, folder: str, entries: Iterable[Entry]) -> tuple["Segments", list[str]]:
        """From what a store lists, and the keys of the leftovers. What lies behind a gap is out of reach."""
        segments, leftovers = cls(folder), []
        spans = [(*_span(entry.key.removeprefix(folder)), entry.size_bytes) for entry in entries]
        for start, end, size_bytes in sorted(spans, key=lambda span: (span[0], -span[1])):
            if end - start != size_bytes:
                continue  # somebody has damaged it
            if end <= segments.size:
                leftovers.append(segments.key(start, end))
            elif start <= segments.size:
                segments._starts.append(start)
                segments._ends.append(end)
        return segments, leftovers


def _span(name: str) -> tuple[int, int]:
    start, _, end = name.partition("-")
    return int(start), int(end)
