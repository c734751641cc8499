"""What waits for a node, and whose turn it is.

Slices of one owner with equal requirements wait in one line, so that one look decides for all of them.

Between owners, whoever waits longer goes first. A slice that begins to wait draws a ticket that tells its age. An
owner's tickets are spent oldest first, but on whichever slice that owner's priorities put first: the slice whose ticket
was spent keeps the other one's. So a priority reorders an owner's own slices and takes nothing from others, and an old
ticket is good for one turn.
"""

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from computepool.hub.jobs.brief import JobBrief
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.ordered import Ordered
from computepool.protocol.manifest import Saved

Ticket = tuple[str, int]
"""A job's id, which sorts by age, and the slice's place in it."""
NOT_DRAWN = -1


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
    removed: bool = False
    ticket: Ticket = field(init=False)
    """What its owner has for it: its own age, until another slice of the owner took its turn."""
    drawn: int = field(init=False, default=NOT_DRAWN)
    """Which entry of its line's tickets is its own."""

    def __post_init__(self) -> None:
        self.ticket = self.key

    @property
    def key(self) -> tuple[str, int]:
        return (self.brief.job_id, self.slice_index)

    def is_due(self, now: datetime) -> bool:
        return self.retry_at is None or self.retry_at <= now

    def may_be_placed(self, now: datetime) -> bool:
        return self.is_due(now) or (bool(self.avoid) and not self.held_back)

    @property
    def rank(self) -> tuple[int, str, int]:
        """Among its owner's: priority first, then age, then the slice's place in its job."""
        return (-self.brief.priority, self.brief.job_id, self.slice_index)


class Line:
    """Slices of one owner that need the same."""

    def __init__(self, needs: Requirements) -> None:
        self.needs = needs
        self._jobs: Ordered[tuple[int, str], Ordered[int, Waiting]] = Ordered()
        """By priority and age: a job of ten thousand slices takes one place."""
        self._count = 0
        self._tickets: list[tuple[Ticket, int, Waiting]] = []
        """A heap. Those that were spent, or whose slice is gone, do not count."""
        self._numbers = count()

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
        self._draw(waiting)

    def remove(self, waiting: Waiting) -> None:
        priority, job_id, index = waiting.rank
        job = self._jobs.get((priority, job_id))
        if job is None:
            raise KeyError(waiting.key)
        job.pop(index)
        self._count -= 1
        waiting.drawn = NOT_DRAWN
        if not job:
            self._jobs.pop((priority, job_id))
        if len(self._tickets) > 2 * self._count:
            self._tickets = [one for one in self._tickets if _counts(one)]
            heapq.heapify(self._tickets)

    def oldest_ticket(self) -> Ticket:
        """There is one as long as not all who wait here were served."""
        while not _counts(self._tickets[0]):
            heapq.heappop(self._tickets)
        return self._tickets[0][0]

    def spend_ticket(self, on: Waiting) -> None:
        """The oldest one, on a slice that may stand in another line of the owner: the two exchange theirs."""
        ticket = self.oldest_ticket()
        _, _, holder = heapq.heappop(self._tickets)
        if holder is not on:
            holder.ticket, on.ticket = on.ticket, ticket
            self._draw(holder)
        on.drawn = NOT_DRAWN

    def _draw(self, waiting: Waiting) -> None:
        waiting.drawn = next(self._numbers)
        heapq.heappush(self._tickets, (waiting.ticket, waiting.drawn, waiting))


class Queue:
    def __init__(self) -> None:
        self._lines: dict[Requirements, Line] = {}
        self._by_key: dict[tuple[str, int], Waiting] = {}

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
        needs = waiting.brief.requirements
        line = self._lines.get(needs)
        if line is None:
            line = self._lines[needs] = Line(needs)
        line.add(waiting)

    def remove(self, key: tuple[str, int]) -> Waiting | None:
        waiting = self._by_key.pop(key, None)
        if waiting is not None:
            waiting.removed = True
            line = self._lines[waiting.brief.requirements]
            line.remove(waiting)
            if not len(line):
                del self._lines[waiting.brief.requirements]
        return waiting

    def remove_job(self, job_id: str, slices: int) -> None:
        for index in range(slices):
            self.remove((job_id, index))

    def lines(self) -> Iterable[Line]:
        return self._lines.values()

    def ahead_of(self, several: Sequence[Waiting]) -> list[int]:
        """For each of these slices of one owner: how many would be served before it, if there were room for all."""
        owner_id = several[0].brief.owner_id
        own = [one for one in self if one.brief.owner_id == owner_id]
        ranks, tickets = sorted(one.rank for one in own), sorted(one.ticket for one in own)
        turns = [tickets[bisect_left(ranks, one.rank)] for one in several]
        everybodys = sorted(one.ticket for one in self)
        return [bisect_left(everybodys, turn) for turn in turns]


def _counts(drawn: tuple[Ticket, int, Waiting]) -> bool:
    _, number, waiting = drawn
    return waiting.drawn == number
