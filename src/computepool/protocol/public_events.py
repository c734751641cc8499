"""What everybody hears of a pool without signing in: `WS` and `GET /api/v1/public/events`."""

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from computepool.protocol.events import Told
from computepool.protocol.states import NodeState

OF_MONEY: dict[str, JsonValue] = {"x-money": True}
"""Marks a field that is null in a pool without money."""


class SimulatedStats(Told):
    """Of simulated nodes alone, which have no real hardware."""

    nodes_total: int = 0
    nodes_online: int = 0
    gpus_total: int = 0
    slices_running: int = 0
    jobs_today: int = 0
    """Submitted since midnight UTC."""
    jobs_done: int = 0
    """Ever succeeded."""
    gpu_hours: float = 0.0
    """Of simulated GPUs, in attempts that ended well: ever."""


class PublicGpuPrice(Told):
    """A kind of card that is offered now, simulated ones left out."""

    gpu: str
    tier: str
    """The multiplier of its price."""
    from_micros: int | None = Field(json_schema_extra=OF_MONEY)
    """The cheapest hour of one that is offered now; null where nobody offers one."""
    offers: int
    """Nodes that offer it."""


class PublicStats(Told):
    nodes_total: int
    nodes_online: int
    nodes_simulated: int
    cpus_total: float
    cpus_free: float
    memory_bytes_total: int
    gpus_total: int
    gpus_free: int
    slices_running: int
    slices_queued: int
    uptime_seconds: float
    countries: int = 0
    """Where real nodes are that can be reached now."""
    jobs_today: int = 0
    """Submitted since midnight UTC, for real nodes."""
    jobs_done: int = 0
    """Jobs for real nodes that ever succeeded."""
    gpu_hours: float = 0.0
    """Of real GPUs, for others than their owners, in attempts that ended well: ever."""
    earned_by_hosts_micros: int | None = Field(default=None, json_schema_extra=OF_MONEY)
    """What hosts of real nodes ever earned with others' jobs; null in a pool without money."""
    paid_to_hosts_micros: int | None = Field(default=None, json_schema_extra=OF_MONEY)
    """Of what hosts earned, what was paid out to them; null in a pool without money."""
    gpu_prices: tuple[PublicGpuPrice, ...] | None = Field(default=None, json_schema_extra=OF_MONEY)
    """The RTX 4090, and what most nodes offer: at most 20 kinds of cards. Null in a pool without money."""
    simulated: SimulatedStats = SimulatedStats()
    """What is simulated, counted apart. The counts of nodes, cores, memory, GPUs and slices above include it."""
    counted_at: datetime | None = None
    """When jobs, hours and earnings were counted; null until they were."""


class MapCell(Told):
    """Nodes of one country, tier and state. No machine's place is told."""

    country: str | None
    """Two letters; null for nodes whose owners do not say, or that take no strangers' work."""
    tier: str
    """`cpu`, or the multiplier of their cards."""
    state: NodeState
    simulated: bool
    nodes: int
    """How many there are. 0 in an event: there are none any more."""
    busy: int
    """Of them, how many run something now."""


class MapMessage(Told):
    """The map, for readers that ask for it: all cells first, then those that changed, at most once a second."""

    type: Literal["map"] = "map"
    whole: bool
    """These are all cells: forget what you had."""
    cells: list[MapCell]


class PublicPrice(Told):
    """What the pool suggests now for an hour of a kind of card, or of a core, in a region."""

    tier: str
    region: str
    per: str
    suggested_micros: int
    spot: float
    utilisation: float | None


class PublicMessage(Told):
    """The pool as it is now. Sent when something changed, at most once a second."""

    type: Literal["public"] = "public"
    at: datetime
    stats: PublicStats
    prices: list[PublicPrice] | None
    """null in a pool without money."""
