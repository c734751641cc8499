"""Nodes in a cupboard: those that are alike, with about the same room left, stand on one shelf, the best one in front.

A request asks for shelves, not for nodes (`catalogue`), and takes the best of what stands in front of them. What a
bucket cannot tell (half a core, the last gigabyte, the exact price) is looked at node by node. So a choice is exact,
and its cost grows with the variety of a fleet, not with its size; where no shelf will do, nobody is looked at.
"""

import math
from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heappush, heapreplace
from itertools import islice

from computepool.hub.market.feasibility import Traits
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.blocks import Families
from computepool.hub.scheduling.catalogue import (
    AskedTags,
    Catalogue,
    ShelfKey,
    best_of,
    better_of,
    limits_of,
)
from computepool.hub.scheduling.facets import QUESTIONS_KEPT, bits_of, raw_of
from computepool.hub.scheduling.fleet_node import FleetNode
from computepool.hub.scheduling.scoring import cold_score
from computepool.hub.scheduling.spots import GPU_ORDERINGS, ORDERINGS, Entry, Ordering, Shelf, Spot, Standing, There
from computepool.hub.scheduling.views import View, at_best

EMPTY_KEPT = 1024
"""Empty shelves that stay where they are, at least: a node that is given a slice and ends it comes back."""
SHELF_MOST = 4096
"""Nodes on one shelf; then another one is opened beside it. Putting one into a long list takes long."""
WALK_RATIO = 4
"""How long those that will do are looked for among all shelves, in the order of their best nodes, before they are
picked out and sorted: so many times as long as it takes if they are spread evenly."""
SEVERAL = 2
"""So many are looked at where something that some nodes have at hand decides."""

SORT_ALL_FROM = 500
"""Nodes on shelves. Up to here an ordering is made when somebody first asks for it; from here on all of them are kept,
so that nobody's question has to sort a large fleet."""


