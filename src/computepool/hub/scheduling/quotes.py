"""What a job would cost now, at most, and where: asked before it is submitted, and when it is.

A spec that names no `max_price` gets a ceiling when it is submitted: a quarter more than the nodes of other owners ask
for that its slices would go to right now (the dearest of them: one cheap node with room for one slice must not keep a
thousand others from all the rest), and never more than the pool itself could come to suggest. So a price that somebody
made up is paid only by those who said that they would. Where no such node is free, or it asks for nothing, it is the
latter alone. Ceilings are rounded up to two digits: jobs alike, submitted in the same hour, then still wait in the same
line.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from computepool.hub.core.money import MONEY, Micros
from computepool.hub.jobs.brief import JobBrief, with_ceiling
from computepool.hub.jobs.terms import least_to_begin
from computepool.hub.market.book import Book
from computepool.hub.market.feasibility import Gate
from computepool.hub.market.pricing import hourly_price
from computepool.hub.market.rates import divide_up, round_up, slice_cost
from computepool.hub.market.requirements import MILLI, Requirements, requirements_of
from computepool.hub.scheduling.fleet import Fleet
from computepool.hub.scheduling.room import how_many_fit
from computepool.hub.scheduling.survey import Candidate
from computepool.protocol.model import Documented
from computepool.protocol.spec import JobSpec

NODES_ASKED = 64
"""To which slices of one job would go: with more, those that were asked speak for the rest."""
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
    elsewhere_micros: int | None = None
    """What the best free node of another owner asks for a slice-hour; None if there is none."""


class NodePrice(Documented):
    """A node that would do, without a word about whose it is."""

    node_id: str
    own: bool
    """One of the caller's: free."""
    price_micros: Micros
    """Of one slice-hour."""
    gpus: list[str]
    cpus: float
    country: str | None
    reliability: float
    free_now: bool


class GateCount(Documented):
    gate: Gate
    removed: int


class Quote(Documented):
    price_micros: Micros
    """Of one slice-hour now, on the node that it would go to; None if no node would do."""
    own: bool
    """It would go to a node of the caller's own, and cost nothing."""
    elsewhere_micros: Micros
    """On the best node of somebody else; None if none would do, or the caller wants their own alone."""
    ceiling_micros: Micros
    """No slice-hour costs more."""
    ceiling_basis: Annotated[CeilingBasis | None, MONEY]
    slices: int
    max_runtime_seconds: int
    now_micros: Micros
    """If every slice ran for the whole of its time at the price of now: each on the node that it would go to, and those
    for which there is no room now at the dearest of these prices."""
    at_most_micros: Micros
    """If every slice ran for the whole of its time at the ceiling; and not more than the spec's budget."""
    begin_micros: Micros
    """What a budget has to be for one slice to begin at the price of now: with less, the job would fail at once."""
    nodes_total: int
    feasible: int
    """Nodes that could run a slice at some time."""
    free_now: int
    gates: list[GateCount]
    """How many nodes each gate removed, in their order."""
    nodes: list[NodePrice]
    """The best few."""


def prices_now(
    fleet: Fleet, needs: Requirements, slices: int, not_owners: frozenset[str] = frozenset()
) -> list[tuple[int, int]]:
    """(price of a slice-hour, slices there) of the free nodes that so many slices would go to, the best first."""
    found: list[tuple[int, int]] = []
    barred: frozenset[str] = frozenset()
    while slices > 0 and len(found) < NODES_ASKED:
        node = fleet.choose(needs, not_owners=not_owners, barred=barred)
        if node is None:
            break
        there = min(slices, how_many_fit(node, needs))
        own = node.traits.owner_id == needs.owner_id
        found.append((hourly_price(needs, node.traits.ask, own=own), there))
        barred |= {node.traits.node_id}
        slices -= there
    return found


