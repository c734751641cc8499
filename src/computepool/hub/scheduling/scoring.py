"""Which of the nodes that could run a slice is the best one: the expected cost to finish it there.

    score = price^a ÷ speed^b ÷ reliability × warmth        the lowest wins

- **price** is what the node asks for a GPU-hour, or for a core-hour where no GPU is wanted; a micro at least, so that
  free nodes are compared by the rest.
- **speed** is what the hub measured there; what a card's name promises counts for half until it was.
- **reliability** is the lower bound of the probability that an attempt ends well: its inverse is the number of tries.
- **warmth** is below one where some of what the slice needs is at hand and need not be fetched.

`optimize` chooses a and b. `cost` is the expected cost itself. `balanced` weighs time as much as money: cost × time.
`speed` gives four times as much money weight to time: a node of twice the speed may ask sixteen times as much.

A tie goes to the faster node, then to the fuller one, which keeps room whole elsewhere, then by name. One's own nodes
are free and come before all others; among them the rest of the formula decides. Pure functions.
"""

from collections.abc import Collection
from functools import lru_cache

from computepool.hub.market.feasibility import Traits
from computepool.hub.market.requirements import Requirements
from computepool.hub.market.tiers import EXPECTED_GFLOPS
from computepool.protocol.gpus import gpu_name_matches
from computepool.protocol.spec import Optimize

EXPONENTS: dict[Optimize, tuple[float, float]] = {
    Optimize.COST: (1.0, 1.0),
    Optimize.BALANCED: (1.0, 2.0),
    Optimize.SPEED: (0.25, 1.0),
}
"""Of price and of speed."""

CLAIM_SHARE = 0.5
"""Of a maker's figure, before anybody measured: cards compute about that in practice, and a claim should not pay."""
UNKNOWN_GPU_GFLOPS = 2_000.0
UNKNOWN_CORE_GFLOPS = 5.0
LEAST_GFLOPS, MOST_GFLOPS = 0.001, 1e12
LEAST_RELIABILITY = 0.01
MOST_MICROS = 10**15
WARM_DISCOUNT = 0.2
"""For a node that has all of it at hand. It is also the most that a warm cache can decide."""

Rank = tuple[float, float, int, str]
"""What nodes are ordered by: score, speed (negative), free cores (in thousandths), id."""


@lru_cache(maxsize=4096)
def claimed_gflops(slug: str) -> float:
    """What a card's name lets one expect."""
    printed = EXPECTED_GFLOPS.get(slug)
    if printed is None:
        printed = next((value for name, value in EXPECTED_GFLOPS.items() if gpu_name_matches(name, slug)), None)
    return UNKNOWN_GPU_GFLOPS if printed is None else printed * CLAIM_SHARE


def gpu_speed(node: Traits) -> float:
    """Of the slowest card: a slice of several waits for it, and which ones it will be given is not known here."""
    if node.gpu_gflops is not None:
        return _within(LEAST_GFLOPS, node.gpu_gflops, MOST_GFLOPS)
    cards = [gpu for gpu in node.gpus if not gpu.integrated] or node.gpus
    return min((claimed_gflops(gpu.slug) for gpu in cards), default=LEAST_GFLOPS)


def core_speed(node: Traits) -> float:
    return UNKNOWN_CORE_GFLOPS if node.core_gflops is None else _within(LEAST_GFLOPS, node.core_gflops, MOST_GFLOPS)


def _within(least: float, value: float, most: float) -> float:
    """What is not a number is the least."""
    return min(max(least, value), most)


def score_of(price_micros: int, gflops: float, reliability: float, optimize: Optimize) -> float:
    """The formula, for a node that has nothing at hand. Always a number above zero, whatever a host says."""
    price_power, speed_power = EXPONENTS[optimize]
    price = float(min(max(1, price_micros), MOST_MICROS)) ** price_power
    speed = _within(LEAST_GFLOPS, gflops, MOST_GFLOPS) ** speed_power
    return float(price / speed / _within(LEAST_RELIABILITY, reliability, 1.0))


def cold_score(node: Traits, optimize: Optimize, *, gpu: bool, own: bool) -> tuple[float, float]:
    """Score and speed of a node, whatever the slice: it follows from the node, and from what is asked to be saved."""
    gflops = gpu_speed(node) if gpu else core_speed(node)
    price = 0 if own else node.ask.gpu_micros if gpu else node.ask.core_micros
    return score_of(price, gflops, node.standing.lower, optimize), gflops


def warmth(cached: Collection[str], wanted: Collection[str]) -> float:
    """The factor for what is at hand: 1 for nothing of it, least for all of it."""
    if not wanted:
        return 1.0
    at_hand = 0
    for one in wanted:
        if one in cached:
            at_hand += 1
    return warmth_of(at_hand, len(wanted))


def warmth_of(at_hand: int, wanted: int) -> float:
    return 1.0 - WARM_DISCOUNT * at_hand / wanted if wanted else 1.0


def rank_of(
    node: Traits, free_cpu_millis: int, cached: Collection[str], needs: Requirements, wanted: Collection[str]
) -> Rank:
    """For one node and one slice. The lowest is the best; own nodes are ranked apart from those of others."""
    own = node.owner_id == needs.owner_id
    score, gflops = cold_score(node, needs.optimize, gpu=needs.gpu is not None, own=own)
    return score * warmth(cached, wanted), -gflops, free_cpu_millis, node.node_id
