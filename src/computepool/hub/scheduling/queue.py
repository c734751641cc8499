"""What waits for a node. Slices with equal requirements wait in one line, so that one look decides for all of them."""

from bisect import insort
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
    ranked: list[Ranked] = field(default_factory=list)
    """In order: the first few are had without looking at the rest, of which there may be a hundred thousand."""
    removed: int = 0
    """Of them, those that are only still here because taking one out of the middle is slow."""

    def tidy(self) -> None:
        """The first is one who waits, and so is at least every second."""
        gone = next((index for index, one in enumerate(self.ranked) if not one[-1].removed), len(self.ranked))
        del self.ranked[:gone]
        self.removed -= gone
        if self.removed * 2 > len(self.ranked):
            self.ranked = [one for one in self.ranked if not one[-1].removed]
            self.removed = 0


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
        waiting.removed = False
        line = self._lines.setdefault(waiting.brief.requirements, _Line())
        insort(line.ranked, self._ranked(waiting))

    def remove(self, key: tuple[str, int]) -> Waiting | None:
        waiting = self._by_key.pop(key, None)
        if waiting is not None:
            waiting.removed = True
            line = self._lines[waiting.brief.requirements]
            line.removed += 1
            line.tidy()
            if not line.ranked:
                del self._lines[waiting.brief.requirements]
        return waiting

    def remove_job(self, job_id: str, slices: int) -> None:
        for index in range(slices):
            self.remove((job_id, index))

    def heads(self) -> list[tuple[Requirements, Waiting]]:
        """The first of each line, in the order in which they should be served."""
        found = sorted((line.ranked[0] for line in self._lines.values()), key=lambda ranked: ranked[:-1])
        return [(ranked[-1].brief.requirements, ranked[-1]) for ranked in found]

    def line(self, needs: Requirements) -> Iterator[Waiting]:
        """Those who wait in one line, in order. Do not change the queue while you go through it."""
        line = self._lines.get(needs)
        return (one[-1] for one in line.ranked if not one[-1].removed) if line is not None else iter(())

    def ahead_of(self, waiting: Waiting) -> int:
        """How many would be served before it."""
        mine = (-waiting.brief.priority, waiting.brief.job_id, waiting.slice_index)
        return sum(1 for other in self if (-other.brief.priority, other.brief.job_id, other.slice_index) < mine)

    def _ranked(self, waiting: Waiting) -> Ranked:
        return (-waiting.brief.priority, waiting.brief.job_id, waiting.slice_index, next(self._tie), waiting)
