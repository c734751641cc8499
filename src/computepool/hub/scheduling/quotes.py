"""What a job would cost now, at most, and where: asked before it is submitted, and when it is.

A spec that names no `max_price` gets a ceiling when it is submitted: a quarter more than the nodes of other owners ask
for that its slices would go to right now (the dearest of them: one cheap node with room for one slice must not keep a
thousand others from all the rest), and never more than the pool itself could come to suggest. So a price that somebody
made up is paid only by those who said that they would. Where no such node is free, or it asks for nothing, it is the
latter alone. Ceilings are rounded up to two digits: jobs alike, submitted in the same hour, then still wait in the same
line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Literal

from computepool.hub.artifacts.charges import StoragePrice
from computepool.hub.core.actions import ActionView, unless
from computepool.hub.core.errors import PoolError
from computepool.hub.core.money import MONEY, Micros
from computepool.hub.jobs.brief import JobBrief, with_ceiling
from computepool.hub.jobs.terms import first_part, least_to_begin
from computepool.hub.market.book import Book
from computepool.hub.market.pricing import hourly_price
from computepool.hub.market.rates import SECONDS_PER_HOUR, divide_up, fee_of, round_up, slice_cost
from computepool.hub.market.requirements import MILLI, Requirements
from computepool.hub.scheduling.findings import GateCount, Look, RelaxationView, nodes
from computepool.hub.scheduling.fleet import Fleet, free_of
from computepool.hub.scheduling.fleet_node import amounts_on
from computepool.hub.scheduling.queue import Waiting
from computepool.hub.scheduling.room import how_many_fit
from computepool.hub.scheduling.scheduler import Scheduler
from computepool.hub.scheduling.survey import Candidate, Survey
from computepool.protocol.manifest import Grant
from computepool.protocol.messages import cached_image
from computepool.protocol.model import Documented
from computepool.protocol.spec import JobSpec
from computepool.protocol.units import about_bytes, format_duration, spell_credits

NODES_ASKED = 64
"""To which slices of one job would go: with more, those that were asked speak for the rest."""
MARGIN_PERCENT = 125
"""Of what was quoted: prices may move a little before a slice gets its turn."""
SHOWN_NODES = 5

NODES_STUDIED = 1000
"""Of those that can never run it, for changes of the spec that would help: the others are much like them."""

CeilingBasis = Literal["spec", "quote", "list", "own"]
CEILING_WORDS: Mapping[str | None, str] = {
    "spec": "your `max_price`",
    "quote": "25 % above the current price",
    "list": "the highest price that the pool suggests",
    "own": "your own nodes are free",
}
CostCode = Literal["slice_hour", "all_now", "setup", "fee", "set_aside", "ceiling", "at_most", "storage"]


@dataclass(frozen=True, slots=True)
class Ceiling:
    micros: int | None
    basis: CeilingBasis
    """spec: `max_price`. quote: a quarter over a node's price now. list: the most that the pool would suggest.
    own: only the renter's own nodes are asked, which cost nothing."""
    elsewhere_micros: int | None = None
    """What the best free node of another owner asks for a slice-hour; None if there is none."""


class SliceAmounts(Documented):
    """What a slice is given of a node, beside GPUs."""

    cpus: float
    memory_bytes: int
    disk_bytes: int

    @staticmethod
    def of(grant: Grant) -> "SliceAmounts":
        return SliceAmounts(cpus=grant.cpus, memory_bytes=grant.memory_bytes, disk_bytes=grant.disk_bytes)


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
    gives: SliceAmounts
    """What a slice would get there: now, or where it is not free now, once it is."""


class CostLine(Documented):
    """One amount of a quote, with what it is for."""

    code: CostCode
    """What the amount is, as a word that stays the same."""
    label: str
    """The same in words."""
    micros: int
    """The amount, in micros."""


BeginCode = Literal["ok", "no_node", "busy", "limit", "credits", "budget", "kept"]


class BeginVerdict(Documented):
    """Whether a slice could begin now, and what it lacks."""

    allowed: bool
    """It could begin at once."""
    code: BeginCode
    """ok. no_node: none can ever run it. busy: none is free. limit: the renter's limits. credits: the wallet. budget:
    the job would fail at once. kept: what is free is kept for others."""
    reason: str | None
    """Why not, and what to do, in words; null where it is allowed."""
    needed_micros: Micros
    """What has to be set aside for a slice to begin at the price of now; null if no node would do."""
    available_micros: Micros
    """What the renter can spend now."""
    missing_micros: Micros
    """How much of what is needed is not there."""


