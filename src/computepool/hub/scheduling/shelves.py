"""Nodes in a cupboard: those that are alike, with about the same room left, stand on one shelf, the best one in front.

A request asks for shelves, not for nodes (`catalogue`), and takes the best of what stands in front of them. What a
bucket cannot tell (half a core, the last gigabyte, the exact price) is looked at node by node. So a choice is exact,
and its cost grows with the variety of a fleet, not with its size; where no shelf will do, nobody is looked at.
"""

import math
from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from itertools import islice

from computepool.hub.market.feasibility import Traits
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.blocks import Heads
from computepool.hub.scheduling.catalogue import Catalogue, Limits, ShelfKey, best_of, limits_of
from computepool.hub.scheduling.facets import bits_of, raw_of
from computepool.hub.scheduling.fleet_node import FleetNode
from computepool.hub.scheduling.scoring import cold_score
from computepool.hub.scheduling.views import Room, View, at_best
from computepool.protocol.spec import Optimize

EMPTY_KEPT = 1024
"""Empty shelves that stay where they are, at least: a node that is given a slice and ends it comes back."""
SHELF_MOST = 4096
"""Nodes on one shelf; then another one is opened beside it. Putting one into a long list takes long."""
FEW_SHELVES = 200
"""So many are picked out at once."""
WALK_RATIO = 2
"""How long those that will do are looked for among all shelves, in the order of their best nodes, before they are
picked out and sorted: so many times as long as it takes if they are spread evenly, and a quarter of a step for each."""

Entry = tuple[float, float, int, str, int, FleetNode]
"""Score, speed (negative), free cores, id, as in `scoring.Rank`; the number of the shelf, and the node."""
Ordering = int
"""For GPUs or for cores, and what is to be saved: a place in `ORDERINGS`, as enums are slow keys."""
ORDERINGS = [(gpu, optimize) for gpu in (False, True) for optimize in Optimize]


@dataclass(slots=True, eq=False)
class Shelf:
    number: int
    key: ShelfKey
    bit: int
    members: "dict[str, Spot]" = field(default_factory=dict)
    orders: dict[Ordering, list[Entry]] = field(default_factory=dict)
    limits: Limits | None = None
    """None before anybody came."""
    is_stale: bool = False
    """Somebody left, or changed: the limits may be too good."""


@dataclass(slots=True, eq=False)
class Spot:
    """Where a node stands, and what follows from its traits."""

    node: FleetNode
    traits: Traits
    static: int
    limits: Limits
    asked: int
    """How many tags had been asked for when it was sorted in."""
    shelf: Shelf | None = None
    entries: dict[Ordering, Entry] = field(default_factory=dict)
    scores: dict[Ordering, tuple[float, float]] = field(default_factory=dict)


