"""One node as everybody may see it, also while it is busy or away. It tells nothing private of its owner."""

from datetime import UTC, date, datetime, timedelta
from typing import Annotated, cast

from fastapi import APIRouter
from sqlalchemy.orm import Session

from computepool.hub.accounts.public_names import find_public_name
from computepool.hub.core.money import MONEY, priced_routes
from computepool.hub.engine import Engine
from computepool.hub.market.book import MarketPosition, cards_of
from computepool.hub.market.feasibility import levels_for_strangers
from computepool.hub.market.price_history import AskedPrices, DayPrice, read_daily_prices
from computepool.hub.market.pricing import Basis as PriceBasis
from computepool.hub.market.rates import MILLI, Per, core_rate, gpu_rate
from computepool.hub.market.repository import host_price_of
from computepool.hub.market.tiers import Basis, Mark
from computepool.hub.nodes.benchmarks import UNVERIFIED, Benchmark, find_benchmark, hardware_digest
from computepool.hub.nodes.errors import NoSuchNode
from computepool.hub.nodes.prices import list_price_changes
from computepool.hub.nodes.tables import Node
from computepool.hub.reputation import repository as reputation
from computepool.hub.reputation.record import Record, fresh, standing_of
from computepool.hub.reputation.uptime import by_day, share
from computepool.hub.reputation.views import Audited
from computepool.hub.scheduling.census import state_of
from computepool.hub.scheduling.fleet import FleetNode
from computepool.hub.scheduling.offers import offer_of, price_per_tflops
from computepool.protocol.benchmark import CPU
from computepool.protocol.capacity import Gpu
from computepool.protocol.model import Documented
from computepool.protocol.states import IsolationLevel, NodeState

DAYS_SHOWN = 30
SECONDS_PER_DAY = 86_400


class PublicCard(Documented):
    """A GPU of a node."""

    name: str
    slug: str
    vendor: str
    """nvidia, amd, intel or apple."""
    memory_bytes: int
    driver: str
    runtime: str
    """The newest that its driver can run, such as `cuda 12.4`."""
    architecture: str
    """Such as `8.9` (compute capability) or `gfx1100`."""
    gflops: float | None
    """Billions of operations a second, as the hub measured it; null before it did."""


class PublicBenchmark(Documented):
    """What the hub measured."""

    mark: Mark
    """Whether the node is as fast as its cards are."""
    tier: float | None
    """The multiplier of its price."""
    tier_basis: Basis | None
    """Whether the tier is the card's, was measured, or is only claimed."""
    cpu_gflops: float | None
    """Billions of operations a second of all its cores, as the hub measured it."""
    measured_at: datetime | None


class UptimeDay(Documented):
    day: date
    """Of UTC."""
    share: float
    """Of the day, as far as it is over and the node was a member: how much of it the node was connected, from 0 to
    1."""


class PublicRecord(Documented):
    """What is known of a node's past."""

    mean: float
    """Its reliability, from 0 to 1."""
    lower: float
    """The 5 % lower bound of it: what nodes are ranked by."""
    has_record: bool
    """False for a node that nobody can say much of yet."""
    verified: bool
    ok_attempts: int
    """For others, ever."""
    audited: Audited
    quarantined_until: datetime | None
    first_seen: date
    """The day on which it joined."""
    tenure_days: int
    uptime_30d: float
    """Of the last 30 days, or of its life if that is shorter: how much of it the node was connected."""
    uptime: list[UptimeDay]
    """By day, the oldest first."""


class PublicPriceNow(Documented):
    """In millionths of a credit, fee included."""

    per: Per
    """gpu or core: an hour of what."""
    price_micros: int
    """What strangers pay for an hour."""
    suggested_micros: int
    """What the pool suggests there."""
    core_price_micros: int
    """For an hour of one core, where no GPU is asked for."""
    per_tflops_micros: int | None
    """For an hour of one measured teraflop a second; null for a node that was not measured."""


class MarketNodeView(Documented):
    node_id: str
    owner_name: str | None
    """The public name of its owner, for one who chose a name; else null."""
    state: NodeState
    takes_work: bool
    """It is among the offers now."""
    busy: bool
    """It runs something now."""
    simulated: bool
    country: str | None
    region: str | None
    tags: list[str]
    cpus: float
    cpu_model: str
    memory_bytes: int
    disk_bytes: int
    gpus: list[PublicCard]
    gpus_free: int | None
    """Nobody uses them now; null while the node takes no work."""
    isolation: IsolationLevel | None
    """The strongest level that strangers' jobs get there; null where they get none."""
    network: bool
    """Jobs with `network: true` are welcome."""
    benchmark: PublicBenchmark
    record: PublicRecord
    """What is known of its past."""
    price: Annotated[PublicPriceNow | None, MONEY]
    """What strangers pay now; null in a pool without money."""
    price_history: Annotated[list[DayPrice] | None, MONEY]
    """What it asked for an hour on each of the last 30 days, the oldest first, at the tier that it has now. Days
    without stored prices are left out."""


