"""The fleet in numbers, and by country, tier and state. Only nodes that changed since the last look are looked at."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from computepool.hub.market.book import Book
from computepool.hub.market.spot import CPU
from computepool.hub.scheduling.fleet import Fleet, FleetNode
from computepool.protocol.states import NodeState


class CellKey(NamedTuple):
    country: str | None
    tier: str
    """`cpu`, or the multiplier of its cards, as prices have it."""
    state: NodeState
    simulated: bool


@dataclass(slots=True)
class CellCount:
    """Nodes that are alike. One that nobody is in any more stays, with zero, so that readers hear of it."""

    nodes: int = 0
    busy: int = 0
    """Of them, how many run something."""
    version: int = 0
    """Of the census, when it last changed."""


class _Counted(NamedTuple):
    """What one node adds."""

    cell: CellKey
    busy: bool
    sums: tuple[tuple[str, int], ...]


class Census:
    """On the event loop only."""

    def __init__(self, fleet: Fleet, book: Book) -> None:
        self._fleet = fleet
        self._book = book
        self._counted: dict[str, _Counted] = {}
        self.cells: dict[CellKey, CellCount] = {}
        self.sums: Counter[str] = Counter()
        self.version = 0
        """Grows when a cell changes."""

    def look(self) -> None:
        """Count what changed since the last time: some microseconds for each node."""
        touched: set[CellKey] = set()
        for node_id in self._fleet.take_changed():
            node = self._fleet.get(node_id)
            before, after = self._counted.get(node_id), self._count(node) if node is not None else None
            if before == after:
                continue
            if before is not None:
                self._add(before, -1)
            if after is not None:
                self._add(after, 1)
                self._counted[node_id] = after
            else:
                del self._counted[node_id]
            if before is None or after is None or before[:2] != after[:2]:
                touched |= {one.cell for one in (before, after) if one is not None}
        if touched:
            self.version += 1
            for key in touched:
                self.cells[key].version = self.version

    def countries(self) -> int:
        """Where real nodes are that can be reached now."""
        return len(
            {key.country for key, cell in self.cells.items() if cell.nodes and is_here(key) and key.country is not None}
        )

    def _add(self, counted: _Counted, sign: int) -> None:
        cell = self.cells.setdefault(counted.cell, CellCount())
        cell.nodes += sign
        cell.busy += sign * counted.busy
        for name, value in counted.sums:
            self.sums[name] += sign * value

    def _count(self, node: FleetNode) -> _Counted:
        traits, place = node.traits, self._book.place_of(node.traits.node_id)
        tier = place.gpu.tier if place is not None and place.gpu is not None else CPU
        country = traits.country if node.capacity.rules.is_open else None  # where private machines are is told nobody
        cell = CellKey(country, tier, state_of(node), traits.simulated)
        sums = [("nodes", 1), ("running", len(node.attempts))]
        if node.takes_work:
            sums += [
                ("online", 1),
                ("cpu_millis", traits.cpu_millis),
                ("cpu_millis_free", node.free.cpu_millis),
                ("memory_bytes", traits.memory_bytes),
                ("gpus", len(traits.gpus)),
                ("gpus_free", len(node.free.gpus)),
            ]
        if traits.simulated:
            sums += [(f"simulated_{name}", value) for name, value in sums]
        return _Counted(cell, bool(node.attempts), tuple(sums))


def state_of(node: FleetNode) -> NodeState:
    """As the public sees it: also what its owner asked for, and what it lost by its record."""
    if node.state is NodeState.ONLINE:
        if node.drain_requested:
            return NodeState.DRAINING
        if node.traits.standing.quarantined_until is not None:
            return NodeState.QUARANTINED
    return node.state


def is_here(key: CellKey) -> bool:
    return key.state is not NodeState.OFFLINE and not key.simulated