class QuoteActions(Documented):
    submit: ActionView
    """Submit this job. One that cannot begin yet may be submitted all the same, and waits."""


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
    summary: str
    """Where it could run, in one sentence."""
    relaxations: list[RelaxationView]
    """Changes of the spec that would find a node, the smallest first; only where none is free."""
    suggestions: list[str]
    """The words of the relaxations."""
    begin: BeginVerdict
    """Whether a slice could begin now, by nodes, limits and wallet."""
    start: str | None
    """When it starts, in words, where that can be known; null where it depends on others."""
    slices_now: int
    """Slices for which there is room now, at least."""
    at_least: SliceAmounts
    """What a slice gets on every node. `nodes` tell what it would get there, where the spec leaves that open."""
    cost: Annotated[list[CostLine] | None, MONEY]
    """What the price is made of, line by line; null without money."""
    input_bytes: int
    """What the stored inputs have together, in bytes."""
    actions: QuoteActions
    """What the caller may do with it."""


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


@dataclass(frozen=True, slots=True)
class Asked:
    """What a quote is for."""

    spec: JobSpec
    brief: JobBrief
    """As it would be submitted."""
    fee_bps: int
    storage: StoragePrice | None = None
    refusal: PoolError | None = None
    """With which it would be refused now."""


async def quote(scheduler: Scheduler, book: Book, asked: Asked, now: datetime, tick: float) -> Quote:
    fleet, spec, needs = scheduler.fleet, asked.spec, asked.brief.requirements
    owner_id = needs.owner_id
    ceiling = ceiling_for(fleet, book, needs, spec.slices)
    within = replace(needs, max_price_micros=ceiling.micros)
    look, seen = Look(fleet, within), Survey(within, asked.brief.wanted)
    async for node in fleet.walk():
        seen.add(node, look.count(node))
    if not look.free:
        await look.study(NODES_STUDIED)
    free, best = seen.candidates, [*seen.candidates, *seen.later]
    price = best[0].hourly_micros if best else None
    elsewhere = next((one.hourly_micros for one in best if one.node.traits.owner_id != owner_id), None)
    seconds, runs = int(spec.max_runtime_seconds), runs_of(spec)
    placed = prices_now(fleet, within, runs)
    hourly = None if price is None else _all_now(placed, runs, price)
    begin = _begin(
        scheduler, asked, Waiting(replace(asked.brief, requirements=within), 0, 0, 0), look, price, now, tick
    )
    made = Quote(
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
        nodes_total=look.total,
        feasible=look.feasible,
        free_now=look.free,
        gates=look.gates(),
        nodes=[_shown(one, needs, free_now=number < len(free)) for number, one in enumerate(best[:SHOWN_NODES])],
        summary=f"{nodes(look.free)} could begin it now." if look.free else look.summary(),
        relaxations=look.relaxations(),
        suggestions=[one.words for one in look.relaxations()],
        begin=begin,
        start=None,
        slices_now=min(spec.slices, _room(placed, look.free) // (runs // spec.slices)),
        at_least=SliceAmounts(
            cpus=needs.cpu_millis / MILLI, memory_bytes=needs.memory_bytes, disk_bytes=needs.disk_bytes
        ),
        cost=None,
        input_bytes=sum(one.size_bytes or 0 for one in asked.brief.inputs),
        actions=QuoteActions(submit=unless(asked.refusal)),
    )
    made.start = _start(made, asked, free)
    made.cost = cost_lines(made, asked)
    return made


def runs_of(spec: JobSpec) -> int:
    """How often something is run and paid: slices, and replicas of each."""
    return spec.slices * (spec.verify.replicas if spec.verify is not None else 1)


def _begin(
    scheduler: Scheduler, asked: Asked, waiting: Waiting, look: Look, price: int | None, now: datetime, tick: float
) -> BeginVerdict:
    needs, admission = waiting.brief.requirements, scheduler.admission
    seconds, budget = int(asked.spec.max_runtime_seconds), asked.spec.budget_micros
    needed = None if price is None else first_part(price, seconds).micros
    has = max(0, scheduler.purse.left(needs.owner_id))

    def verdict(code: BeginCode, reason: str | None) -> BeginVerdict:
        return BeginVerdict(
            allowed=code == "ok",
            code=code,
            reason=reason,
            needed_micros=needed,
            available_micros=has,
            missing_micros=None if needed is None else max(0, needed - has),
        )

    if not look.feasible:
        return verdict("no_node", look.summary())
    if price and budget is not None and budget < least_to_begin(price, seconds):
        return verdict("budget", _too_small(price, seconds, budget))
    if not look.free:
        return verdict("busy", look.summary())
    if (words := admission.why_limited(waiting, now)) is not None:
        return verdict("limit", words)
    if (words := admission.why_unfunded(waiting, now)) is not None:
        return verdict("credits", words)
    if (words := admission.why_kept(waiting, now, tick)) is not None:
        return verdict("kept", words)
    return verdict("ok", None)


def _too_small(price: int, seconds: int, budget: int) -> str:
    fits = budget * SECONDS_PER_HOUR // price
    shorter = f", or set `max_runtime` to {format_duration(fits)} or less" if fits else ""
    return (
        f"The budget of {spell_credits(budget)} is too small to begin at the current price: "
        f"{spell_credits(least_to_begin(price, seconds))} must be reserved. Raise `budget`{shorter}."
    )


def _start(made: Quote, asked: Asked, free: list[Candidate]) -> str | None:
    if not made.begin.allowed or not free:
        return None
    if asked.spec.verify is not None:
        return None  # replicas need nodes of different owners
    image = asked.spec.image
    fetch = ", after its image is fetched" if image and cached_image(image) not in free[0].node.cached else ""
    if made.slices_now >= made.slices:
        return f"Now{fetch}: {nodes(made.free_now)} {'is' if made.free_now == 1 else 'are'} free."
    return f"{made.slices_now} of {made.slices} slices now{fetch}; the others when room is free."


def cost_lines(made: Quote, asked: Asked) -> list[CostLine]:
    spec, seconds = asked.spec, made.max_runtime_seconds
    slices = "1 slice" if made.slices == 1 else f"{made.slices} slices"
    copies = f" × {spec.verify.replicas} replicas" if spec.verify is not None else ""
    lines: list[tuple[CostCode, str, int | None]] = [
        (
            "slice_hour",
            f"One slice for an hour on {'a node of your own' if made.own else 'the best node'}",
            made.price_micros,
        ),
        ("all_now", f"{slices}{copies} × {format_duration(seconds)} at current prices", made.now_micros),
    ]
    if spec.setup is not None:
        lines.append(("setup", "`setup`: its time is part of that; waiting, downloads and uploads are free", 0))
    if made.now_micros is not None:
        percent = f"{asked.fee_bps / 100:g} %"
        lines.append(("fee", f"Of that, the pool's fee of {percent}", fee_of(made.now_micros, asked.fee_bps)))
    lines += [
        ("set_aside", "Held when a slice starts", made.begin.needed_micros),
        ("ceiling", f"Ceiling for a slice-hour: {CEILING_WORDS[made.ceiling_basis]}", made.ceiling_micros),
        (
            "at_most",
            "At most for the whole job" + (", its budget" if spec.budget_micros is not None else ""),
            made.at_most_micros,
        ),
    ]
    if asked.storage is not None:
        free = about_bytes(asked.storage.free_bytes)
        lines.append(("storage", f"Storage beyond {free}, for a GB and a day", asked.storage.micros))
    return [CostLine(code=code, label=label, micros=micros) for code, label, micros in lines if micros is not None]


def _room(placed: list[tuple[int, int]], free: int) -> int:
    """Slices that begin at once: on the nodes that were asked, and at least one on each of the others."""
    return sum(count for _, count in placed) + max(0, free - len(placed))


def _all_now(found: list[tuple[int, int]], slices: int, price: int) -> int:
    """Of all slices for an hour; `price` is that of the node that one would wait for, where none is free."""
    placed = sum(count for _, count in found)
    left = (slices - placed) * max((one for one, _ in found), default=price)
    return sum(one * count for one, count in found) + left


def _at_most(ceiling_micros: int | None, seconds: int, runs: int, budget_micros: int | None) -> int:
    most = 0 if ceiling_micros is None else slice_cost(ceiling_micros, seconds, runs)
    return most if budget_micros is None else min(most, budget_micros)


def _shown(one: Candidate, needs: Requirements, *, free_now: bool) -> NodePrice:
    traits = one.node.traits
    free = one.node.free if free_now else free_of(traits)
    return NodePrice(
        node_id=traits.node_id,
        own=traits.owner_id == needs.owner_id,
        price_micros=one.hourly_micros,
        gpus=[gpu.slug for gpu in traits.gpus],
        cpus=traits.cpu_millis / MILLI,
        country=traits.country,
        reliability=round(traits.standing.lower, 3),
        free_now=free_now,
        gives=SliceAmounts.of(amounts_on(traits, free, needs)),
    )
