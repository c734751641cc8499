"""How an hour's price came about, from what the lease kept of it. Pure."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from computepool.hub.market.rates import CORES_OF_THE_CPU_TIER, MILLI, Factors, core_rate, divide_up, gpu_rate
from computepool.hub.wallet.explain_views import Step


def rate_steps(made_of: Mapping[str, Any] | None, price_micros: int | None) -> list[Step]:
    """base × tier × region × spot, what the host made of that, and how much of the node is used."""
    if made_of is None or not price_micros:
        return []
    per = made_of.get("per", "gpu")
    steps = [*_suggested(made_of, per), *_hosts_own(made_of)]
    amount = made_of.get("ask_micros", price_micros)
    if not steps:
        steps.append(Step(label=f"asked for a {_what(per)}", figure="", micros=amount))
    if per == "gpu" and made_of.get("gpus", 1) != 1:
        amount *= made_of["gpus"]
        steps.append(Step(label="GPUs", figure=f"× {made_of['gpus']}", micros=amount))
    elif per == "core" and made_of.get("cpu_millis", MILLI) != MILLI:
        amount = divide_up(amount * made_of["cpu_millis"], MILLI)
        steps.append(Step(label="cores", figure=f"× {_millis(made_of['cpu_millis'])}", micros=amount))
    percent = made_of.get("preemptible_percent")
    if percent is not None:
        amount = divide_up(amount * percent, 100)
        steps.append(Step(label="may lose its slot to others", figure=f"× {percent} %", micros=amount))
    steps.append(Step(label="rate, locked by the lease", figure="=", micros=price_micros))
    return steps


def _suggested(made_of: Mapping[str, Any], per: str) -> list[Step]:
    if "base_micros" not in made_of:
        return []
    factors = Factors(made_of["base_micros"], made_of["tier_millis"], made_of["region_millis"], made_of["spot_millis"])
    running = Fraction(factors.base_micros)
    steps = [Step(label="base rate", figure="", micros=factors.base_micros)]
    parts = [
        ("tier of the card" if per == "gpu" else "tier of processors", factors.tier_millis),
        (f"region {made_of.get('region', '')}".strip(), factors.region_millis),
        ("spot, by demand", factors.spot_millis),
    ]
    for label, millis in parts:
        running *= Fraction(millis, MILLI)
        steps.append(Step(label=label, figure=f"× {_millis(millis)}", micros=_up(running)))
    if per == "core":
        running /= CORES_OF_THE_CPU_TIER
        label = f"for one core of the {CORES_OF_THE_CPU_TIER} that the tier is for"
        steps.append(Step(label=label, figure=f"÷ {CORES_OF_THE_CPU_TIER}", micros=_up(running)))
    rate = gpu_rate(factors) if per == "gpu" else core_rate(factors)
    if rate != steps[-1].micros:
        steps.append(Step(label="nothing is suggested for more", figure="", micros=rate))
    return steps


def _hosts_own(made_of: Mapping[str, Any]) -> list[Step]:
    ask = made_of.get("ask_micros")
    if made_of.get("fixed_micros") is not None:
        return [Step(label="the host asks for exactly", figure="", micros=ask)]
    if made_of.get("floor_micros") is not None and ask == made_of["floor_micros"]:
        return [Step(label="the host asks for at least", figure="", micros=ask)]
    return []


def _what(per: str) -> str:
    return "GPU" if per == "gpu" else "core"


def _up(amount: Fraction) -> int:
    return divide_up(amount.numerator, amount.denominator)


def _millis(millis: int) -> str:
    return f"{millis // MILLI}.{millis % MILLI:03}".rstrip("0").rstrip(".")
