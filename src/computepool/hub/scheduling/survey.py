"""How the whole fleet looks to one request: how many nodes each gate removes, and the best of those that are left."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest

from computepool.hub.market.feasibility import Gate
from computepool.hub.market.pricing import hourly_price
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet_node import FleetNode
from computepool.hub.scheduling.scoring import rank_of

CANDIDATES_SHOWN = 8
NOT_NOW = frozenset({Gate.OWNER, Gate.STATE, Gate.BUSY, Gate.ALLOWANCE, Gate.DECLINES})
"""Gates that open by themselves."""


@dataclass(frozen=True, slots=True)
class Candidate:
    node: FleetNode
    hourly_micros: int
    """Of one slice."""
    score: float
    """Expected cost to finish, as `scoring` has it: only the order means something."""


@dataclass(frozen=True, slots=True)
class Survey:
    total: int
    removed: Counter[Gate]
    """By the first gate that is closed to it."""
    candidates: list[Candidate]
    """The best few that could run it now, in the order in which they would be chosen."""
    later: list[Candidate]
    """The best few of those that could, but are used, away or kept by their owners now."""

    @property
    def free(self) -> int:
        return self.total - self.removed.total()

    @property
    def feasible(self) -> int:
        """Nodes that could run it, were they free and there."""
        return self.free + sum(self.removed[gate] for gate in NOT_NOW)


def survey_of(gated: Sequence[tuple[FleetNode, Gate | None]], needs: Requirements, wanted: Sequence[str]) -> Survey:
    return Survey(
        total=len(gated),
        removed=Counter(gate for _, gate in gated if gate is not None),
        candidates=_best([node for node, gate in gated if gate is None], needs, wanted),
        later=_best([node for node, gate in gated if gate in NOT_NOW], needs, wanted),
    )


def _best(nodes: Sequence[FleetNode], needs: Requirements, wanted: Sequence[str]) -> list[Candidate]:
    ranked = [
        (node.traits.owner_id != needs.owner_id, rank_of(node.traits, node.free.cpu_millis, node.cached, needs, wanted))
        for node in nodes
    ]
    best = nsmallest(CANDIDATES_SHOWN, zip(ranked, nodes, strict=True), key=lambda one: one[0])
    return [
        Candidate(node, hourly_price(needs, node.traits.ask, own=not foreign), rank[0])
        for (foreign, rank), node in best
    ]
