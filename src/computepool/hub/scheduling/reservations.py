"""Room that is kept for large slices, which would otherwise wait behind small ones for ever.

A large slice that has waited for some time and fits nowhere reserves the node that will have room for it soonest, by
how long what runs there may still run. Others use that node only if they will surely be over by then; its owner always
does. A renter has one reservation, the pool a few, and each ends with its reason: the slice was placed or canceled, the
node went away, or the room did not come when it should have.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from math import inf

from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet import Fleet, FleetNode, Held
from computepool.hub.scheduling.room import could_hold, would_fit
from computepool.protocol.states import AttemptState

RESERVE_AFTER_SECONDS = 60.0
"""For which a large slice waits before room is kept for it."""
MOST_RESERVATIONS = 8
SCAN_EVERY_SECONDS = 5.0
"""A look for a node takes some milliseconds in a large fleet."""
GLANCE_MOST, LOOK_MOST = 10_000, 500
"""Nodes whose size is looked at, and those of them that are asked when they will have room: of more than that, some are
as good as all."""
MOST_ASKING = 64
"""Kinds of slices whose turns to look are remembered."""
MARGIN_SECONDS = 60.0
"""From the end of what may run to the moment at which its room is free: its node has to tell."""
LARGE_SHARE = 0.5
"""Of a node's cores or memory: more than that is large there. Two GPUs are always."""
SMALL_CPU_MILLIS = 1000
SMALL_MEMORY_BYTES = 4 * 1024**3
"""So much is large nowhere: hardly anything is smaller, and could pass it."""

IsWaiting = Callable[[Requirements], bool]


@dataclass(frozen=True, slots=True)
class Reservation:
    needs: Requirements
    """Of all slices that need the same: whichever of them comes first."""
    node_id: str
    free_at: float
    """When there will be room at the latest, on the hub's elapsed clock."""


class LookingTurns:
    """Who may look for a node: one in a while, by turns. Else one for whom there never is any would look each time, and
    everybody behind it never."""

    def __init__(self) -> None:
        self._at: float | None = None
        self._last: dict[Requirements, float] = {}
        self._asked: set[Requirements] = set()
        """Since somebody last looked; of many, those who have waited longest."""
        self._given: tuple[Requirements, float] | None = None
        """Whose turn it is, and since when. Everybody who waits asks in each round: who does not has no need."""

        self._served: Requirements | None = None

    def served(self, needs: Requirements) -> None:
        """It had what was kept for it: before more is kept for the same, others look."""
        self._served = needs

    def may_look(self, needs: Requirements, now: float) -> bool:
        if self._served is not None:
            self._at = self._last[self._served] = now
            self._served = None
        if self._at is not None and now - self._at < SCAN_EVERY_SECONDS:
            self._ask(needs)
            return False
        if self._given is not None and self._given[1] < now:
            self._asked.discard(self._given[0])
            self._given = None
        first = min(self._asked, key=self._last_of, default=needs)
        if self._last_of(first) < self._last_of(needs):
            self._given = self._given or (first, now)
            self._ask(needs)
            return False
        self._asked.clear()
        self._given = None
        self._at = self._last[needs] = now
        return True

    def tidy(self, is_waiting: IsWaiting) -> None:
        if len(self._last) > MOST_ASKING:
            self._last = {needs: at for needs, at in self._last.items() if is_waiting(needs)}

    def _ask(self, needs: Requirements) -> None:
        self._asked.add(needs)
        if len(self._asked) > MOST_ASKING:
            self._asked.remove(max(self._asked, key=self._last_of))

    def _last_of(self, needs: Requirements) -> float:
        return self._last.get(needs, -inf)


