"""What a node asks, and what a slice would cost there. Micro-credits, gross: the platform's fee is in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from computepool.hub.market.rates import Factors, HostPrice, core_rate, gpu_rate
from computepool.hub.market.requirements import MILLI, Requirements


@dataclass(frozen=True, slots=True)
class Basis:
    """Where a node's prices come from. Kept with every lease, so that a price can be explained later."""

    region: str
    gpu: Factors | None
    """None for a node without GPUs."""
    core: Factors
    host: HostPrice | None = None


PREEMPTIBLE_PERCENT = 70
"""Of what a node asks, in a new pool: a slice that may lose its slot to others pays only so much."""


DEAR_PERCENT = 125
"""Of what the pool suggests: as much more as a renter who names no price would pay."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A node's prices now. A lease locks the one that it was made at."""

    gpu_micros: int
    """For one GPU and one hour."""
    core_micros: int
    """For one core and one hour, where no GPU is asked for."""
    preemptible_percent: int = PREEMPTIBLE_PERCENT
    """So much of it, where the slice may lose its slot to others."""
    basis: Basis | None = field(default=None, compare=False, repr=False)


NOTHING = Ask(gpu_micros=0, core_micros=0)


def hourly_price(needs: Requirements, ask: Ask, *, own: bool) -> int:
    """Of one slice for one hour. A part of a micro counts as a whole one; one's own nodes cost nothing."""
    if own:
        return 0
    if needs.gpu_count:
        price = needs.gpu_count * ask.gpu_micros
    else:
        price = -(-needs.cpu_millis * ask.core_micros // MILLI)
    return -(-price * ask.preemptible_percent // 100) if needs.preemptible else price


def is_dear(needs: Requirements, ask: Ask) -> bool:
    """Its host asks for much more than the pool would suggest there. The pool itself does not pay that: else whoever
    names any price would only have to wait to be asked to check somebody."""
    if ask.basis is None:
        return False
    gpu, core = ask.basis.gpu, ask.basis.core
    suggested = Ask(gpu_rate(gpu) if gpu is not None else 0, core_rate(core), ask.preemptible_percent)
    most = hourly_price(needs, suggested, own=False) * DEAR_PERCENT
    return hourly_price(needs, ask, own=False) * 100 > most


def was_dear(made: Mapping[str, Any] | None) -> bool:
    """The same of a price that a lease locked, by what it was made of."""
    if not made or "base_micros" not in made:
        return False
    factors = Factors(made["base_micros"], made["tier_millis"], made["region_millis"], made["spot_millis"])
    suggested = gpu_rate(factors) if made["per"] == "gpu" else core_rate(factors)
    return bool(made["ask_micros"] * 100 > suggested * DEAR_PERCENT)


def price_made_of(needs: Requirements, ask: Ask, *, own: bool) -> dict[str, Any]:
    """How an hour's price came about, in plain values: what `attempts.price` keeps."""
    per = "gpu" if needs.gpu_count else "core"
    made: dict[str, Any] = {"own": own, "per": per}
    if own:
        return made
    made |= {"gpus": needs.gpu_count} if per == "gpu" else {"cpu_millis": needs.cpu_millis}
    if needs.preemptible:
        made["preemptible_percent"] = ask.preemptible_percent
    made["ask_micros"] = ask.gpu_micros if per == "gpu" else ask.core_micros
    basis = ask.basis
    if basis is None:
        return made
    factors = basis.gpu if per == "gpu" else basis.core
    if factors is None:
        return made
    made |= {
        "base_micros": factors.base_micros,
        "tier_millis": factors.tier_millis,
        "region": basis.region,
        "region_millis": factors.region_millis,
        "spot_millis": factors.spot_millis,
    }
    if basis.host is not None and basis.host.per == per:
        made |= {"floor_micros": basis.host.floor_micros, "fixed_micros": basis.host.fixed_micros}
    return made
