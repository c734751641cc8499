"""One round through the queue: the renter who had least of the pool lately has a turn, and spends it on the slice that
it wants first.

Lines in which nobody is worth a look, or for which there is no room, do not count. What can be interrupted comes after
everything that cannot, the higher bid first: a slot that it took from others would only be taken from it again.
"""

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.queue import Line, Queue, Rank, Waiting
from computepool.hub.scheduling.usage import AHEAD_SECONDS, weight_of

LOOK_BEHIND = 64
"""How many sets of avoided nodes are tried in one line when its first must wait for reasons of its own."""

Standing = Callable[[str], float]
"""How much a renter has had. It only grows in a round, with each slice that is served."""
Turn = tuple[bool, int, float, str, str]
"""Whether it can be interrupted, its bid, its renter's standing, its age, and the renter, so that no two are equal."""


Lane = tuple[bool, int]
Group = tuple[Lane, str]


def lane_of(needs: Requirements) -> Lane:
    """What comes before all turns: those that cannot be interrupted, then the higher bid."""
    return (True, -needs.bid_micros) if needs.preemptible else (False, 0)


def turn_of(waiting: Waiting, standing: float) -> Turn:
    needs = waiting.brief.requirements
    return (*lane_of(needs), standing, waiting.brief.job_id, needs.owner_id)


class LinePosition:
    """How far a round got in a line."""

    def __init__(self, line: Line, now: datetime) -> None:
        self.waiting: Waiting | None = None
        """Who is looked at next."""
        self._now = now
        self._rest: Iterator[Waiting] = iter(line)
        self._in_vain: set[tuple[tuple[str, ...], bool, int]] = set()
        self.move_on()

    def move_on(self) -> None:
        """To the next who may be given a node: not one who waits for the time of another try, nor one for whom the
        same was tried in vain."""
        for one in self._rest:
            if one.may_be_placed(self._now) and self._limits(one) not in self._in_vain:
                self.waiting = one
                return
        self.waiting = None

    def give_up(self) -> None:
        """There is no room for the one who is looked at: nor, if nothing special holds it back, for those behind."""
        assert self.waiting is not None
        special = self.waiting.avoid or self.waiting.brief.requirements.apart
        if not special or len(self._in_vain) >= LOOK_BEHIND:
            self.waiting = None
        else:
            self._in_vain.add(self._limits(self.waiting))
            self.move_on()

    def _limits(self, one: Waiting) -> tuple[tuple[str, ...], bool, int]:
        """What one has to keep to besides its needs: each slice of those with replicas has its own."""
        return one.avoid, one.is_due(self._now), one.slice_index if one.brief.requirements.apart else 0


class Round:
    """Nothing else may change the queue meanwhile."""

    def __init__(self, lines: Iterable[Line], now: datetime, standing: Standing) -> None:
        self._standing = standing
        self._groups: dict[Group, list[tuple[Rank, LinePosition]]] = {}
        """A heap of the open lines of each renter in each lane, by who is looked at next."""
        for line in lines:
            place = LinePosition(line, now)
            if place.waiting is not None:
                self._groups.setdefault(_group_of(line.needs), []).append((place.waiting.rank, place))
        for places in self._groups.values():
            heapq.heapify(places)
        self._turns = [(self._turn(places), group) for group, places in self._groups.items()]
        heapq.heapify(self._turns)

    def next(self) -> Waiting | None:
        """Whose turn it is. Say what came of it, `served` or `in_vain`, before you ask again."""
        while self._turns:
            turn, group = self._turns[0]
            places = self._groups[group]
            if not places:
                heapq.heappop(self._turns)
            elif (now := self._turn(places)) != turn:
                # A turn only gets later while others have theirs, so that it is enough to look when it comes up.
                heapq.heapreplace(self._turns, (now, group))
            else:
                return places[0][1].waiting
        return None

    def served(self) -> None:
        """It has a node now, and its renter's standing says so."""
        places = self._current()
        places[0][1].move_on()
        self._sort_in(places)

    def in_vain(self) -> None:
        """There is no room for it."""
        places = self._current()
        places[0][1].give_up()
        self._sort_in(places)

    def _turn(self, places: list[tuple[Rank, LinePosition]]) -> Turn:
        waiting = places[0][1].waiting
        assert waiting is not None, "a line without anybody is left out"
        return turn_of(waiting, self._standing(waiting.brief.owner_id))

    def _current(self) -> list[tuple[Rank, LinePosition]]:
        return self._groups[self._turns[0][1]]

    def _sort_in(self, places: list[tuple[Rank, LinePosition]]) -> None:
        place = places[0][1]
        if place.waiting is None:
            heapq.heappop(places)
        else:
            heapq.heapreplace(places, (place.waiting.rank, place))


def ahead_of(queue: Queue, several: Sequence[Waiting], standing: Standing) -> list[int]:
    """For each of these: how many would be served before it, if there were room for all on other people's nodes."""
    groups: dict[Group, list[Waiting]] = {}
    for one in queue:
        groups.setdefault(_group_of(one.brief.requirements), []).append(one)
    turns: dict[Group, list[Turn]] = {}
    had: dict[str, float] = {}
    for group in sorted(groups):
        owner_id, waiting = group[1], groups[group]
        waiting.sort(key=lambda one: one.rank)
        before = had.get(owner_id)
        turns[group], had[owner_id] = _turns_of(waiting, standing(owner_id) if before is None else before)
    found = []
    for one in several:
        own = _group_of(one.brief.requirements)
        place = bisect_left(groups[own], one.rank, key=lambda other: other.rank)
        turn = turns[own][place]
        found.append(place + sum(bisect_left(turns[group], turn) for group in turns if group != own))
    return found


def _turns_of(waiting: Sequence[Waiting], standing: float) -> tuple[list[Turn], float]:
    """When each has its turn: never before the one that its renter wants first, and later with each that was served.
    And what its renter has had then."""
    turns: list[Turn] = []
    for one in waiting:
        turn = turn_of(one, standing)
        turns.append(max(turn, turns[-1]) if turns else turn)
        standing += AHEAD_SECONDS * weight_of(one.brief.requirements)
    return turns, standing


def _group_of(needs: Requirements) -> Group:
    return lane_of(needs), needs.owner_id
