"""Who loses its slot to whom. A slice that can be interrupted gives way to one that cannot, and to a higher bid.

Whoever takes a slot stands above whoever had it, in one order for all: not interruptible first, then the bid, and, only
between slices of one renter, the priority. So nobody ever takes back what was taken from it, and it comes to an end.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from computepool.hub.jobs.brief import JobBrief
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet import Fleet, FleetNode
from computepool.hub.scheduling.occupancy import Occupied
from computepool.hub.scheduling.room import could_hold, would_fit

CLAIMS_PER_LINE = 8
"""Slots that are being cleared at once for slices that need the same."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Room that is being made: who has to leave, and for whom."""

    brief: JobBrief
    node_id: str
    attempt_ids: frozenset[str]

    @property
    def needs(self) -> Requirements:
        return self.brief.requirements


@dataclass(slots=True)
class Claims:
    _by_attempt: dict[str, Claim] = field(default_factory=dict)

    def add(self, claim: Claim) -> None:
        for attempt_id in claim.attempt_ids:
            self._by_attempt[attempt_id] = claim

    def ended(self, attempt_id: str) -> None:
        self._by_attempt.pop(attempt_id, None)

    def __contains__(self, attempt_id: str) -> bool:
        return attempt_id in self._by_attempt

    def barred_to(self, brief: JobBrief) -> frozenset[str]:
        """Nodes where room is being made for somebody who would only take it again."""
        if not self._by_attempt:
            return frozenset()
        return frozenset(claim.node_id for claim in self._by_attempt.values() if outranks(claim.brief, brief))

    def count(self, needs: Requirements) -> int:
        return len({claim.attempt_ids for claim in self._by_attempt.values() if claim.needs == needs})


def outranks(brief: JobBrief, other: JobBrief) -> bool:
    """Whether a slice of the first may take the slot of a slice of the second."""
    needs, others = brief.requirements, other.requirements
    if not others.preemptible:
        return False
    if not needs.preemptible:
        return True
    if needs.bid_micros != others.bid_micros:
        return needs.bid_micros > others.bid_micros
    return brief.owner_id == other.owner_id and brief.priority > other.priority


def find_claim(
    fleet: Fleet, running: Iterable[Occupied], claims: Claims, brief: JobBrief, barred: Collection[str]
) -> Claim | None:
    """The cheapest room to make: the fewest who leave, of those the lowest bids."""
    by_node: dict[str, list[Occupied]] = {}
    for one in running:
        if one.node_id not in barred and one.attempt_id not in claims and outranks(brief, one.brief):
            by_node.setdefault(one.node_id, []).append(one)
    needs, best = brief.requirements, None
    for node_id, some in by_node.items():
        node = fleet.get(node_id)
        if node is None or not could_hold(fleet, node, needs):
            continue
        leaving = who_leaves(node, needs, some)
        if leaving:
            cost = (len(leaving), sum(_bid(one) for one in leaving), node_id)
            if best is None or cost < best[0]:
                best = (cost, Claim(brief, node_id, frozenset(one.attempt_id for one in leaving)))
    return best[1] if best is not None else None


def who_leaves(node: FleetNode, needs: Requirements, some: Iterable[Occupied]) -> list[Occupied]:
    """Those without whom there is room, none of them needlessly; nobody if it would not be enough.

    The lowest bids first, of those the ones that began last: they have the least to lose.
    """
    able = [one for one in some if (held := node.attempts.get(one.attempt_id)) is not None and held.stopped_at is None]
    able.sort(key=lambda one: one.attempt_id, reverse=True)
    able.sort(key=_bid)
    leaving: list[Occupied] = []
    for one in able:
        leaving.append(one)
        if would_fit(node, needs, {other.attempt_id for other in leaving}):
            break
    else:
        return []
    for one in reversed(leaving[:-1]):
        without = [other for other in leaving if other is not one]
        if would_fit(node, needs, {other.attempt_id for other in without}):
            leaving = without
    return leaving


def _bid(one: Occupied) -> int:
    return one.brief.requirements.bid_micros
