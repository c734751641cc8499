"""What is asked for everything that is in the pool, in memory: the tables, the spot factors, what hosts decided, and
what was measured of their machines. Rebuilt from the truth when the hub starts; on the event loop only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from computepool.hub.market.allowance import (
    SLOW_BACKEND,
    TRUSTED_MARKS,
    UNMEASURED,
    MeasuredCapacity,
    Trial,
    measured_capacity,
)
from computepool.hub.market.feasibility import Traits
from computepool.hub.market.pricing import NOTHING, Ask, Basis
from computepool.hub.market.rates import (
    CORES_OF_THE_CPU_TIER,
    MILLI,
    Factors,
    HostPrice,
    core_rate,
    divide_up,
    gpu_rate,
)
from computepool.hub.market.regions import spell_millis
from computepool.hub.market.requirements import Requirements
from computepool.hub.market.settings import Tables
from computepool.hub.market.spot import CPU, PRIOR_UNITS, Segment, Spot, Use
from computepool.hub.market.tiers import LEAST_GPU_TIER_MILLIS, SPEED_TIERS, Measured, Tier, is_listed, tier_of
from computepool.hub.nodes.benchmarks import Benchmark, hardware_digest
from computepool.protocol.benchmark import CPU as CPU_DEVICE
from computepool.protocol.capacity import Capacity, Gpu

PRIOR_CORE_MILLIS = PRIOR_UNITS * CORES_OF_THE_CPU_TIER * MILLI
TIERS_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Speeds:
    """What an examination measured, of the hardware that it was made of."""

    hardware: str
    gflops: Mapping[str, float]
    """By device."""
    capacity: MeasuredCapacity = UNMEASURED


UNKNOWN_SPEEDS = Speeds("", {})


@dataclass(frozen=True, slots=True)
class MarketPosition:
    """Where a node stands in the market."""

    gpu: Segment | None
    cpu: Segment
    region_millis: int
    tier: Tier | None
    """Of its GPUs the least; None without any."""


NO_SPOT = Spot()


@dataclass
class Book:
    tables: Tables = field(default_factory=Tables)
    spots: dict[Segment, Spot] = field(default_factory=dict)
    host_prices: dict[str, HostPrice] = field(default_factory=dict)
    speeds: dict[str, Speeds] = field(default_factory=dict)
    used: dict[Segment, Use] = field(default_factory=dict)
    """As it was last counted."""
    is_free: bool = False
    """Money is switched off: nobody asks for anything."""
    unproven_slices: int = 0
    """Strangers' slices at once with which a measured node begins; 0 for as many as it claims to hold."""
    _places: dict[str, MarketPosition] = field(default_factory=dict)
    _asks: dict[tuple[MarketPosition, HostPrice | None], Ask] = field(default_factory=dict)
    """Nodes that ask alike share one."""
    _tiers: dict[tuple[str, float | None], Tier] = field(default_factory=dict)

    # ── one node ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def appraise(self, traits: Traits, capacity: Capacity) -> Traits:
        """With its asks and its measured speed as they are now."""
        known = self._speeds_of(traits, capacity)
        speeds = known.gflops
        gpus = cards_of(traits.gpus)
        tiers = [self.tier(gpu.slug, speeds.get(gpu.id)) for gpu in gpus]
        tier = min(tiers, key=lambda one: one.millis, default=None)
        region, factor = self.tables.region_of(traits.country)
        place = MarketPosition(
            gpu=Segment(spell_millis(tier.millis), region, traits.simulated) if tier is not None else None,
            cpu=Segment(CPU, region, traits.simulated),
            region_millis=factor,
            tier=tier,
        )
        self._places[traits.node_id] = place
        measured = [speeds[gpu.id] for gpu in gpus if gpu.id in speeds]
        cores = max(traits.cpu_millis, 1) / MILLI
        return replace(
            traits,
            ask=self._ask(place, self.host_prices.get(traits.node_id)),
            gpu_gflops=min(measured) if gpus and len(measured) == len(gpus) else None,
            core_gflops=speeds[CPU_DEVICE] / cores if CPU_DEVICE in speeds else None,
            trial=None if traits.simulated else Trial(self.unproven_slices, known.capacity),
        )

    def ask_again(self, traits: Traits) -> Traits:
        """With what it asks for now, where nothing changed but spot: much quicker than a whole appraisal."""
        place = self._places[traits.node_id]
        ask = self._ask(place, self.host_prices.get(traits.node_id))
        return traits if ask == traits.ask else replace(traits, ask=ask)

    def place_of(self, node_id: str) -> MarketPosition | None:
        return self._places.get(node_id)

    def forget(self, node_id: str) -> None:
        self._places.pop(node_id, None)
        self.host_prices.pop(node_id, None)
        self.speeds.pop(node_id, None)

    def set_host_price(self, node_id: str, price: HostPrice | None) -> None:
        if price is None:
            self.host_prices.pop(node_id, None)
        else:
            self.host_prices[node_id] = price

    def learn_speed(self, row: Benchmark) -> None:
        devices = row.figures.get("devices", ())
        self.speeds[row.node_id] = Speeds(
            row.hardware,
            {
                str(one["device"]): float(one["gflops"])
                for one in devices
                if one.get("mark") in TRUSTED_MARKS and one.get("gflops") and one.get("backend") != SLOW_BACKEND
            },
            measured_capacity(devices),
        )

    def tier(self, slug: str, gflops: float | None = None) -> Tier:
        """Of one kind of card, by what was measured of it where something was."""
        key = (slug, gflops)
        if key not in self._tiers:
            if len(self._tiers) > TIERS_REMEMBERED:
                self._tiers.clear()
            measured = Measured(gflops, 0) if gflops is not None else None
            self._tiers[key] = tier_of(slug, measured, self.tables.tiers.cards)
        return self._tiers[key]

    # ── rates ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def spot_millis(self, segment: Segment) -> int:
        return self.spots.get(segment, NO_SPOT).published_millis

    def factors(self, segment: Segment, tier_millis: int, region_millis: int) -> Factors:
        return Factors(self.tables.rates.base_micros, tier_millis, region_millis, self.spot_millis(segment))

    def list_ceiling(self, needs: Requirements) -> int:
        """The most that the pool itself would ever suggest for a slice-hour of what is asked for: the dearest card that
        it may mean, in the dearest place, at the highest spot."""
        if self.is_free:
            return 0
        tables = self.tables
        region, spot = tables.most_factor(needs.countries), tables.rates.spot_most_millis
        if needs.gpu is None:
            factors = Factors(tables.rates.base_micros, tables.tiers.cpu_millis, region, spot)
            return divide_up(needs.cpu_millis * core_rate(factors), MILLI)
        tier = max(*tables.tiers.cards.values(), *(millis for _, millis in SPEED_TIERS), LEAST_GPU_TIER_MILLIS)
        names = [choice.name for choice in needs.gpu.choices if choice.name is not None]
        if len(names) == len(needs.gpu.choices) and all(is_listed(name, tables.tiers.cards) for name in names):
            # Measured, it is worth that or less; a card of no list may be any.
            tier = max(self.tier(name).millis for name in names)
        return needs.gpu_count * gpu_rate(Factors(tables.rates.base_micros, tier, region, spot))

    # ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def replace_tables(self, tables: Tables) -> None:
        """Every node has to be appraised again."""
        self.tables = tables
        self._tiers.clear()
        self._asks.clear()

    def step(self, used: Mapping[Segment, Use], seconds: float) -> frozenset[Segment]:
        """Let time go by, with so much in use. The segments whose published factor changed."""
        changed = set()
        for segment in {*self.spots, *used}:
            before = self.spots.get(segment, NO_SPOT)
            prior = PRIOR_CORE_MILLIS if segment.tier == CPU else PRIOR_UNITS
            after = before.step(used.get(segment, Use()), seconds, self.tables.bounds, prior)
            self.spots[segment] = after
            if after.published_millis != before.published_millis:
                changed.add(segment)
        self.used = dict(used)
        if changed:
            self._asks.clear()
        return frozenset(changed)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _ask(self, place: MarketPosition, host: HostPrice | None) -> Ask:
        key = (place, host)
        if key not in self._asks:
            self._asks[key] = self._make_ask(place, host)
        return self._asks[key]

    def _make_ask(self, place: MarketPosition, host: HostPrice | None) -> Ask:
        if self.is_free:
            return NOTHING
        core = self.factors(place.cpu, self.tables.tiers.cpu_millis, place.region_millis)
        gpu = None
        if place.gpu is not None and place.tier is not None:
            gpu = self.factors(place.gpu, place.tier.millis, place.region_millis)
        gpu_micros, core_micros = gpu_rate(gpu) if gpu is not None else 0, core_rate(core)
        if host is not None and host.per == "gpu":
            gpu_micros = host.over(gpu_micros)
        elif host is not None:
            core_micros = host.over(core_micros)
        percent = self.tables.rates.preemptible_percent
        return Ask(gpu_micros, core_micros, percent, Basis(place.cpu.region, gpu, core, host))

    def _speeds_of(self, traits: Traits, capacity: Capacity) -> Speeds:
        known = self.speeds.get(traits.node_id)
        return known if known is not None and known.hardware == hardware_digest(capacity) else UNKNOWN_SPEEDS


def cards_of(gpus: Iterable[Gpu]) -> list[Gpu]:
    """Those that jobs are given: one that shares the machine's memory counts only where there is no other."""
    found = list(gpus)
    return [gpu for gpu in found if not gpu.integrated] or found
