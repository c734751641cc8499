"""What a card would earn here: its price, how much of the time it would be in use, the fee, and its power. Pure.

Use is what was measured in this very pool. Where nothing was, that is said, and the figures are for a card that works
all the time; nobody's hope is shown as an expectation.
"""

from dataclasses import dataclass
from typing import Literal

from computepool.hub.market.rates import divide_up, fee_of
from computepool.protocol.model import Documented

MILLION = 1_000_000
HOURS_A_DAY = 24
WATTS_PER_KILOWATT = 1000
LEAST_POINTS = 6
"""An hour's worth: fewer say nothing."""

UseBasis = Literal["measured", "measured elsewhere", "assumed", "no data"]

TYPICAL_WATTS: dict[str, int] = {
    "rtx-5090": 575,
    "rtx-4090": 450,
    "rtx-3090": 350,
    "rtx-4070": 200,
    "rtx-3080": 320,
    "rtx-3060": 170,
    "rtx-2070": 175,
    "gtx-1080-ti": 250,
    "gtx-1080": 180,
    "gtx-1660": 120,
}
"""Of the board under load, as makers print them."""


class Earned(Documented):
    """In a day or a month, in micro-credits."""

    gross_micros: int
    """What renters pay."""
    fee_micros: int
    """The platform's share of it."""
    power_micros: int | None
    """None where neither draw nor tariff is known."""
    net_micros: int
    """What is left to the host: less the fee, and less power where it is known."""


class Earnings(Documented):
    gpu: str
    listed: bool
    """The pool's table knows the card. Else its tier is measured when it joins; here it counts as the least."""
    tier: float
    country: str | None
    region: str
    region_factor: float
    spot: float
    price_micros: int
    """What the pool suggests for an hour now, fee included."""
    fee_bps: int
    utilisation: float | None
    """The share of the time that such cards were in use; None where there is no data."""
    utilisation_basis: UseBasis
    utilisation_points: int
    power_watts: int | None
    tariff_micros: int | None
    """For a kilowatt-hour."""
    per_day: Earned | None
    per_month: Earned | None
    """Thirty days."""
    full_day: Earned
    """If it worked all day: the most that there is to earn at this price."""


@dataclass(frozen=True)
class Running:
    """What an hour of work brings and costs."""

    price_micros: int
    fee_bps: int
    watts: int | None
    tariff_micros: int | None

    def earned(self, use_millionths: int, days: int) -> Earned:
        """Rounded once each: gross down, and power up, so that nobody is promised a micro too much."""
        busy = use_millionths * HOURS_A_DAY * days
        gross = self.price_micros * busy // MILLION
        fee = fee_of(gross, self.fee_bps)
        power = None
        if self.watts is not None and self.tariff_micros is not None:
            power = divide_up(self.watts * self.tariff_micros * busy, WATTS_PER_KILOWATT * MILLION)
        return Earned(gross_micros=gross, fee_micros=fee, power_micros=power, net_micros=gross - fee - (power or 0))
