"""The best node on the shelves, what it has at hand taken into account.

A warm cache makes a node better by a known factor (`scoring.warmth`), which depends on the slice: no order on a shelf
can know it. Holders of what only few have are looked at one by one. Holders of what many have are met on the way: the
walk in the order of scores ends when nobody who follows could be better even with all of it at hand, which is as soon
as one with all of it was met. It also ends after `WALK_MOST` nodes; then the answer may not be the best one, but it is
no more than 1 / (1 - WARM_DISCOUNT) times as expensive, and no worse than the best one without a cache.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet_node import FleetNode
from computepool.hub.scheduling.scoring import Rank, warmth, warmth_of
from computepool.hub.scheduling.shelves import ORDERINGS, Entry, Shelves

FEW_HOLDERS = 128
WALK_MOST = 256

Holders = Mapping[str, AbstractSet[str]]
"""By what is at hand, the ids of the nodes that have it."""
Suits = Callable[[FleetNode], bool]


def best_on(
    shelves: Shelves,
    needs: Requirements,
    suits: Suits,
    wanted: Sequence[str],
    holders: Holders,
    *,
    newcomers: bool = False,
) -> FleetNode | None:
    """`suits` is the last word on a node: what the shelves say is only where to look."""
    there = shelves.matching(needs, newcomers=newcomers)
    if not there:
        return None
    ordering = ORDERINGS.index((needs.gpu is not None, needs.optimize))
    shelves.sort(ordering)
    known = [one for one in wanted if one in holders]
    if not known:
        return next((entry[5] for entry in shelves.in_order(ordering, there) if suits(entry[5])), None)
    rare: set[str] = set().union(*(holders[one] for one in known if len(holders[one]) <= FEW_HOLDERS))
    best = _best_of(shelves.entries_of(rare, ordering, there), suits, wanted)
    common = sum(len(holders[one]) > FEW_HOLDERS for one in known)
    least = warmth_of(common, len(wanted))  # of those who have nothing that is rare
    for met, entry in enumerate(shelves.in_order(ordering, there)):
        if best is not None and (met >= WALK_MOST or entry[0] * least > best[0][0]):
            break
        rank = _rank(entry, wanted)
        if (best is None or rank < best[0]) and suits(entry[5]):
            best = rank, entry[5]
    return best[1] if best is not None else None


def _best_of(entries: Iterable[Entry], suits: Suits, wanted: Sequence[str]) -> tuple[Rank, FleetNode] | None:
    ranked = sorted(((_rank(entry, wanted), entry[5]) for entry in entries), key=lambda one: one[0])
    return next((one for one in ranked if suits(one[1])), None)


def _rank(entry: Entry, wanted: Sequence[str]) -> Rank:
    score, speed, cores, node_id, _, node = entry
    return score * warmth(node.cached, wanted), speed, cores, node_id
