"""An offer as renters see it, without a word about whose it is."""

from computepool.hub.core.money import Micros
from computepool.hub.market.rates import Per
from computepool.hub.market.tiers import Basis
from computepool.protocol.model import Documented
from computepool.protocol.states import IsolationLevel


class Offer(Documented):
    node_id: str
    gpus: list[str]
    """By kind, one for each."""
    gpus_free: int
    gpu_memory_bytes: int
    """Of its smallest card."""
    cpus: float
    memory_bytes: int
    disk_bytes: int
    country: str | None
    region: str
    tags: list[str]
    isolation: IsolationLevel
    """The strongest that it has proven, of those that strangers get there."""
    tier: float | None
    tier_basis: Basis | None
    """card, measured or claimed: whether its speed was seen."""
    price_micros: Micros
    """For an hour of one of its GPUs; of one core, where it has none. Fee included."""
    per: Per
    """gpu or core."""
    core_price_micros: Micros
    """For an hour of one core, where no GPU is asked for."""
    gflops: float | None
    """Billions of operations a second of one GPU (the slowest), or of one core where it has none, as the hub measured
    it; null for a node that was not measured."""
    price_per_tflops_micros: Micros
    """Price by speed: for an hour of a thousand of these. Null for a node that was not measured."""
    reliability: float
    """The lower bound that `min_reliability` asks for; its mean is `reliability_mean`."""
    reliability_mean: float
    verified: bool
    simulated: bool


class DroppableFilter(Documented):
    """A part of a filter that left nothing."""

    filter: str
    """As the filter writes it, such as `price<40`."""
    field: str
    """What it asks about, as `market/filters` names it."""
    parameter: str | None
    """The parameter that it came by; null for a part of `filter`."""
    left_without: int
    """Offers that all the other parts leave."""
    left_alone: int
    """Offers that this part alone leaves."""


class OfferPage(Documented):
    items: list[Offer]
    next: str | None
    total: int
    """How many the filter left."""
    simulated: int
    """How many more there are that only pretend: they are listed with `simulated=true`."""
    to_drop: list[DroppableFilter]
    """Where nothing is left: each part of the filter, the one whose removal leaves most first."""