def ceiling_for(fleet: Fleet, book: Book, needs: Requirements, slices: int = 1) -> Ceiling:
    if needs.mine_only:
        return Ceiling(needs.max_price_micros, "own" if needs.max_price_micros is None else "spec")
    node = fleet.choose(needs, not_owners=frozenset({needs.owner_id}))
    price = hourly_price(needs, node.traits.ask, own=False) if node is not None else None
    if needs.max_price_micros is not None:
        return Ceiling(needs.max_price_micros, "spec", price)
    most = _with_margin(book.list_ceiling(needs))
    if price == 0:
        # A quarter more than nothing is nothing: a job whose node is gone would wait for a gift for ever.
        return Ceiling(most, "list", price)
    if price is None or _with_margin(price) > most:
        return Ceiling(most, "list", price if price is not None and price <= most else None)
    if slices > 1:
        asked = prices_now(fleet, replace(needs, max_price_micros=most), slices, frozenset({needs.owner_id}))
        dearest = max((price, *(one for one, _ in asked)))
        return Ceiling(min(_with_margin(dearest), most), "quote", price)
    return Ceiling(_with_margin(price), "quote", price)


def _with_margin(micros: int) -> int:
    return round_up(divide_up(micros * MARGIN_PERCENT, 100))


def with_its_ceiling(fleet: Fleet, book: Book, brief: JobBrief) -> tuple[JobBrief, int | None]:
    """A new job's brief, as it waits and is placed."""
    needs = brief.requirements
    micros = needs.max_price_micros
    if micros is None:
        micros = ceiling_for(fleet, book, needs, brief.slices).micros
    return with_ceiling(brief, micros), micros


async def quote(fleet: Fleet, book: Book, spec: JobSpec, owner_id: str, signed_by: str | None = None) -> Quote:
    """`signed_by`: the id of the key with which the job is going to be signed."""
    needs = replace(requirements_of(spec, owner_id), signed_by=signed_by)
    ceiling = ceiling_for(fleet, book, needs, spec.slices)
    within = replace(needs, max_price_micros=ceiling.micros)
    seen = await fleet.survey(within)
    best = [*seen.candidates, *seen.later]
    price = best[0].hourly_micros if best else None
    elsewhere = next((one.hourly_micros for one in best if one.node.traits.owner_id != owner_id), None)
    seconds = int(spec.max_runtime_seconds)
    runs = spec.slices * (spec.verify.replicas if spec.verify is not None else 1)
    hourly = None if price is None else _all_now(prices_now(fleet, within, runs), runs, price)
    return Quote(
        price_micros=price,
        own=bool(best) and best[0].node.traits.owner_id == owner_id,
        elsewhere_micros=elsewhere if ceiling.elsewhere_micros is None else ceiling.elsewhere_micros,
        ceiling_micros=ceiling.micros,
        ceiling_basis=ceiling.basis,
        slices=spec.slices,
        max_runtime_seconds=seconds,
        now_micros=None if hourly is None else slice_cost(hourly, seconds),
        at_most_micros=_at_most(ceiling.micros, seconds, runs, spec.budget_micros),
        begin_micros=None if price is None else least_to_begin(price, seconds),
        nodes_total=seen.total,
        feasible=seen.feasible,
        free_now=seen.free,
        gates=[GateCount(gate=gate, removed=seen.removed[gate]) for gate in Gate if seen.removed[gate]],
        nodes=[_shown(one, owner_id, free_now=one in seen.candidates) for one in best[:SHOWN_NODES]],
    )


def _all_now(found: list[tuple[int, int]], slices: int, price: int) -> int:
    """Of all slices for an hour; `price` is that of the node that one would wait for, where none is free."""
    placed = sum(count for _, count in found)
    left = (slices - placed) * max((one for one, _ in found), default=price)
    return sum(one * count for one, count in found) + left


def _at_most(ceiling_micros: int | None, seconds: int, runs: int, budget_micros: int | None) -> int:
    most = 0 if ceiling_micros is None else slice_cost(ceiling_micros, seconds, runs)
    return most if budget_micros is None else min(most, budget_micros)


def _shown(one: Candidate, owner_id: str, *, free_now: bool) -> NodePrice:
    traits = one.node.traits
    return NodePrice(
        node_id=traits.node_id,
        own=traits.owner_id == owner_id,
        price_micros=one.hourly_micros,
        gpus=[gpu.slug for gpu in traits.gpus],
        cpus=traits.cpu_millis / MILLI,
        country=traits.country,
        reliability=round(traits.standing.lower, 3),
        free_now=free_now,
    )
