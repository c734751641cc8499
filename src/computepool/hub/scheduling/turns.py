"""One round through the queue: the owner who waits longest has a turn, and spends it on the slice that it wants first.

Lines in which nobody is worth a look, or for which there is no room, do not count, and neither do their tickets: a job
that no node can run would otherwise let its owner's other jobs pass everybody.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from computepool.hub.scheduling.queue import Line, Ticket, Waiting

LOOK_BEHIND = 64
"""How many sets of avoided nodes are tried in one line when its first must wait for reasons of its own."""


class Place:
    """How far a round got in a line."""

    def __init__(self, line: Line, now: datetime) -> None:
        self.line = line
        self.waiting: Waiting | None = None
        """Who is looked at next."""
        self._now = now
        self._rest: Iterator[Waiting] = iter(line)
        self._in_vain: set[tuple[tuple[str, ...], bool]] = set()
        self.move_on()

    def move_on(self) -> None:
        """To the next who may be given a node: not one who waits for the time of another try, nor one for whom the
        same was tried in vain."""
        for one in self._rest:
            if one.may_be_placed(self._now) and (one.avoid, one.is_due(self._now)) not in self._in_vain:
                self.waiting = one
                return
        self.waiting = None

    def give_up(self) -> None:
        """There is no room for the one who is looked at: nor, if nothing special holds it back, for those behind."""
        assert self.waiting is not None
        if not self.waiting.avoid or len(self._in_vain) >= LOOK_BEHIND:
            self.waiting = None
        else:
            self._in_vain.add((self.waiting.avoid, self.waiting.is_due(self._now)))
            self.move_on()


@dataclass(slots=True, eq=False)
class _Owner:
    by_rank: list[tuple[tuple[int, str, int], Place]] = field(default_factory=list)
    """A heap of the open lines, by who is looked at next."""
    by_ticket: list[tuple[Ticket, int, Place]] = field(default_factory=list)
    """A heap of lines by their oldest ticket. That only gets younger in a round: it is looked up when it comes up."""

    def oldest(self) -> tuple[Ticket, Place] | None:
        while self.by_ticket:
            ticket, number, place = self.by_ticket[0]
            if place.waiting is None:
                heapq.heappop(self.by_ticket)
            elif (now := place.line.oldest_ticket()) != ticket:
                heapq.heapreplace(self.by_ticket, (now, number, place))
            else:
                return ticket, place
        return None


class Round:
    """Nothing else may change the queue meanwhile."""

    def __init__(self, lines: Iterable[Line], now: datetime) -> None:
        self._owners: dict[str, _Owner] = {}
        for number, line in enumerate(lines):
            place = Place(line, now)
            if place.waiting is not None:
                owner = self._owners.setdefault(line.needs.owner_id, _Owner())
                owner.by_rank.append((place.waiting.rank, place))
                owner.by_ticket.append((line.oldest_ticket(), number, place))
        for owner in self._owners.values():
            heapq.heapify(owner.by_rank)
            heapq.heapify(owner.by_ticket)
        self._turns = [(owner.by_ticket[0][0], owner_id) for owner_id, owner in self._owners.items()]
        heapq.heapify(self._turns)

    def next(self) -> Waiting | None:
        """Whose turn it is. Say what came of it, `served` or `in_vain`, before you ask again."""
        while self._turns:
            ticket, owner_id = self._turns[0]
            oldest = self._owners[owner_id].oldest()
            if oldest is None:
                heapq.heappop(self._turns)
            elif oldest[0] != ticket:
                heapq.heapreplace(self._turns, (oldest[0], owner_id))
            else:
                return self._owners[owner_id].by_rank[0][1].waiting
        return None

    def served(self) -> None:
        """It has a node now, and the oldest ticket of its owner is spent."""
        owner, place = self._current()
        oldest = owner.oldest()
        assert oldest is not None, "it has a ticket itself"
        assert place.waiting is not None
        oldest[1].line.spend_ticket(place.waiting)
        place.move_on()
        self._sort_in(owner, place)

    def in_vain(self) -> None:
        """There is no room for it."""
        owner, place = self._current()
        place.give_up()
        self._sort_in(owner, place)

    def _current(self) -> tuple[_Owner, Place]:
        owner = self._owners[self._turns[0][1]]
        return owner, owner.by_rank[0][1]

    def _sort_in(self, owner: _Owner, place: Place) -> None:
        if place.waiting is None:
            heapq.heappop(owner.by_rank)
        else:
            heapq.heapreplace(owner.by_rank, (place.waiting.rank, place))