def router(engine: Engine) -> APIRouter:
    context = engine.context
    routes = priced_routes(engine.directory.authenticate, context.settings, tags=["market"])

    @routes.get("/market/nodes/{node_id}", visible="public", shared_seconds=5, errors=[NoSuchNode])
    async def show_market_node(node_id: str) -> MarketNodeView:
        """A node that takes strangers' work, also while it is busy or away: its hardware, its record and its price. One
        that its owner keeps from strangers is not found."""
        live = engine.scheduler.fleet.get(node_id)
        place = engine.book.place_of(node_id)
        return await context.db.read(_show, engine, node_id, live, place)

    return routes.router


def _show(
    session: Session, engine: Engine, node_id: str, live: FleetNode | None, place: MarketPosition | None
) -> MarketNodeView:
    node = session.get(Node, node_id)
    if node is None or live is None:  # a banned node is not in the fleet
        raise NoSuchNode(node_id)
    capacity, now = live.capacity, engine.context.now()
    if not capacity.rules.is_open:
        raise NoSuchNode(node_id)
    measured = find_benchmark(session, node_id)
    if measured is not None and measured.hardware != hardware_digest(capacity):
        measured = None
    gflops = _gflops(measured)
    offer = offer_of(live, engine.book)
    levels = levels_for_strangers(live.traits)
    return MarketNodeView(
        node_id=node_id,
        owner_name=find_public_name(session, node.owner_id),
        state=state_of(live),
        takes_work=offer is not None,
        busy=bool(live.attempts),
        simulated=capacity.simulated,
        country=node.country,
        region=place.cpu.region if place is not None else None,
        tags=sorted(node.tags),
        cpus=capacity.cpus,
        cpu_model=capacity.cpu_model,
        memory_bytes=capacity.memory_bytes,
        disk_bytes=capacity.disk_bytes,
        gpus=[_card(gpu, gflops.get(gpu.id)) for gpu in capacity.gpus],
        gpus_free=offer.gpus_free if offer is not None else None,
        isolation=IsolationLevel(max(levels, key=lambda level: level.rank)) if levels else None,
        network=capacity.rules.internet and bool(capacity.networked),
        benchmark=_benchmark(measured, gflops.get(CPU)),
        record=_record(reputation.find_of(session, [node_id]).get(node_id) or fresh(node.created_at), engine, now),
        price=_price(live),
        price_history=_history(session, node, place, now),
    )


def _gflops(measured: Benchmark | None) -> dict[str, float]:
    devices = measured.figures.get("devices", ()) if measured is not None else ()
    return {str(one["device"]): float(one["gflops"]) for one in devices if one.get("gflops")}


def _card(gpu: Gpu, gflops: float | None) -> PublicCard:
    return PublicCard(
        name=gpu.name,
        slug=gpu.slug,
        vendor=gpu.vendor,
        memory_bytes=gpu.memory_bytes,
        driver=gpu.driver,
        runtime=gpu.runtime,
        architecture=gpu.architecture,
        gflops=gflops,
    )


def _benchmark(measured: Benchmark | None, cpu_gflops: float | None) -> PublicBenchmark:
    return PublicBenchmark(
        mark=cast("Mark", measured.mark if measured is not None else UNVERIFIED),
        tier=measured.tier_millis / MILLI if measured is not None else None,
        tier_basis=cast("Basis", measured.tier_basis) if measured is not None else None,
        cpu_gflops=cpu_gflops,
        measured_at=measured.measured_at if measured is not None else None,
    )


def _record(record: Record, engine: Engine, now: datetime) -> PublicRecord:
    days = by_day(record.online_days, record.online_since, record.first_seen, now)
    standing = standing_of(record, now, engine.context.settings.reliability_half_life)
    return PublicRecord(
        mean=round(standing.mean, 4),
        lower=round(standing.lower, 4),
        has_record=standing.has_record,
        verified=standing.verified,
        ok_attempts=record.ok_count,
        audited=Audited(ok=record.audited_ok, wrong=record.audited_wrong),
        quarantined_until=standing.quarantined_until,
        first_seen=record.first_seen.astimezone(UTC).date(),
        tenure_days=max(0, (now - record.first_seen).days),
        uptime_30d=round(share(record.online_days, record.online_since, record.first_seen, now), 4),
        uptime=[UptimeDay(day=day, share=round(part, 4)) for day, part in days.items()],
    )


def _price(live: FleetNode) -> PublicPriceNow | None:
    ask, cards = live.traits.ask, cards_of(live.traits.gpus)
    if ask.basis is None:
        return None
    price = ask.gpu_micros if cards else ask.core_micros
    return PublicPriceNow(
        per="gpu" if cards else "core",
        price_micros=price,
        suggested_micros=_suggested(ask.basis),
        core_price_micros=ask.core_micros,
        per_tflops_micros=price_per_tflops(price, live.traits.gpu_gflops if cards else live.traits.core_gflops),
    )


def _suggested(basis: PriceBasis) -> int:
    return gpu_rate(basis.gpu) if basis.gpu is not None else core_rate(basis.core)


def _history(session: Session, node: Node, place: MarketPosition | None, now: datetime) -> list[DayPrice]:
    if place is None:
        return []
    segment = place.gpu or place.cpu
    asked = AskedPrices(
        now - timedelta(days=DAYS_SHOWN), now, SECONDS_PER_DAY, segment.tier, segment.region, segment.simulated
    )
    return read_daily_prices(session, asked, list_price_changes(session, node.id), host_price_of(node))
