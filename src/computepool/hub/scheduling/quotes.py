"""What a job would cost now, at most, and where: asked before it is submitted, and when it is.

A spec that names no `max_price` gets a ceiling when it is submitted: a quarter more than the node of another owner that
it would go to right now asks for, and never more than the pool itself could come to suggest. So a price that somebody
made up is paid only by those who said that they would. Where no such node is free, it is the latter alone. Ceilings are
rounded up to two digits: jobs alike, submitted in the same hour, then still wait in the same line.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel

from computepool.hub.jobs.brief import JobBrief
from computepool.hub.market.book import Book
from computepool.hub.market.feasibility import Gate, closed_gate
from computepool.hub.market.pricing import hourly_price
from computepool.hub.market.rates import divide_up, round_up, slice_cost
from computepool.hub.market.requirements import MILLI, Requirements, requirements_of
from computepool.hub.scheduling.fleet import Fleet, FleetNode, has_room
from computepool.protocol.spec import JobSpec

MARGIN_PERCENT = 125
"""Of what was quoted: prices may move a little before a slice gets its turn."""
SHOWN_NODES = 5

CeilingBasis = Literal["spec", "quote", "list", "own"]


@dataclass(frozen=True, slots=True)
class Ceiling:
    micros: int | None
    basis: CeilingBasis
    """spec: `max_price`. quote: a quarter over a node's price now. list: the most that the pool would suggest.
    own: only the renter's own nodes are asked, which cost nothing."""


class NodePrice(BaseModel):
    """A node that would do, without a word about whose it is."""

    node_id: str
    own: bool
    """One of the caller's: free."""
    price_micros: int
    """Of one slice-hour."""
    gpus: list[str]
    cpus: float
    country: str | None
    reliability: float
    free_now: bool


class GateCount(BaseModel):
    gate: Gate
    removed: int


class Quote(BaseModel):
    price_micros: int | None
    """Of one slice-hour now, on the node that it would go to; None if no node would do."""
    own: bool
    """It would go to a node of the caller's own, and cost nothing."""
    elsewhere_micros: int | None
    """On the best node of somebody else; None if none would do, or the caller wants their own alone."""
    ceiling_micros: int | None
    """No slice-hour costs more."""
    ceiling_basis: CeilingBasis
    slices: int
    max_runtime_seconds: int
    now_micros: int | None
    """If every slice ran for the whole of its time at the price of now."""
    at_most_micros: int | None
    """If every slice ran for the whole of its time at the ceiling."""
    nodes_total: int
    feasible: int
    """Nodes that could run a slice at some time."""
    free_now: int
    gates: list[GateCount]
    """How many nodes each gate removed, in their order."""
    nodes: list[NodePrice]
    """The best few."""


def ceiling_for(fleet: Fleet, book: Book, needs: Requirements) -> Ceiling:
    if needs.max_price_micros is not None:
        return Ceiling(needs.max_price_micros, "spec")
    if needs.mine_only:
        return Ceiling(None, "own")
    most = round_up(divide_up(book.list_ceiling(needs) * MARGIN_PERCENT, 100))
    price = _price_elsewhere(fleet, needs)
    if price is None:
        return Ceiling(most, "list")
    quoted = round_up(divide_up(price * MARGIN_PERCENT, 100))
    return Ceiling(quoted, "quote") if quoted <= most else Ceiling(most, "list")


def _price_elsewhere(fleet: Fleet, needs: Requirements) -> int | None:
    """What the best node of another owner that has room asks for a slice-hour."""
    prices = (
        hourly_price(needs, node.traits.ask, own=False)
        for node in fleet
        if node.takes_work
        and node.traits.owner_id != needs.owner_id
        and has_room(node, needs)
        and closed_gate(needs, node.traits) is None
    )
    return min(prices, default=None)


def with_its_ceiling(fleet: Fleet, book: Book, brief: JobBrief) -> tuple[JobBrief, int | None]:
    """A new job's brief, as it waits and is placed."""
    micros = ceiling_for(fleet, book, brief.requirements).micros
    return replace(brief, requirements=replace(brief.requirements, max_price_micros=micros)), micros


def quote(fleet: Fleet, book: Book, spec: JobSpec, owner_id: str) -> Quote:
    needs = requirements_of(spec, owner_id)
    ceiling = ceiling_for(fleet, book, needs)
    bounded = replace(needs, max_price_micros=ceiling.micros)
    removed, left = survey(fleet, bounded)
    feasible = len(fleet) - sum(count for gate, count in removed.items() if gate not in NOT_NOW)
    best = left[0] if left else None
    elsewhere = next((price for node, price, _ in left if node.traits.owner_id != owner_id), None)
    seconds = int(spec.max_runtime_seconds)
    price = best[1] if best is not None else None
    return Quote(
        price_micros=price,
        own=best is not None and best[0].traits.owner_id == owner_id,
        elsewhere_micros=elsewhere,
        ceiling_micros=ceiling.micros,
        ceiling_basis=ceiling.basis,
        slices=spec.slices,
        max_runtime_seconds=seconds,
        now_micros=None if price is None else slice_cost(price, seconds, spec.slices),
        at_most_micros=0 if ceiling.micros is None else slice_cost(ceiling.micros, seconds, spec.slices),
        nodes_total=len(fleet),
        feasible=feasible,
        free_now=feasible - sum(removed[gate] for gate in NOT_NOW),
        gates=[GateCount(gate=gate, removed=removed[gate]) for gate in Gate if removed[gate]],
        nodes=[_shown(*one, owner_id) for one in left[:SHOWN_NODES]],
    )


NOT_NOW = (Gate.STATE, Gate.OWNER, Gate.BUSY)
"""What keeps a node from a slice today, not for ever."""


def survey(fleet: Fleet, needs: Requirements) -> tuple[Counter[Gate], list[tuple[FleetNode, int, bool]]]:
    """Every node, by the gate that removes it; and those that are left, the best first: free now, own, cheap."""
    removed: Counter[Gate] = Counter()
    left: list[tuple[FleetNode, int, bool]] = []
    for node in fleet:
        gate = fleet.gate(needs, node)
        if gate is not None:
            removed[gate] += 1
        if gate is None or (gate in (Gate.BUSY, Gate.OWNER) and closed_gate(needs, node.traits) is None):
            own = node.traits.owner_id == needs.owner_id
            left.append((node, hourly_price(needs, node.traits.ask, own=own), gate is None))
    left.sort(key=lambda one: (not one[2], one[1], one[0].traits.node_id))
    return removed, left


def _shown(node: FleetNode, price: int, free_now: bool, owner_id: str) -> NodePrice:
    traits = node.traits
    return NodePrice(
        node_id=traits.node_id,
        own=traits.owner_id == owner_id,
        price_micros=price,
        gpus=[gpu.slug for gpu in traits.gpus],
        cpus=traits.cpu_millis / MILLI,
        country=traits.country,
        reliability=round(traits.standing.lower, 3),
        free_now=free_now,
    )
