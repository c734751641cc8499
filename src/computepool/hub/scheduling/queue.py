"""What waits for a node.

Slices of one owner with equal requirements wait in one line, so that one look decides for all of them. In a line, and
among all lines of an owner, priority comes first, then age, then the slice's place in its job. Whose turn it is between
owners is another question: `turns` answers it.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from computepool.hub.jobs.brief import JobBrief
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.ordered import Ordered
from computepool.protocol.manifest import Saved

TALLY_LIMIT = 10_000
"""Slices of one minute that count in the figures of the pool: the newest."""

Rank = tuple[int, str, int]
"""Among an owner's slices: priority, the job's id, which sorts by age, and the slice's place in it."""


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
    saved: Saved | None = None
    """The checkpoint that its next attempt starts from."""
    held_back: bool = False
    """Until `retry_at` it gets no node at all; else only those that it avoids have to wait."""
    continues: bool = False
    """It waits because it asked to, not because it failed."""
    verdict: str | None = None
    """Of its last attempt, and why that ended: for words alone."""
    reason: str | None = None
    waits_since: float = 0.0
    """On the hub's elapsed clock."""
    removed: bool = False

    @property
    def key(self) -> tuple[str, int]:
        return (self.brief.job_id, self.slice_index)

    def is_due(self, now: datetime) -> bool:
        return self.retry_at is None or self.retry_at <= now

    def may_be_placed(self, now: datetime) -> bool:
        return self.is_due(now) or (bool(self.avoid) and not self.held_back)

    @property
    def rank(self) -> Rank:
        """Among its owner's: priority first, then age, then the slice's place in its job."""
        return (-self.brief.priority, self.brief.job_id, self.slice_index)


@dataclass(slots=True)
class Tally:
    """How long slices waited, since the pool's figures were last taken."""

    waited: deque[float] = field(default_factory=lambda: deque(maxlen=TALLY_LIMIT))
    """Seconds until each got a node."""
    began: deque[float] = field(default_factory=lambda: deque(maxlen=TALLY_LIMIT))
    """Seconds from each lease until its command ran."""


class Line:
    """Slices of one owner that need the same."""

    def __init__(self, needs: Requirements) -> None:
        self.needs = needs
        self._jobs: Ordered[tuple[int, str], Ordered[int, Waiting]] = Ordered()
        """By priority and age: a job of ten thousand slices takes one place."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Waiting]:
        """In order. Do not change the queue while you go through it."""
        return (waiting for job in self._jobs for waiting in job)

    def add(self, waiting: Waiting) -> None:
        priority, job_id, index = waiting.rank
        job = self._jobs.get((priority, job_id))
        if job is None:
            job = Ordered()
            self._jobs.put((priority, job_id), job)
        job.put(index, waiting)
        self._count += 1

    def remove(self, waiting: Waiting) -> None:
        priority, job_id, index = waiting.rank
        job = self._jobs.get((priority, job_id))
        if job is None:
            raise KeyError(waiting.key)
        job.pop(index)
        self._count -= 1
        if not job:
            self._jobs.pop((priority, job_id))


class Queue:
    def __init__(self) -> None:
        self._lines: dict[Requirements, Line] = {}
        self._by_key: dict[tuple[str, int], Waiting] = {}
        self._by_owner: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._by_key)

    def count_of(self, owner_id: str) -> int:
        """How many slices of this owner wait."""
        return self._by_owner[owner_id]

    def __contains__(self, key: tuple[str, int]) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[Waiting]:
        return iter(self._by_key.values())

    def get(self, key: tuple[str, int]) -> Waiting | None:
        return self._by_key.get(key)

    def add(self, waiting: Waiting) -> None:
        self.remove(waiting.key)
        self._by_key[waiting.key] = waiting
        self._by_owner[waiting.brief.owner_id] += 1
        waiting.removed = False
        needs = waiting.brief.requirements
        line = self._lines.get(needs)
        if line is None:
            line = self._lines[needs] = Line(needs)
        line.add(waiting)

    def remove(self, key: tuple[str, int]) -> Waiting | None:
        waiting = self._by_key.pop(key, None)
        if waiting is not None:
            waiting.removed = True
            self._by_owner[waiting.brief.owner_id] -= 1
            if not self._by_owner[waiting.brief.owner_id]:
                del self._by_owner[waiting.brief.owner_id]
            line = self._lines[waiting.brief.requirements]
            line.remove(waiting)
            if not len(line):
                del self._lines[waiting.brief.requirements]
        return waiting

    def remove_job(self, job_id: str, indices: Iterable[int]) -> None:
        for index in indices:
            self.remove((job_id, index))

    def lines(self) -> Iterable[Line]:
        return self._lines.values()

    def line(self, needs: Requirements) -> Line | None:
        return self._lines.get(needs)
