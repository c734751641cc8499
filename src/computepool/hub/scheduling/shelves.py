"""Nodes in a cupboard: those that are alike, with about the same room left, stand on one shelf, the best one in front.

A request asks for shelves, not for nodes (`catalogue`), and takes the best of what stands in front of them. What a
bucket cannot tell (half a core, the last gigabyte, the exact price) is looked at node by node. So a choice is exact,
and its cost grows with the variety of a fleet, not with its size; where no shelf will do, nobody is looked at.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace

from computepool.hub.market.feasibility import Traits
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.blocks import Blocks
from computepool.hub.scheduling.catalogue import Catalogue, Limits, ShelfKey, cpu_step, disk_step, memory_step
from computepool.hub.scheduling.facets import bits_of
from computepool.hub.scheduling.fleet_node import FleetNode
from computepool.hub.scheduling.scoring import cold_score
from computepool.hub.scheduling.views import Room, View
from computepool.protocol.spec import Optimize

EMPTY_KEPT = 1024
"""Empty shelves that stay where they are, at least: a node that is given a slice and ends it comes back."""
WALK_RATIO = 4
"""How many shelves are passed in the order of their best nodes, for each one that will do, before those are sorted."""

Entry = tuple[float, float, int, str, FleetNode]
"""Score, speed (negative), free cores, id, as in `scoring.Rank`; and the node."""
Ordering = tuple[bool, Optimize]
"""For GPUs or for cores, and what is to be saved."""


@dataclass(slots=True, eq=False)
class Shelf:
    number: int
    key: ShelfKey
    bit: int
    members: "dict[str, Spot]" = field(default_factory=dict)
    orders: dict[Ordering, Blocks[Entry]] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


@dataclass(slots=True, eq=False)
class Spot:
    """Where a node stands, and what follows from its traits."""

    node: FleetNode
    traits: Traits
    static: int
    asked: int
    """How many tags had been asked for when it was sorted in."""
    shelf: Shelf | None = None
    entries: dict[Ordering, Entry] = field(default_factory=dict)
    scores: dict[Ordering, tuple[float, float]] = field(default_factory=dict)


class Shelves:
    def __init__(self, view: View, asked_tags: set[str], owner_id: str | None = None) -> None:
        """`asked_tags` is shared: only tags that somebody asked for tell nodes apart. `owner_id` is the one for whom
        these are the own nodes; None for strangers."""
        self._view = view
        self._asked_tags = asked_tags
        self._own = owner_id is not None
        self._catalogue = Catalogue(asked_tags, owner_id)
        self._spots: dict[str, Spot] = {}
        self._shelves: list[Shelf] = []
        self._by_key: dict[ShelfKey, Shelf] = {}
        self._live = 0
        """The shelves with somebody on them, as bits."""
        self._empty: dict[int, Shelf] = {}
        self._heads: dict[Ordering, Blocks[tuple[Entry, int]]] = {}
        """For each ordering that somebody asked for: the best of each shelf, and the shelf's number."""

    @property
    def shelf_count(self) -> int:
        return len(self._shelves) - len(self._empty)

    # ── putting nodes where they belong ──────────────────────────────────────────────────────────────────────────────

    def place(self, node: FleetNode) -> None:
        """Put it where it belongs now, or nowhere."""
        traits = node.traits
        spot = self._spots.get(traits.node_id)
        room = self._view(node)
        if room is None:
            if spot is not None and spot.shelf is not None:
                self._leave(spot, spot.shelf)
            return
        if spot is None or spot.node is not node:
            self.remove(traits.node_id)
            static = self._catalogue.static_of(traits)
            spot = self._spots[traits.node_id] = Spot(node, traits, static, len(self._asked_tags))
        elif spot.traits is not traits:
            self._learn(spot, traits)
        elif spot.asked != len(self._asked_tags):
            spot.static, spot.asked = self._catalogue.static_of(traits), len(self._asked_tags)
        shelf = self._shelf(spot.static, room)
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
        if spot.shelf is not None:
            self._catalogue.note(spot.shelf.limits, traits, spot.shelf.bit)

    def _enter(self, spot: Spot, shelf: Shelf) -> None:
        if shelf.members:
            self._catalogue.note(shelf.limits, spot.traits, shelf.bit)
        else:
            self._catalogue.note_all(shelf.limits, [spot.traits], shelf.bit)
            self._empty.pop(shelf.number, None)
            self._live |= shelf.bit
        shelf.members[spot.traits.node_id] = spot
        spot.shelf = shelf

    def _leave(self, spot: Spot, shelf: Shelf) -> None:
        del shelf.members[spot.traits.node_id]
        spot.shelf = None
        for ordering, entry in spot.entries.items():
            self._take_out(ordering, shelf, entry)
        spot.entries.clear()
        if not shelf.members:
            self._empty[shelf.number] = shelf
            self._live &= ~shelf.bit

    def _sort_in(self, ordering: Ordering, spot: Spot, shelf: Shelf, room: Room) -> None:
        before = spot.entries.get(ordering)
        entry = self._entry(ordering, spot, room)
        if entry == before:
            return
        if before is not None:
            self._take_out(ordering, shelf, before)
            del spot.entries[ordering]
        if entry is None:
            return
        spot.entries[ordering] = entry
        order = shelf.orders.get(ordering)
        if order is None:
            order = shelf.orders[ordering] = Blocks()
        first = order.first
        order.add(entry)
        if first is None or entry < first:
            if first is not None:
                self._heads[ordering].remove((first, shelf.number))
            self._heads[ordering].add((entry, shelf.number))

    def _entry(self, ordering: Ordering, spot: Spot, room: Room) -> Entry | None:
        gpu, optimize = ordering
        if not (room.gpus if gpu else room.cores):
            return None
        known = spot.scores.get(ordering)
        if known is None:
            known = spot.scores[ordering] = cold_score(spot.traits, optimize, gpu=gpu, own=self._own)
        return known[0], -known[1], room.cpu_millis, spot.traits.node_id, spot.node

    def _take_out(self, ordering: Ordering, shelf: Shelf, entry: Entry) -> None:
        order, heads = shelf.orders[ordering], self._heads[ordering]
        was_first = order.first is entry
        order.remove(entry)
        if was_first:
            heads.remove((entry, shelf.number))
            first = order.first
            if first is not None:
                heads.add((first, shelf.number))

    def _shelf(self, static: int, room: Room) -> Shelf:
        key = ShelfKey(
            static,
            self._catalogue.cards_of(room.gpus),
            cpu_step(room.cpu_millis),
            memory_step(room.memory_bytes),
            disk_step(room.disk_bytes),
        )
        return self._by_key.get(key) or self._open(key)

    def _open(self, key: ShelfKey) -> Shelf:
        number = len(self._shelves)
        if len(self._empty) > max(EMPTY_KEPT, number // 2):
            number = self._close(next(iter(self._empty.values())))
        shelf = Shelf(number, key, 1 << number)
        if number == len(self._shelves):
            self._shelves.append(shelf)
        else:
            self._shelves[number] = shelf
        self._by_key[key] = shelf
        self._empty[number] = shelf
        self._catalogue.add(key, shelf.bit)
        return shelf

    def _close(self, shelf: Shelf) -> int:
        """The one that has been empty for longest: its number is used again."""
        del self._empty[shelf.number], self._by_key[shelf.key]
        self._catalogue.drop(shelf.key, shelf.limits, shelf.bit)
        return shelf.number

    # ── looking for the best ─────────────────────────────────────────────────────────────────────────────────────────

    def matching(self, needs: Requirements, *, newcomers: bool = False) -> int:
        """Shelves on which there may be a node for it, as bits."""
        return self._catalogue.matching(needs, self._live, newcomers=newcomers)

    def any_of(self, shelves: int, suits: Callable[[FleetNode], bool]) -> bool:
        for number in bits_of(_raw(shelves)):
            if any(suits(spot.node) for spot in self._shelves[number].members.values()):
                return True
        return False

    def entry_of(self, node_id: str, ordering: Ordering, shelves: int) -> Entry | None:
        """Of a node that stands on one of them."""
        spot = self._spots.get(node_id)
        if spot is None or spot.shelf is None or not shelves & spot.shelf.bit:
            return None
        return spot.entries.get(ordering)

    def in_order(self, ordering: Ordering, shelves: int) -> Iterator[Entry]:
        """Who stands there, the best first. `sort` has to have been called."""
        waiting: list[tuple[Entry, Iterator[Entry], Shelf]] = []
        """The next of each shelf that was begun. No two entries are equal, so that nothing behind them is compared."""
        heads = self._heads_of(ordering, shelves)
        head = next(heads, None)
        while head is not None or waiting:
            if head is not None and (not waiting or head[0] < waiting[0][0]):
                shelf = self._shelves[head[1]]
                rest = iter(shelf.orders[ordering])
                yield next(rest)
                head = next(heads, None)
                following = next(rest, None)
                if following is not None:
                    heappush(waiting, (following, rest, shelf))
                else:
                    self._walked_in_vain(shelf)
            else:
                entry, rest, shelf = waiting[0]
                yield entry
                following = next(rest, None)
                if following is not None:
                    heapreplace(waiting, (following, rest, shelf))
                else:
                    heappop(waiting)
                    self._walked_in_vain(shelf)

    def _walked_in_vain(self, shelf: Shelf) -> None:
        """Nobody on it would do, though it looked like it: perhaps who made it look so has left."""
        self._catalogue.note_all(shelf.limits, [spot.traits for spot in shelf.members.values()], shelf.bit)

    def _heads_of(self, ordering: Ordering, shelves: int) -> Iterator[tuple[Entry, int]]:
        """The best of each of these shelves, in order. Going through all shelves in order finds the first of many soon;
        few are picked out and sorted."""
        if not shelves:
            return
        raw = _raw(shelves, len(self._shelves))
        left = count = shelves.bit_count()
        last: tuple[Entry, int] | None = None
        for passed, head in enumerate(self._heads[ordering]):
            if passed >= WALK_RATIO * count:
                break
            number = head[1]
            if raw[number >> 3] >> (number & 7) & 1:
                left -= 1
                last = head
                yield head
                if not left:
                    return
        else:
            return
        rest = [head for number in bits_of(raw) if (head := self._head(ordering, number)) is not None]
        heapify(rest)
        while rest:
            head = heappop(rest)
            if last is None or head > last:
                yield head

    def _head(self, ordering: Ordering, number: int) -> tuple[Entry, int] | None:
        order = self._shelves[number].orders.get(ordering)
        first = order.first if order is not None else None
        return None if first is None else (first, number)

    def sort(self, ordering: Ordering) -> None:
        """Somebody asks in this order, perhaps for the first time: the only walk through all nodes, once for each."""
        if ordering in self._heads:
            return
        found: list[tuple[Entry, int]] = []
        for shelf in self._shelves:
            entries = []
            for spot in shelf.members.values():
                room = self._view(spot.node)
                entry = self._entry(ordering, spot, room) if room is not None else None
                if entry is not None:
                    spot.entries[ordering] = entry
                    entries.append(entry)
            if entries:
                shelf.orders[ordering] = Blocks(entries)
                found.append((min(entries), shelf.number))
        self._heads[ordering] = Blocks(found)


def _raw(shelves: int, count: int | None = None) -> bytes:
    return shelves.to_bytes(((count or shelves.bit_length()) + 7) // 8, "little")