class Shelves:
    def __init__(self, view: View, asked_tags: set[str], owner_id: str | None = None, *, coarse: bool = False) -> None:
        """`asked_tags` is shared: only tags that somebody asked for tell nodes apart. `owner_id` is the one for whom
        these are the own nodes; None for strangers."""
        self._view = view
        self._lasting = view is at_best
        """Room does not change while somebody takes some of it."""
        self._asked_tags = asked_tags
        self._own = owner_id is not None
        self._catalogue = Catalogue(asked_tags, owner_id, coarse=coarse)
        self._spots: dict[str, Spot] = {}
        self._standing: set[str] = set()
        """The nodes that are on a shelf."""
        self._shelves: list[Shelf] = []
        self._by_key: dict[ShelfKey, Shelf] = {}
        self._live = 0
        """The shelves with somebody on them, as bits."""
        self._empty: dict[int, Shelf] = {}
        self._heads: dict[Ordering, Heads[Entry]] = {}
        """For each ordering that somebody asked for: the best of each shelf."""
        self._first: dict[Ordering, list[Entry | None]] = {}
        """The same by the shelves' numbers."""
        self._first_score: dict[Ordering, array[float]] = {}

    # ── putting nodes where they belong ──────────────────────────────────────────────────────────────────────────────

    def place(self, node: FleetNode) -> None:
        """Put it where it belongs now, or nowhere."""
        traits = node.traits
        spot = self._spots.get(traits.node_id)
        if self._lasting and spot is not None and spot.shelf is not None and spot.traits is traits and node.takes_work:
            return
        room = self._view(node)
        if room is None:
            if spot is not None and spot.shelf is not None:
                self._leave(spot, spot.shelf)
            return
        if spot is None or spot.node is not node:
            self.remove(traits.node_id)
            static = self._catalogue.static_of(traits)
            spot = self._spots[traits.node_id] = Spot(node, traits, static, limits_of(traits), len(self._asked_tags))
        elif spot.traits is not traits:
            self._learn(spot, traits)
        elif spot.asked != len(self._asked_tags):
            spot.static, spot.asked = self._catalogue.static_of(traits), len(self._asked_tags)
        shelf = self._shelf(spot, room)
        if shelf is not spot.shelf:
            if spot.shelf is not None:
                self._leave(spot, spot.shelf)
            self._enter(spot, shelf)
        for ordering in self._heads:
            self._sort_in(ordering, spot, shelf, room)

    def remove(self, node_id: str) -> None:
        spot = self._spots.pop(node_id, None)
        if spot is not None and spot.shelf is not None:
            self._leave(spot, spot.shelf)

    def _learn(self, spot: Spot, traits: Traits) -> None:
        spot.scores.clear()
        spot.traits, spot.static, spot.asked = traits, self._catalogue.static_of(traits), len(self._asked_tags)
        spot.limits = limits_of(traits)
        if spot.shelf is not None:
            spot.shelf.is_stale = True
            self._welcome(spot.shelf, spot)

    def _enter(self, spot: Spot, shelf: Shelf) -> None:
        if shelf.members:
            self._welcome(shelf, spot)
        else:
            shelf.limits = self._catalogue.change(shelf.limits, spot.limits, shelf.bit)
            shelf.is_stale = False
            self._empty.pop(shelf.number, None)
            self._live ^= shelf.bit
        shelf.members[spot.traits.node_id] = spot
        self._standing.add(spot.traits.node_id)
        spot.shelf = shelf

    def _welcome(self, shelf: Shelf, spot: Spot) -> None:
        """It stands there with others."""
        limits = best_of((shelf.limits, spot.limits)) if shelf.limits is not None else spot.limits
        shelf.limits = self._catalogue.change(shelf.limits, limits, shelf.bit)

    def _leave(self, spot: Spot, shelf: Shelf) -> None:
        del shelf.members[spot.traits.node_id]
        self._standing.discard(spot.traits.node_id)
        spot.shelf = None
        for ordering, entry in spot.entries.items():
            self._take_out(ordering, shelf, entry)
        spot.entries = {}
        shelf.is_stale = True
        if not shelf.members:
            self._empty[shelf.number] = shelf
            self._live ^= shelf.bit

    def _sort_in(self, ordering: Ordering, spot: Spot, shelf: Shelf, room: Room) -> None:
        before = spot.entries.get(ordering)
        entry = self._entry(ordering, spot, shelf, room)
        if before is not None:
            if entry == before:
                return
            self._take_out(ordering, shelf, before)
            del spot.entries[ordering]
        if entry is None:
            return
        spot.entries[ordering] = entry
        order = shelf.orders.get(ordering)
        if not order:
            shelf.orders[ordering] = [entry]
            self._put_first(ordering, shelf.number, None, entry)
        elif entry < order[0]:
            self._put_first(ordering, shelf.number, order[0], entry)
            order.insert(0, entry)
        else:
            insort(order, entry)

    def _entry(self, ordering: Ordering, spot: Spot, shelf: Shelf, room: Room) -> Entry | None:
        gpu, optimize = ORDERINGS[ordering]
        if not (room.gpus if gpu else room.cores):
            return None
        known = spot.scores.get(ordering)
        if known is None:
            known = spot.scores[ordering] = cold_score(spot.traits, optimize, gpu=gpu, own=self._own)
        return known[0], -known[1], room.cpu_millis, spot.traits.node_id, shelf.number, spot.node

    def _take_out(self, ordering: Ordering, shelf: Shelf, entry: Entry) -> None:
        order = shelf.orders[ordering]
        if order[0] is entry:
            del order[0]
            self._put_first(ordering, shelf.number, entry, order[0] if order else None)
        else:
            del order[bisect_left(order, entry)]

    def _put_first(self, ordering: Ordering, number: int, before: Entry | None, now: Entry | None) -> None:
        heads = self._heads[ordering]
        if before is not None:
            heads.remove(before)
        if now is not None:
            heads.add(now)
        self._first[ordering][number] = now
        self._first_score[ordering][number] = now[0] if now is not None else math.inf

    def _shelf(self, spot: Spot, room: Room) -> Shelf:
        key = self._catalogue.key_of(spot.static, room)
        if spot.shelf is not None and spot.shelf.key == key:
            return spot.shelf
        shelf = self._by_key.get(key)
        return shelf if shelf is not None and len(shelf.members) < SHELF_MOST else self._open(key)

    def _open(self, key: ShelfKey) -> Shelf:
        number = len(self._shelves)
        if len(self._empty) > max(EMPTY_KEPT, number // 2):
            number = self._close(next(iter(self._empty.values())))
        shelf = Shelf(number, key, 1 << number)
        if number == len(self._shelves):
            self._shelves.append(shelf)
            for ordering in self._heads:
                self._first[ordering].append(None)
                self._first_score[ordering].append(math.inf)
        else:
            self._shelves[number] = shelf
        self._by_key[key] = shelf
        self._empty[number] = shelf
        self._catalogue.add(key, shelf.bit)
        return shelf

    def _close(self, shelf: Shelf) -> int:
        """The one that has been empty for longest: its number is used again."""
        del self._empty[shelf.number]
        if self._by_key[shelf.key] is shelf:
            del self._by_key[shelf.key]
        self._catalogue.drop(shelf.key, shelf.limits, shelf.bit)
        return shelf.number

    # ── looking for the best ─────────────────────────────────────────────────────────────────────────────────────────

    def matching(self, needs: Requirements, *, newcomers: bool = False) -> int:
        """Shelves on which there may be a node for it, as bits."""
        return self._catalogue.matching(needs, self._live, newcomers=newcomers)

    def any_of(self, shelves: int, suits: Callable[[FleetNode], bool], most: int) -> bool:
        """Whether it is true of one of the first so many nodes there."""
        spots = (
            spot
            for number in bits_of(raw_of(shelves, len(self._shelves)))
            for spot in self._shelves[number].members.values()
        )
        return any(suits(spot.node) for spot in islice(spots, most))

    def entries_of(self, node_ids: set[str], ordering: Ordering, shelves: int) -> Iterator[Entry]:
        """Of those of these nodes that stand there."""
        raw = raw_of(shelves, len(self._shelves))
        for node_id in node_ids & self._standing:
            spot = self._spots[node_id]
            number = spot.shelf.number if spot.shelf is not None else 0
            if raw[number >> 3] >> (number & 7) & 1 and (entry := spot.entries.get(ordering)) is not None:
                yield entry

    def in_order(self, ordering: Ordering, shelves: int) -> Iterator[Entry]:
        """Who stands there, the best first. `sort` has to have been called."""
        waiting: list[tuple[Entry, Iterator[Entry], Shelf]] = []
        """The next of each shelf that was begun. No two entries are equal, so that nothing behind them is compared."""
        heads = self._heads_of(ordering, shelves)
        head = next(heads, None)
        while head is not None or waiting:
            if head is not None and (not waiting or head < waiting[0][0]):
                shelf = self._shelves[head[4]]
                rest = iter(shelf.orders[ordering])
                yield next(rest)
                head = next(heads, None)
                following = next(rest, None)
                if following is not None:
                    heappush(waiting, (following, rest, shelf))
                else:
                    self._walked_through(shelf)
            else:
                entry, rest, shelf = waiting[0]
                yield entry
                following = next(rest, None)
                if following is not None:
                    heapreplace(waiting, (following, rest, shelf))
                else:
                    heappop(waiting)
                    self._walked_through(shelf)

    def _walked_through(self, shelf: Shelf) -> None:
        """All of it was looked at: perhaps who made it look good has left."""
        if shelf.is_stale:
            limits = best_of(spot.limits for spot in shelf.members.values())
            shelf.limits = self._catalogue.change(shelf.limits, limits, shelf.bit)
            shelf.is_stale = False

    def _heads_of(self, ordering: Ordering, shelves: int) -> Iterator[Entry]:
        """The best of each of these shelves, in order. Going through all shelves in order finds the first of many soon;
        few are picked out and sorted."""
        if not shelves:
            return
        raw = raw_of(shelves, len(self._shelves))
        left = count = shelves.bit_count()
        last: Entry | None = None
        most = WALK_RATIO * len(self._shelves) // count + count // 4 if count > FEW_SHELVES else 0
        for passed, head in enumerate(self._heads[ordering]):
            if passed >= most:
                break
            number = head[4]
            if raw[number >> 3] >> (number & 7) & 1:
                last = head
                yield head
                left -= 1
                if not left:
                    return
        else:
            return
        yield from self._picked_out(ordering, raw, last)

    def _picked_out(self, ordering: Ordering, raw: bytes, last: Entry | None) -> Iterator[Entry]:
        """Those behind `last`, sorted as far as somebody wants to know."""
        scores, firsts = self._first_score[ordering], self._first[ordering]
        least = last[0] if last is not None else -math.inf
        rest = [(score, number) for number in bits_of(raw) if least <= (score := scores[number]) < math.inf]
        heapify(rest)
        while rest:
            score, number = heappop(rest)
            equals = [firsts[number]]
            while rest and rest[0][0] == score:
                equals.append(firsts[heappop(rest)[1]])
            for head in sorted(one for one in equals if one is not None):
                if last is None or head > last:
                    yield head

    def sort(self, ordering: Ordering) -> None:
        """Somebody asks in this order, perhaps for the first time: the only walk through all nodes, once for each."""
        if ordering in self._heads:
            return
        found: list[Entry] = []
        for shelf in self._shelves:
            entries = []
            for spot in shelf.members.values():
                room = self._view(spot.node)
                entry = self._entry(ordering, spot, shelf, room) if room is not None else None
                if entry is not None:
                    spot.entries[ordering] = entry
                    entries.append(entry)
            if entries:
                entries.sort()
                shelf.orders[ordering] = entries
                found.append(entries[0])
        self._heads[ordering] = Heads(found)
        self._first[ordering] = [None] * len(self._shelves)
        self._first_score[ordering] = array("d", [math.inf]) * len(self._shelves)
        for head in found:
            self._first[ordering][head[4]] = head
            self._first_score[ordering][head[4]] = head[0]
