"""The best node on the shelves, what it has at hand taken into account.

A warm cache makes a node better by a known factor (`scoring.warmth`), which depends on the slice: no order on a shelf
can know it. Holders of what only few have are looked at one by one. Holders of what many have are met on the way: the
walk in the order of scores ends when nobody who follows could be better even with all of it at hand, which is as soon
as one with all of it was met. It also ends after `WALK_MOST` nodes; then the answer may not be the best one, but it is
no more than 1 / (1 - WARM_DISCOUNT) times as expensive, and no worse than the best one without a cache.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet_node import FleetNode
from computepool.hub.scheduling.scoring import Rank, warmth_of
from computepool.hub.scheduling.shelves import Shelves
from computepool.hub.scheduling.spots import ORDERINGS, Entry, Ordering, There

FEW_HOLDERS = 128
WALK_MOST = 256

Holders = Mapping[str, AbstractSet[str]]
"""By what is at hand, the ids of the nodes that have it."""
Suits = Callable[[FleetNode], bool]


class Judge(NamedTuple):
    """Two answers about a node: the first is quick, and never no where the second is yes, which is the last word."""

    may_suit: Suits
    suits: Suits


def best_on(
    shelves: Shelves,
    needs: Requirements,
    judge: Judge,
    wanted: Sequence[str],
    holders: Holders,
    *,
    newcomers: bool = False,
) -> FleetNode | None:
    """What the shelves say is only where to look. They know nearly all, so that the last word on the one that is found
    is enough, mostly; else all are asked."""
    there = shelves.matching(needs, newcomers=newcomers)
    if there is None:
        return None
    ordering = ORDERINGS.index((needs.gpu is not None, needs.optimize))
    shelves.sort(ordering)
    held = [(one, holders[one]) for one in wanted if one in holders]
    found = _best(shelves, there, ordering, judge.may_suit, wanted, held)
    if found is None or judge.suits(found):
        return found
    return _best(shelves, there, ordering, judge.suits, wanted, held)


def _best(
    shelves: Shelves,
    there: There,
    ordering: Ordering,
    suits: Suits,
    wanted: Sequence[str],
    held: Sequence[tuple[str, AbstractSet[str]]],
) -> FleetNode | None:
    """`held`: what of it somebody has, and who."""
    if not held:
        for entry in shelves.in_order(ordering, there):
            if suits(entry[5]):
                return entry[5]
        return None
    rare = [one for one in held if len(one[1]) <= FEW_HOLDERS]
    # What a node's score is worth, by how much it has at hand.
    factors = [warmth_of(at_hand, len(wanted)) for at_hand in range(len(wanted) + 1)]
    least = factors[len(held) - len(rare)]  # of those who have nothing that is rare
    best = None
    for thing, some in rare:
        for entry in shelves.holding(thing, some, ordering, there):
            best = _better(best, entry, suits, wanted, factors)
    for met, entry in enumerate(shelves.in_order(ordering, there, several=True)):
        if best is not None and (met >= WALK_MOST or entry[0] * least > best[0][0]):
            break
        best = _better(best, entry, suits, wanted, factors)
    return best[1] if best is not None else None


def _better(
    best: tuple[Rank, FleetNode] | None,
    entry: Entry,
    suits: Suits,
    wanted: Sequence[str],
    factors: Sequence[float],
) -> tuple[Rank, FleetNode] | None:
    """The better of the two, of whom the first is known to suit."""
    score, speed, cores, node_id, _, node = entry
    if best is not None and score * factors[-1] > best[0][0]:
        return best
    at_hand, cached = 0, node.cached
    for one in wanted:
        if one in cached:
            at_hand += 1
    rank = score * factors[at_hand], speed, cores[0], node_id
    return (rank, node) if (best is None or rank < best[0]) and suits(node) else best
