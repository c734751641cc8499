"""What a price would mean for a node: where it would stand among offers like it, and what it would earn. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from computepool.hub.market.earnings import LEAST_POINTS, MILLION, Earned, Running, UseBasis
from computepool.hub.market.repository import Past
from computepool.hub.market.spot import Segment
from computepool.hub.scheduling.offer_views import Offer

BARS = 10


@dataclass(frozen=True)
class PriceBar:
    from_micros: int
    to_micros: int
    """Itself included in the last bar alone."""
    offers: int


def comparable(offers: Sequence[Offer], node_id: str, segment: Segment, tier: float | None) -> list[int]:
    """The prices of others' offers of the same kind of card, or of cores, in any region."""
    return sorted(
        offer.price_micros or 0
        for offer in offers
        if offer.node_id != node_id and offer.tier == tier and offer.simulated == segment.simulated
    )


def bars_of(prices: Sequence[int]) -> list[PriceBar]:
    """A histogram with bars of the same width; one for all where they are the same."""
    if not prices:
        return []
    least, most = min(prices), max(prices)
    width = max(1, -(-(most - least) // BARS))
    count = max(1, -(-(most - least) // width))
    bars = [0] * count
    for price in prices:
        bars[min((price - least) // width, count - 1)] += 1
    return [
        PriceBar(least + place * width, max(most, least) if place == count - 1 else least + (place + 1) * width, found)
        for place, found in enumerate(bars)
    ]


def use_of(past: Mapping[tuple[str, str], Past], segment: Segment) -> tuple[float | None, UseBasis]:
    """How much of the time such cards, or cores, were in use: in this region, else anywhere, else nobody knows."""
    here = past.get((segment.tier, segment.region))
    if here is not None and here.points >= LEAST_POINTS:
        return here.busy / here.total, "measured"
    found = [one for (tier, _), one in past.items() if tier == segment.tier]
    if sum(one.points for one in found) >= LEAST_POINTS:
        return sum(one.busy for one in found) / sum(one.total for one in found), "measured elsewhere"
    return None, "no data"


def earned_a_day(price_micros: int, units: float, fee_bps: int, use: float) -> Earned:
    """By all of a node's cards, or cores, if they are in use for that share of the day."""
    return Running(price_micros, fee_bps, None, None).earned(round(use * units * MILLION), 1)