class Reservations:
    def __init__(self) -> None:
        self._by_owner: dict[str, Reservation] = {}
        self._turns = LookingTurns()

    def __len__(self) -> int:
        return len(self._by_owner)

    def __iter__(self) -> Iterator[Reservation]:
        return iter(self._by_owner.values())

    def of(self, owner_id: str) -> Reservation | None:
        return self._by_owner.get(owner_id)

    def next_end(self) -> float | None:
        """When the first of them is over at the latest."""
        return min((one.free_at for one in self._by_owner.values()), default=None)

    def tidy(self, fleet: Fleet, is_waiting: IsWaiting, now: float) -> None:
        """Drop those that have no reason any more."""
        self._turns.tidy(is_waiting)
        for owner_id, one in list(self._by_owner.items()):
            node = fleet.get(one.node_id)
            if node is None or not is_waiting(one.needs) or now > one.free_at or not could_hold(fleet, node, one.needs):
                del self._by_owner[owner_id]

    def placed(self, needs: Requirements) -> bool:
        """One of those that it was for has room, there or elsewhere: what was kept, if anything, is let go."""
        one = self._by_owner.get(needs.owner_id)
        if one is None or one.needs != needs:
            return False
        del self._by_owner[needs.owner_id]
        self._turns.served(needs)
        return True

    def barred_to(self, needs: Requirements, fleet: Fleet, now: float) -> frozenset[str]:
        """Nodes that are kept for others, and that a slice with these needs might still occupy when they come."""
        if not self._by_owner:
            return frozenset()
        return frozenset(
            one.node_id
            for one in self._by_owner.values()
            if one.needs != needs
            and now + needs.seconds + MARGIN_SECONDS > one.free_at
            and not _is_own(fleet, one.node_id, needs.owner_id)
        )

    def keep(self, needs: Requirements, node_id: str, free_at: float) -> None:
        """A node that is being cleared for it anyway."""
        taken = any(one.node_id == node_id for one in self._by_owner.values())
        if not taken and needs.owner_id not in self._by_owner and len(self._by_owner) < MOST_RESERVATIONS:
            self._by_owner[needs.owner_id] = Reservation(needs, node_id, free_at)

    def reserve(
        self, fleet: Fleet, needs: Requirements, avoid: Collection[str], waited_seconds: float, now: float
    ) -> Reservation | None:
        """For a slice that fits nowhere now. None if it need not, or may not, or no node could ever hold it."""
        if needs.preemptible or waited_seconds < RESERVE_AFTER_SECONDS or needs.owner_id in self._by_owner:
            return None  # what gives way to others does not stand in theirs
        if len(self._by_owner) >= MOST_RESERVATIONS:
            return None
        if not self._turns.may_look(needs, now):
            return None
        taken = {*avoid, *(one.node_id for one in self._by_owner.values())}
        found = soonest(fleet, needs, taken, now)
        if found is not None:
            self._by_owner[needs.owner_id] = found
        return found


def soonest(fleet: Fleet, needs: Requirements, taken: Collection[str], now: float) -> Reservation | None:
    """The node that will have room first, of those on which the slice is large; in a large fleet, of some of them."""
    large = (
        node
        for node in fleet.who_might(needs, GLANCE_MOST)
        if node.traits.cpu_millis >= needs.cpu_millis
        and len(node.traits.gpus) >= needs.gpu_count
        and node.traits.node_id not in taken
        and is_large(node, needs)
    )
    found = [
        Reservation(needs, node.traits.node_id, free_at)
        for node in islice(large, LOOK_MOST)
        if could_hold(fleet, node, needs) and (free_at := free_at_of(node, needs, now)) is not None
    ]
    return min(found, key=lambda one: (one.free_at, one.node_id), default=None)


def is_large(node: FleetNode, needs: Requirements) -> bool:
    return (
        needs.gpu_count > 1
        or needs.cpu_millis > max(LARGE_SHARE * node.traits.cpu_millis, SMALL_CPU_MILLIS)
        or needs.memory_bytes > max(LARGE_SHARE * node.traits.memory_bytes, SMALL_MEMORY_BYTES)
    )


def free_at_of(node: FleetNode, needs: Requirements, now: float) -> float | None:
    """When there will be room at the latest, if nothing more is begun there; None if its owner keeps what it needs."""
    gone: set[str] = set()
    if would_fit(node, needs, gone):
        return now + MARGIN_SECONDS
    for held in sorted(node.attempts.values(), key=lambda one: over_at(one, now)):
        gone.add(held.attempt_id)
        if would_fit(node, needs, gone):
            return over_at(held, now)
    return None


def over_at(held: Held, now: float) -> float:
    """When an attempt is over at the latest, as far as its own limit says."""
    ran = held.spent.get(AttemptState.RUNNING, 0.0)
    if held.state is AttemptState.RUNNING:
        ran += now - held.since
    return now + max(0.0, held.order.max_runtime_seconds - ran) + MARGIN_SECONDS


def _is_own(fleet: Fleet, node_id: str, owner_id: str) -> bool:
    node = fleet.get(node_id)
    return node is not None and node.traits.owner_id == owner_id
