"""What the pool suggests for an hour of a card or a core, and how a price is shared. Whole numbers only.

Factors are in thousandths, money in micro-credits, gross: the platform's fee is in every price. A rate is one product
of whole numbers, divided once, and a part of a micro counts as a whole one: no order of multiplication changes it, and
what is worth something never becomes free.
"""

from dataclasses import dataclass
from typing import Literal

MILLI = 1000
CORES_OF_THE_CPU_TIER = 8
"""The processor's tier is the price of so many cores."""
BASIS_POINTS = 10_000
MOST_FEE_BPS = 2_000
"""The platform's share is never more than a fifth."""
SECONDS_PER_HOUR = 3600
MOST_RATE_MICROS = 10**12
"""A million credits: nothing is suggested for more, however the factors are set, and no host may ask for more. What is
made of it, by many cards for a month, still fits into a database's integers."""

Per = Literal["gpu", "core"]
"""What a price is for, each time for one hour."""


@dataclass(frozen=True, slots=True)
class Factors:
    """Everything that a suggested rate is made of."""

    base_micros: int
    tier_millis: int
    region_millis: int
    spot_millis: int

    @property
    def product(self) -> int:
        return self.base_micros * self.tier_millis * self.region_millis * self.spot_millis


def gpu_rate(factors: Factors) -> int:
    """Micros for one GPU and one hour."""
    return min(divide_up(factors.product, MILLI**3), MOST_RATE_MICROS)


def core_rate(factors: Factors) -> int:
    """Micros for one core and one hour."""
    return min(divide_up(factors.product, MILLI**3 * CORES_OF_THE_CPU_TIER), MOST_RATE_MICROS)


@dataclass(frozen=True, slots=True)
class HostPrice:
    """What a host decided: the least, or exactly so much, for one of its GPUs (or cores) and one hour."""

    per: Per
    floor_micros: int | None = None
    fixed_micros: int | None = None

    def over(self, suggested_micros: int) -> int:
        """What is asked for, where so much would be suggested."""
        if self.fixed_micros is not None:
            return self.fixed_micros
        return max(self.floor_micros or 0, suggested_micros)


def slice_cost(hourly_micros: int, seconds: int, slices: int = 1) -> int:
    """Of so many slices that run so long, at the most."""
    return divide_up(hourly_micros * seconds * slices, SECONDS_PER_HOUR)


def fee_of(gross_micros: int, fee_bps: int) -> int:
    """The platform's share of what a renter pays. Rounded down, so that the rest is the host's to the last micro."""
    return gross_micros * fee_bps // BASIS_POINTS


def divide_up(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)


def round_up(micros: int, digits: int = 2) -> int:
    """To so many significant digits: 35,412,345 becomes 36,000,000."""
    step = int("1" + "0" * max(0, len(str(micros)) - digits))
    return divide_up(micros, step) * step
