"""What stands on shelves: a node's spot, its entries, and the shelf itself."""

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

from computepool.hub.market.feasibility import Traits
from computepool.hub.scheduling.catalogue import Limits, ShelfKey
from computepool.hub.scheduling.fleet_node import FleetNode
from computepool.protocol.spec import Optimize

Entry = tuple[float, float, list[int], str, int, FleetNode]
"""Score, speed (negative), free cores, id, as in `scoring.Rank`; the number of the shelf, and the node.

Free cores are in a list of one, which all entries of a node share: where no other node has the same score, nothing else
has to change when some are taken."""
Ordering = int
"""For GPUs or for cores, and what is to be saved: a place in `ORDERINGS`, as enums are slow keys."""
ORDERINGS = [(gpu, optimize) for gpu in (False, True) for optimize in Optimize]
GPU_ORDERINGS = [place for place, (gpu, _) in enumerate(ORDERINGS) if gpu]


@dataclass(slots=True, eq=False)
class Shelf:
    number: int
    key: ShelfKey
    family: int | None = None
    """Of those who stand here, or of those who last stood here with a card that was free."""
    members: "dict[str, Spot]" = field(default_factory=dict)
    orders: list[list[Entry]] = field(default_factory=lambda: [[] for _ in ORDERINGS])
    """By ordering, who stands here, the best first."""
    limits: Limits | None = None
    """None before anybody came."""
    is_stale: bool = False
    """Somebody left, or changed: the limits may be too good."""

    @property
    def bit(self) -> int:
        """Made anew each time, which is quicker than to fetch a kilobyte from far away in memory."""
        return 1 << self.number


@dataclass(slots=True, eq=False)
class Spot:
    """Where a node stands, and what follows from its traits."""

    node: FleetNode
    traits: Traits
    static: int
    limits: Limits
    asked: int
    """How many tags had been asked for when it was sorted in."""
    cached: frozenset[str]
    """What its node had at hand then."""
    shelf: Shelf | None = None
    cores: list[int] = field(default_factory=lambda: [0])
    entries: list[Entry | None] = field(default_factory=lambda: [None] * len(ORDERINGS))
    scores: list[tuple[float, float] | None] = field(default_factory=lambda: [None] * len(ORDERINGS))
    """Both by ordering."""


class Standing:
    """Nodes that have the same at hand, and the numbers of their shelves side by side: most of them are not where
    somebody looks, and need not be touched."""

    __slots__ = ("numbers", "spots")

    def __init__(self, spots: list[Spot]) -> None:
        self.spots = spots
        self.numbers = array("q", [spot.shelf.number for spot in spots if spot.shelf is not None])


class There(NamedTuple):
    """Shelves on which there may be a node for a request."""

    raw: bytes
    """One bit for each shelf."""
    shelves: int
    """How many they are."""
    families: frozenset[int | None] | None
