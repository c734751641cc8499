"""What waits for a node. Slices with equal requirements wait in one line, so that one look decides for all of them."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from computepool.hub.jobs.brief import JobBrief
from computepool.hub.market.requirements import Requirements


@dataclass(slots=True)
class Waiting:
    """One queued slice."""

    brief: JobBrief
    slice_index: int
    fence: int
    """Of its last lease; the next one is greater."""
    attempts: int
    avoid: tuple[str, ...] = ()
    retry_at: datetime | None = None
    removed: bool = False

    @property
    def key(self) -> tuple[str, int]:
        return (self.brief.job_id, self.slice_index)


Ranked = tuple[int, str, int, int, Waiting]
"""Priority first, then age (ids sort by age), then the slice's place in its job."""


@dataclass(slots=True)
class _Line:
    heap: list[Ranked] = field(default_factory=list)


class Queue:
    def __init__(self) -> None:
        self._lines: dict[Requirements, _Line] = {}
        self._by_key: dict[tuple[str, int], Waiting] = {}
        self._tie = count()

    def __len__(self) -> int:
        return len(self._by_key)

    def __contains__(self, key: tuple[str, int]) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[Waiting]:
        return iter(self._by_key.values())

    def get(self, key: tuple[str, int]) -> Waiting | None:
        return self._by_key.get(key)

    def add(self, waiting: Waiting) -> None:
        self.remove(waiting.key)
        self._by_key[waiting.key] = waiting
        line = self._lines.setdefault(waiting.brief.requirements, _Line())
        heapq.heappush(line.heap, self._ranked(waiting))

    def remove(self, key: tuple[str, int]) -> Waiting | None:
        """It stays in its line until it comes to the front, and is skipped there."""
        waiting = self._by_key.pop(key, None)
        if waiting is not None:
            waiting.removed = True
        return waiting

    def remove_job(self, job_id: str, slices: int) -> None:
        for index in range(slices):
            self.remove((job_id, index))

    def heads(self) -> list[tuple[Requirements, Waiting]]:
        """The first of each line, in the order in which they should be served."""
        found: list[Ranked] = []
        for needs in list(self._lines):
            heap = self._lines[needs].heap
            while heap and heap[0][-1].removed:
                heapq.heappop(heap)
            if heap:
                found.append(heap[0])
            else:
                del self._lines[needs]
        found.sort(key=lambda ranked: ranked[:-1])
        return [(ranked[-1].brief.requirements, ranked[-1]) for ranked in found]

    def line(self, needs: Requirements, limit: int) -> list[Waiting]:
        """The first few of one line, in order."""
        line = self._lines.get(needs)
        if line is None:
            return []
        return [ranked[-1] for ranked in heapq.nsmallest(limit, line.heap) if not ranked[-1].removed]

    def ahead_of(self, waiting: Waiting) -> int:
        """How many would be served before it."""
        mine = (-waiting.brief.priority, waiting.brief.job_id, waiting.slice_index)
        return sum(1 for other in self if (-other.brief.priority, other.brief.job_id, other.slice_index) < mine)

    def _ranked(self, waiting: Waiting) -> Ranked:
        return (-waiting.brief.priority, waiting.brief.job_id, waiting.slice_index, next(self._tie), waiting)