class Shelves:
    def __init__(self, view: View, asked_tags: AskedTags, owner_id: str | None = None, *, coarse: bool = False) -> None:
        """`asked_tags` is shared: only tags that somebody asked for tell nodes apart. `owner_id` is the one for whom
        these are the own nodes; None for strangers."""
        self._view = view
        self._lasting = view is at_best
        """Room does not change while somebody takes some of it. Nobody asks for the best of these."""
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
        self._resting: dict[str, Spot] = {}
        """Nodes whose cards are all taken, and that are still among those with cards."""
        self._heads: dict[Ordering, Families[Entry]] = {}
        """For each ordering that somebody asked for: the best of each shelf."""
        self._first: dict[Ordering, list[Entry | None]] = {}
        """The same by the shelves' numbers."""
        self._first_score: dict[Ordering, array[float]] = {}
        self._moving: dict[Ordering, tuple[Entry, int | None]] = {}
        """Of the node that is on its way to another shelf, where it stood in front, with its family. It likely does so
        on the next one, in the same place of the order: then nothing in it has to move. Empty between two nodes."""
        self._holding: dict[str, Standing] = {}
        """By things that few have at hand and somebody asked for: where those who have it stand."""

    def __len__(self) -> int:
        """Nodes that are on a shelf."""
        return len(self._standing)

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
        spot = self._spot_of(node, spot)
        shelf = self._move(spot, self._catalogue.key_of(spot.static, room))
        if spot.cores[0] != room.cpu_millis:
            self._set_cores(spot, shelf, room.cpu_millis)
        for ordering in self._heads:
            has_room = bool(room.gpus) if ORDERINGS[ordering][0] else room.cores
            if (spot.entries[ordering] is not None) is not has_room:
                self._sort_in(ordering, spot, shelf, has_room=has_room)
        while self._moving:  # where it does not stand in front any more
            ordering, (entry, family) = self._moving.popitem()
            self._heads[ordering].remove(entry, family)
        self._note_rest(spot, shelf, has_cards=bool(room.gpus))
        if len(self._standing) >= SORT_ALL_FROM and len(self._heads) < len(ORDERINGS) and not self._lasting:
            for ordering in range(len(ORDERINGS)):
                self.sort(ordering)

    def _spot_of(self, node: FleetNode, spot: Spot | None) -> Spot:
        """With all that follows from the node as it is. `spot`: what there is for a node of that name."""
        traits, asked = node.traits, len(self._asked_tags.known)
        if spot is None or spot.node is not node:
            self.remove(traits.node_id)
            static = self._catalogue.static_of(traits)
            spot = self._spots[traits.node_id] = Spot(node, traits, static, limits_of(traits), asked, node.cached)
            return spot
        if spot.traits is not traits:
            self._learn(spot, traits)
        elif spot.asked != asked:
            spot.static, spot.asked = self._catalogue.static_of(traits), asked
        if spot.cached is not node.cached:
            self._forget_who_has(spot.cached | node.cached)
            spot.cached = node.cached
        return spot

    def remove(self, node_id: str) -> None:
        spot = self._spots.pop(node_id, None)
        if spot is not None and spot.shelf is not None:
            self._leave(spot, spot.shelf)

    def _learn(self, spot: Spot, traits: Traits) -> None:
        shelf = spot.shelf
        if shelf is not None:
            self._take_all_out(spot, shelf)
        spot.scores = [None] * len(ORDERINGS)
        spot.traits, spot.static, spot.asked = traits, self._catalogue.static_of(traits), len(self._asked_tags.known)
        spot.limits = limits_of(traits)
        if shelf is None:
            return
        if len(shelf.members) == 1:
            shelf.limits, shelf.is_stale = self._catalogue.change(shelf.limits, spot.limits, shelf.bit), False
        else:
            shelf.is_stale = True
            self._welcome(shelf, spot)

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
        self._forget_who_has(spot.cached)

    def _welcome(self, shelf: Shelf, spot: Spot) -> None:
        """It stands there with others."""
        limits = better_of(shelf.limits, spot.limits) if shelf.limits is not None else spot.limits
        shelf.limits = self._catalogue.change(shelf.limits, limits, shelf.bit)

    def _leave(self, spot: Spot, shelf: Shelf, *, moves: bool = False) -> None:
        del shelf.members[spot.traits.node_id]
        self._standing.discard(spot.traits.node_id)
        spot.shelf = None
        self._forget_who_has(spot.cached)
        self._take_all_out(spot, shelf, moves=moves)
        shelf.is_stale = True
        if not shelf.members:
            self._empty[shelf.number] = shelf
            self._live ^= shelf.bit

    def _forget_who_has(self, things: Iterable[str]) -> None:
        for thing in things:
            self._holding.pop(thing, None)

    def _set_cores(self, spot: Spot, shelf: Shelf, cpu_millis: int) -> None:
        """Before they change, whoever has neighbours that are as good is taken out: it may stand elsewhere then."""
        if len(shelf.members) > 1:
            self._take_all_out(spot, shelf)
        else:
            for ordering in self._heads:
                entry = spot.entries[ordering]
                if entry is not None and entry[0] in self._heads[ordering].all.tied:
                    self._take_out(ordering, spot, shelf, entry)
        spot.cores[0] = cpu_millis

    def _sort_in(self, ordering: Ordering, spot: Spot, shelf: Shelf, *, has_room: bool) -> None:
        gpu, optimize = ORDERINGS[ordering]
        entry = spot.entries[ordering]
        if entry is not None:
            if not has_room and not gpu:
                self._take_out(ordering, spot, shelf, entry)
            return
        if not has_room:
            return
        known = spot.scores[ordering]
        if known is None:
            known = spot.scores[ordering] = cold_score(spot.traits, optimize, gpu=gpu, own=self._own)
        entry = known[0], -known[1], spot.cores, spot.traits.node_id, shelf.number, spot.node
        spot.entries[ordering] = entry
        order = shelf.orders[ordering]
        if not order or entry < order[0]:
            self._put_first(ordering, shelf, order[0] if order else None, entry, self._moving.pop(ordering, None))
            order.insert(0, entry)
        else:
            insort(order, entry)

    def _note_rest(self, spot: Spot, shelf: Shelf, *, has_cards: bool) -> None:
        """Cards that are taken come back: some nodes stay where they are until then. No request for cards finds them,
        for their shelf has none."""
        node_id, resting = spot.traits.node_id, self._resting
        if has_cards:
            resting.pop(node_id, None)
        elif any(spot.entries[ordering] is not None for ordering in GPU_ORDERINGS):
            resting[node_id] = spot
            if len(resting) > max(EMPTY_KEPT, len(self._standing) // 8):
                oldest = resting.pop(next(iter(resting)))
                for ordering in GPU_ORDERINGS:
                    entry = oldest.entries[ordering]
                    if entry is not None and oldest.shelf is not None:
                        self._take_out(ordering, oldest, oldest.shelf, entry)

    def _take_all_out(self, spot: Spot, shelf: Shelf, *, moves: bool = False) -> None:
        self._resting.pop(spot.traits.node_id, None)
        for ordering in self._heads:
            entry = spot.entries[ordering]
            if entry is not None:
                self._take_out(ordering, spot, shelf, entry, moves=moves)

    def _take_out(self, ordering: Ordering, spot: Spot, shelf: Shelf, entry: Entry, *, moves: bool = False) -> None:
        spot.entries[ordering] = None
        order = shelf.orders[ordering]
        if order[0] is not entry:
            del order[bisect_left(order, entry)]
            return
        del order[0]
        following, score = order[0] if order else None, entry[0]
        # Where another has the same score, free cores decide on its place, and they are about to change.
        if moves and score not in self._heads[ordering].all.tied and (following is None or following[0] != score):
            self._moving[ordering] = entry, shelf.family if ORDERINGS[ordering][0] else None
            self._put_first(ordering, shelf, None, following)
        else:
            self._put_first(ordering, shelf, entry, following)

    def _put_first(
        self,
        ordering: Ordering,
        shelf: Shelf,
        before: Entry | None,
        now: Entry | None,
        moved: tuple[Entry, int | None] | None = None,
    ) -> None:
        """`moved`: who `now` was on another shelf, and its family there; it is still in the order."""
        heads, family = self._heads[ordering], shelf.family if ORDERINGS[ordering][0] else None
        if before is not None:
            heads.remove(before, family)
        if now is not None and moved is not None:
            heads.replace(moved[0], moved[1], now, family)
        elif now is not None:
            heads.add(now, family)
        self._first[ordering][shelf.number] = now
        self._first_score[ordering][shelf.number] = now[0] if now is not None else math.inf

    def _move(self, spot: Spot, key: ShelfKey) -> Shelf:
        """To the shelf where it belongs. One that is alone on its shelf, and nobody else is where it belongs, takes the
        shelf with it: in a fleet of many kinds that is what mostly happens, and most of what is known of it stays."""
        shelf = spot.shelf
        if shelf is not None and shelf.key == key:
            return shelf
        other = self._by_key.get(key)
        if shelf is not None and len(shelf.members) == 1 and (other is None or not other.members):
            self._rename(shelf, key)
            return shelf
        if other is None or len(other.members) >= SHELF_MOST:
            other = self._open(key)
        if shelf is not None:
            self._leave(spot, shelf, moves=True)
        self._enter(spot, other)
        return other

    def _rename(self, shelf: Shelf, key: ShelfKey) -> None:
        if self._by_key.get(shelf.key) is shelf:
            del self._by_key[shelf.key]
        self._catalogue.move(shelf.key, key, shelf.bit)
        shelf.key = key
        self._by_key[key] = shelf
        family = self._catalogue.family_of(key)
        if family not in (shelf.family, None):  # without cards they are taken out of their family, a moment later
            self._change_family(shelf, family)

    def _change_family(self, shelf: Shelf, family: int | None) -> None:
        for ordering, families in self._heads.items():
            head = self._first[ordering][shelf.number] if ORDERINGS[ordering][0] else None
            if head is not None:
                families.move(head, shelf.family, family)
        shelf.family = family

    def _open(self, key: ShelfKey) -> Shelf:
        number = len(self._shelves)
        if len(self._empty) > max(EMPTY_KEPT, number // 2):
            number = self._close(next(iter(self._empty.values())))
        shelf = Shelf(number, key, self._catalogue.family_of(key))
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
        if self._by_key.get(shelf.key) is shelf:
            del self._by_key[shelf.key]
        self._catalogue.drop(shelf.key, shelf.limits, shelf.bit)
        return shelf.number

    # ── looking for the best ─────────────────────────────────────────────────────────────────────────────────────────

    def matching(self, needs: Requirements, *, newcomers: bool = False) -> There | None:
        """Shelves on which there may be a node for it; None if there are none."""
        shelves = self._catalogue.matching(needs, self._live, newcomers=newcomers)
        if not shelves:
            return None
        return There(raw_of(shelves, len(self._shelves)), shelves.bit_count(), self._catalogue.families(needs))

    def some_for(self, needs: Requirements, most: int) -> Iterator[FleetNode]:
        """So many nodes that may be able to run it, in no order."""
        there = self.matching(needs)
        numbers = bits_of(there.raw) if there is not None else []
        spots = (spot for number in numbers for spot in self._shelves[number].members.values())
        return (spot.node for spot in islice(spots, most))

    def holding(self, thing: str, holders: AbstractSet[str], ordering: Ordering, there: There) -> Iterator[Entry]:
        """Of those who have it at hand, whom the caller knows, and stand there."""
        known = self._holding.get(thing)
        if known is None:
            if len(self._holding) >= QUESTIONS_KEPT:
                del self._holding[next(iter(self._holding))]
            known = self._holding[thing] = Standing([self._spots[node_id] for node_id in holders & self._standing])
        raw = there.raw
        for place, number in enumerate(known.numbers):
            if raw[number >> 3] >> (number & 7) & 1 and (entry := known.spots[place].entries[ordering]) is not None:
                yield entry

    def in_order(self, ordering: Ordering, there: There, several: bool = False) -> Iterator[Entry]:
        """Who stands there, the best first; `several` if one will not be enough. `sort` has to have been called."""
        waiting: list[tuple[Entry, Iterator[Entry], Shelf]] = []
        """The next of each shelf that was begun. No two entries are equal, so that nothing behind them is compared."""
        heads = self._heads_of(ordering, there, several)
        head = next(heads, None)
        while head is not None or waiting:
            if head is not None and (not waiting or head < waiting[0][0]):
                yield head
                shelf = self._shelves[head[4]]  # not before somebody goes on: most do not, and it may not be at hand
                rest: Iterator[Entry] = islice(shelf.orders[ordering], 1, None)
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

    def _heads_of(self, ordering: Ordering, there: There, several: bool = False) -> Iterator[Entry]:
        """The best of each of these shelves, in order. Going through all shelves in order finds the first of many soon;
        few are picked out and sorted."""
        raw, left = there.raw, there.shelves
        heads, total = self._heads[ordering].of_these(there.families, raw)
        last: Entry | None = None
        evenly = (total // left + 1) * (SEVERAL if several else 1)
        """How many one goes past until the first of them, if they are spread evenly."""
        most = WALK_RATIO * evenly + left if evenly < 2 * left + len(raw) // 64 else -1
        for head, passed in heads:
            if passed > most:
                break
            if head is not None:
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
        """Somebody asks in this order, perhaps for the first time, in a small fleet."""
        if ordering in self._heads:
            return
        self._heads[ordering] = Families()
        self._first[ordering] = [None] * len(self._shelves)
        self._first_score[ordering] = array("d", [math.inf]) * len(self._shelves)
        for spot in self._spots.values():
            room = self._view(spot.node) if spot.shelf is not None else None
            if spot.shelf is not None and room is not None:
                has_room = bool(room.gpus) if ORDERINGS[ordering][0] else room.cores
                self._sort_in(ordering, spot, spot.shelf, has_room=has_room)
