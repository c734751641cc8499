"""The nodes as the scheduler sees them, and the choice of one for a slice.

A projection: it changes only after the commit that justifies it, and is rebuilt from the truth on start. Room is taken
a moment earlier, by a reservation that is given back if the commit fails.

Nodes tell of their changes by themselves (`FleetNode.__setattr__`); those that did are put on the right shelves before
the next choice.
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from computepool.hub.market.feasibility import Gate, Traits, closed_gate
from computepool.hub.market.pricing import hourly_price
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.catalogue import AskedTags
from computepool.hub.scheduling.fleet_node import (
    ATTEMPTS_LIMIT,
    AVAILABLE,
    REACHABLE,
    FleetNode,
    Held,
    Line,
    free_of,
    give_room_back,
    grant_on,
    has_room,
    has_slot,
    held_of,
    left_to,
    take_room,
    traits_of,
)
from computepool.hub.scheduling.scoring import rank_of
from computepool.hub.scheduling.search import Judge, best_on
from computepool.hub.scheduling.shelves import Shelves
from computepool.hub.scheduling.survey import Survey
from computepool.hub.scheduling.views import at_best, now_for_owner, now_for_strangers

__all__ = [
    "ATTEMPTS_LIMIT",
    "AVAILABLE",
    "REACHABLE",
    "Fleet",
    "FleetNode",
    "Held",
    "Line",
    "free_of",
    "give_room_back",
    "grant_on",
    "has_room",
    "held_of",
    "take_room",
    "traits_of",
]

FEW_OWN = 32
"""An owner of so many nodes, or fewer, needs no shelves for them: they are looked at one by one."""
LOOK_MOST = 5_000
"""Nodes that are asked whether they could run what somebody else failed at."""
WALK_AT_ONCE = 500
SHELVED_AT_ONCE = 100
"""Nodes that are put on their shelves without a breath: some ten milliseconds."""
FREEZE_EVERY = 2_000
"""Whenever there are so many nodes more than ever before, the collector is told to leave alone what there is: a large
fleet stays, and going through it would take a second."""
NOBODY: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Known:
    """What the indexes say of a node."""

    owner_id: str
    cached: frozenset[str]
    tags: frozenset[str]
    owned: "_Owned"
    traits: Traits | None = None
    """What it was when it was last looked at as a whole, and whether it took work; None before."""
    took_work: bool = False


class _Owned:
    """The nodes of one owner, as they are for that owner."""

    def __init__(self, owner_id: str, asked_tags: AskedTags) -> None:
        self.nodes: dict[str, FleetNode] = {}
        self._owner_id = owner_id
        self._asked_tags = asked_tags
        self._now: Shelves | None = None
        self._ever: Shelves | None = None

    def place(self, node: FleetNode) -> None:
        self.nodes[node.traits.node_id] = node
        if self._now is not None and self._ever is not None:
            self._now.place(node)
            self._ever.place(node)
        else:
            self.shelves()  # as soon as they are too many, so that no question has to wait for shelves

    def place_again(self, node: FleetNode) -> None:
        """It has more room, or less, and nothing else is new."""
        if self._now is not None:
            self._now.place(node)

    def remove(self, node_id: str) -> None:
        del self.nodes[node_id]
        if self._now is not None and self._ever is not None:
            self._now.remove(node_id)
            self._ever.remove(node_id)

    def shelves(self) -> tuple[Shelves, Shelves] | None:
        """What there is now, and what there could be; None for a few nodes."""
        if self._now is None or self._ever is None:
            if len(self.nodes) <= FEW_OWN:
                return None
            self._now = Shelves(now_for_owner, self._asked_tags, self._owner_id)
            self._ever = Shelves(at_best, self._asked_tags, self._owner_id, coarse=True)
            for node in self.nodes.values():
                self.place(node)
        return self._now, self._ever


class Fleet:
    def __init__(self) -> None:
        self._nodes: dict[str, FleetNode] = {}
        self._changed: dict[str, FleetNode] = {}
        self._untold: set[str] = set()
        """Nodes that changed, came or went since `take_changed`, besides those in `_changed`."""
        self._known: dict[str, _Known] = {}
        self._asked_tags = AskedTags()
        self._newly_asked: dict[str, FleetNode] = {}
        """Nodes whose shelves do not yet tell of a tag that somebody asked for."""
        self._frozen = 0
        self._now = Shelves(now_for_strangers, self._asked_tags)
        self._ever = Shelves(at_best, self._asked_tags, coarse=True)
        self._owned: dict[str, _Owned] = {}
        self._holders: dict[str, set[str]] = {}
        """By what nodes have at hand, and by their tags: who has it."""
        self._tagged: dict[str, set[str]] = {}
        self._cards: set[str] = set()

    def __iter__(self) -> Iterator[FleetNode]:
        return iter(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, node_id: str) -> FleetNode | None:
        return self._nodes.get(node_id)

    def put(self, node: FleetNode) -> None:
        node_id = node.traits.node_id
        if self._nodes.get(node_id) is not node:
            self.remove(node_id)
            self._nodes[node_id] = node
            node.changed = self._changed
        node.mark()

    def remove(self, node_id: str) -> FleetNode | None:
        node = self._nodes.pop(node_id, None)
        if node is None:
            return None
        node.changed = None
        self._changed.pop(node_id, None)
        self._untold.add(node_id)
        self._now.remove(node_id)
        self._ever.remove(node_id)
        self._forget(node_id)
        return node

    def take_changed(self) -> set[str]:
        """The ids of nodes that may be other than they were at the last call, those that went included."""
        taken, self._untold = self._untold.union(self._changed), set()
        return taken

    def choose(
        self,
        needs: Requirements,
        avoid: Iterable[str] = (),
        *,
        avoided_too: bool = False,
        wanted: Collection[str] = (),
        explore: bool = False,
        not_owners: AbstractSet[str] = NOBODY,
        barred: frozenset[str] = NOBODY,
    ) -> FleetNode | None:
        """The best node with room for it now, as `scoring` has it. Own nodes come first, for they are free.

        A node in `avoid` is taken only when the caller says so and no other could ever run it. `explore` prefers nodes
        that have no record yet, where one of them will do. Nodes of `not_owners`, and those
        that are `barred`, are never taken.
        """
        self.catch_up()
        for tag in needs.tags - self._asked_tags.known:
            self._tell_apart_by(tag)
        avoided = frozenset(avoid)
        things = tuple(wanted)
        best = self._best_with_room(needs, avoided | barred, things, explore, not_owners)
        if best is not None or not avoided or not avoided_too or self._anybody_else_could(needs, avoided, not_owners):
            return best
        return self._best_with_room(needs, barred, things, explore, not_owners)

    def catch_up(self) -> None:
        """Put what changed on its shelves now. Whoever changes many nodes does it in pieces: nobody waits for all."""
        while self._changed:
            self._look_at_changes()

    async def settle(self) -> None:
        """The same in pieces, with pauses in which others have the event loop."""
        while self._changed or self._asked_tags.pending:
            for _ in range(min(SHELVED_AT_ONCE, len(self._newly_asked))):
                self._newly_asked.popitem()[1].mark()
            self._look_at_changes()
            if not self._changed and not self._newly_asked:
                self._asked_tags.pending.clear()
            self._freeze_if_it_grew()
            await asyncio.sleep(0)

    def _freeze_if_it_grew(self) -> None:
        size = len(self._nodes) + len(self._now)
        if size > self._frozen + FREEZE_EVERY:
            self._frozen = size
            gc.freeze()

    @property
    def cards(self) -> frozenset[str]:
        """The short names of all GPUs that its nodes have, or had since the hub started."""
        self._look_at_changes()
        return frozenset(self._cards)

    @property
    def standing(self) -> int:
        """How many nodes are there for strangers now."""
        return len(self._now)

    async def walk(self) -> AsyncIterator[FleetNode]:
        """Through all of it, for people who ask, with pauses in which heartbeats and others have the event loop."""
        for number, node in enumerate(list(self), start=1):
            yield node
            if number % WALK_AT_ONCE == 0:
                await asyncio.sleep(0)

    async def survey(self, needs: Requirements, wanted: Collection[str] = ()) -> Survey:
        """How every node looks to it."""
        survey = Survey(needs, tuple(wanted))
        async for node in self.walk():
            survey.add(node, self.gate(needs, node))
        return survey

    def gate(self, needs: Requirements, node: FleetNode) -> Gate | None:
        """Why this node is not running it now, or None if it could."""
        gate = closed_gate(needs, node.traits)
        if gate is not None:
            return gate
        if not node.takes_work:
            return Gate.STATE
        if not left_to(needs, node):
            return Gate.OWNER
        if has_room(node, needs):
            return None
        if node.traits.standing.declined_until is not None and node.traits.owner_id != needs.owner_id:
            return Gate.DECLINES
        return Gate.BUSY if has_slot(node) or node.traits.owner_id == needs.owner_id else Gate.ALLOWANCE

    # ── choosing ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _best_with_room(
        self,
        needs: Requirements,
        avoided: frozenset[str],
        wanted: Sequence[str],
        explore: bool,
        not_owners: AbstractSet[str],
    ) -> FleetNode | None:
        judge = self._judge(needs, avoided, not_owners)
        if needs.node_id is not None:
            node = self._nodes.get(needs.node_id)
            return node if node is not None and judge.suits(node) else None
        own = self._best_own(needs, judge, wanted)
        if own is not None or needs.mine_only:
            return own
        if explore:
            newcomer = best_on(self._now, needs, judge, wanted, self._holders, newcomers=True)
            if newcomer is not None:
                return newcomer
        return best_on(self._now, needs, judge, wanted, self._holders)

    def _best_own(self, needs: Requirements, judge: Judge, wanted: Sequence[str]) -> FleetNode | None:
        owned = self._owned.get(needs.owner_id)
        if owned is None:
            return None
        shelves = owned.shelves()
        if shelves is not None:
            return best_on(shelves[0], needs, judge, wanted, self._holders)
        return min(
            (node for node in owned.nodes.values() if judge.suits(node)),
            key=lambda node: rank_of(node.traits, node.free.cpu_millis, node.cached, needs, wanted),
            default=None,
        )

    def _judge(self, needs: Requirements, avoided: frozenset[str], not_owners: AbstractSet[str]) -> Judge:
        cpu_millis, memory_bytes, disk_bytes = needs.cpu_millis, needs.memory_bytes, needs.disk_bytes
        owner_id, least, most, tags = needs.owner_id, needs.min_reliability, needs.max_price_micros, needs.tags

        def may_suit(node: FleetNode) -> bool:
            """What shelves do not know: those there have about the same room and price, not just the same."""
            free, traits = node.free, node.traits
            if free.cpu_millis < cpu_millis or free.memory_bytes < memory_bytes or free.disk_bytes < disk_bytes:
                return False
            if traits.node_id in avoided or traits.owner_id in not_owners or not tags <= traits.tags:
                return False
            if traits.owner_id != owner_id:
                if least is not None and traits.standing.lower < least:
                    return False
                if most is not None and hourly_price(needs, traits.ask, own=False) > most:
                    return False
            return True

        def suits(node: FleetNode) -> bool:
            return (
                may_suit(node) and node.takes_work and has_room(node, needs) and closed_gate(needs, node.traits) is None
            )

        return Judge(may_suit, suits)

    def _anybody_else_could(self, needs: Requirements, avoided: frozenset[str], not_owners: AbstractSet[str]) -> bool:
        """Were it free, and left by its owner. One that declines is not waited for. In a large fleet some thousands are
        looked at, and then it is no: the slice goes back to where it failed, which is better than to wait for what may
        not be."""

        def could(node: FleetNode) -> bool:
            traits = node.traits
            return (
                traits.node_id not in avoided
                and traits.owner_id not in not_owners
                and node.takes_work
                and (traits.standing.declined_until is None or traits.owner_id == needs.owner_id)
                and closed_gate(needs, traits) is None
            )

        return any(map(could, self.who_might(needs, LOOK_MOST)))

    def who_might(self, needs: Requirements, most: int) -> Iterator[FleetNode]:
        """Nodes that may be able to run it one day, in no order: so many of the renter's own, and so many of others."""
        self.catch_up()
        if needs.node_id is not None:
            node = self._nodes.get(needs.node_id)
            yield from [node] if node is not None else []
            return
        owned = self._owned.get(needs.owner_id)
        if owned is not None:
            shelves = owned.shelves()
            yield from owned.nodes.values() if shelves is None else shelves[1].some_for(needs, most)
        if not needs.mine_only:
            yield from self._ever.some_for(needs, most)

    # ── keeping the shelves ──────────────────────────────────────────────────────────────────────────────────────────

    def _look_at_changes(self, most: int = SHELVED_AT_ONCE) -> None:
        changed = self._changed
        for _ in range(min(most, len(changed))):
            node_id, node = changed.popitem()
            self._untold.add(node_id)
            known = self._known.get(node_id)
            traits = node.traits
            if (
                known is None
                or known.cached is not node.cached
                or known.tags is not traits.tags
                or known.owner_id != traits.owner_id
            ):
                self._forget(node_id)
                known = self._learn(node)
            self._now.place(node)
            takes_work = node.takes_work
            if known.traits is traits and known.took_work is takes_work:
                known.owned.place_again(node)
            else:
                known.traits, known.took_work = traits, takes_work
                self._cards.update(gpu.slug for gpu in traits.gpus)
                self._ever.place(node)
                known.owned.place(node)

    def _learn(self, node: FleetNode) -> _Known:
        node_id, traits = node.traits.node_id, node.traits
        for thing in node.cached:
            self._holders.setdefault(thing, set()).add(node_id)
        for tag in traits.tags:
            self._tagged.setdefault(tag, set()).add(node_id)
        owned = self._owned.get(traits.owner_id)
        if owned is None:
            owned = self._owned[traits.owner_id] = _Owned(traits.owner_id, self._asked_tags)
        known = self._known[node_id] = _Known(traits.owner_id, node.cached, traits.tags, owned)
        return known

    def _forget(self, node_id: str) -> None:
        known = self._known.pop(node_id, None)
        if known is None:
            return
        for thing in known.cached:
            _discard(self._holders, thing, node_id)
        for tag in known.tags:
            _discard(self._tagged, tag, node_id)
        owned = self._owned[known.owner_id]
        owned.remove(node_id)
        if not owned.nodes:
            del self._owned[known.owner_id]

    def _tell_apart_by(self, tag: str) -> None:
        """Somebody asks for it for the first time. A tag that nobody has needs no shelves of its own; one that many
        have gets them bit by bit."""
        holders = self._tagged.get(tag)
        if holders is None:
            return
        self._asked_tags.known.add(tag)
        if len(holders) > SHELVED_AT_ONCE:
            self._asked_tags.pending.add(tag)
            self._newly_asked.update((node_id, self._nodes[node_id]) for node_id in holders)
            return
        for node_id in holders:
            self._nodes[node_id].mark()
        self.catch_up()


def _discard(index: dict[str, set[str]], thing: str, node_id: str) -> None:
    holders = index[thing]
    holders.discard(node_id)
    if not holders:
        del index[thing]
