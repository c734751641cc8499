"""How the whole fleet looks to one request: how many nodes each gate removes, and the best of those that are left."""

from bisect import insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from computepool.hub.market.feasibility import Gate
from computepool.hub.market.pricing import hourly_price
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet_node import FleetNode
from computepool.hub.scheduling.scoring import Rank, rank_of

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


@dataclass(slots=True)
class Survey:
    """Of nodes that are added one by one, so that whoever walks through a large fleet can pause in between."""

    needs: Requirements
    wanted: Sequence[str] = ()
    """What a node would have to fetch for it."""
    total: int = 0
    removed: Counter[Gate] = field(default_factory=Counter)
    """By the first gate that is closed to it."""
    _now: "_Best" = field(default_factory=list)
    _later: "_Best" = field(default_factory=list)

    def add(self, node: FleetNode, gate: Gate | None) -> None:
        self.total += 1
        if gate is not None:
            self.removed[gate] += 1
        if gate is None or gate in NOT_NOW:
            self._rank(node, self._now if gate is None else self._later)

    @property
    def candidates(self) -> list[Candidate]:
        """The best few that could run it now, in the order in which they would be chosen."""
        return [self._candidate(*one) for one in self._now]

    @property
    def later(self) -> list[Candidate]:
        """The best few of those that could, but are used, away or kept by their owners now."""
        return [self._candidate(*one) for one in self._later]

    @property
    def free(self) -> int:
        return self.total - self.removed.total()

    @property
    def feasible(self) -> int:
        """Nodes that could run it, were they free and there."""
        return self.free + sum(self.removed[gate] for gate in NOT_NOW)

    def _rank(self, node: FleetNode, best: "_Best") -> None:
        rank = rank_of(node.traits, node.free.cpu_millis, node.cached, self.needs, self.wanted)
        insort(best, (node.traits.owner_id != self.needs.owner_id, rank, node), key=lambda one: one[:2])
        del best[CANDIDATES_SHOWN:]

    def _candidate(self, foreign: bool, rank: Rank, node: FleetNode) -> Candidate:
        return Candidate(node, hourly_price(self.needs, node.traits.ask, own=not foreign), rank[0])


_Best = list[tuple[bool, Rank, FleetNode]]
