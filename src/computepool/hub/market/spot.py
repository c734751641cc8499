"""The spot factor of one kind of card in one region: it follows how much of it is in use, gently.

    in use now → a target between the bounds → smoothed by elapsed time → moved there at a limited pace → published

Two looks in a minute or one: what counts is the time that went by. Four hundred machines that come or go at once change
the target at once and the price slowly, so nobody has a reason to run.
"""

from dataclasses import dataclass, replace
from math import exp2
from typing import NamedTuple

MILLI = 1000
NEUTRAL_USE = 0.6
"""With so much in use, the factor is 1."""
PRIOR_UNITS = 10
"""As if so many more were there, and neutrally used: of three cards, one more in use says little about a market."""
HALF_LIFE_SECONDS = 900.0
PACE_PER_HOUR = 0.4
"""The factor moves by at most so much in an hour."""
LONGEST_STEP_SECONDS = 300.0
"""What happened while the hub did not look is not known: a long absence counts as a short one."""
STEP_MILLIS = 10
"""Published in hundredths, so that asks change when there is something to tell."""
STAY_MILLIS = 6
"""More than half a step away, before another hundredth is published: no flapping between two."""

CPU = "cpu"
"""The tier of work without a GPU."""


class Segment(NamedTuple):
    """A market of its own: what is in one can replace each other."""

    tier: str
    """`cpu`, or the multiplier of a kind of card, such as `3.0`."""
    region: str
    simulated: bool = False
    """Nodes that only pretend are a world of their own, and move no real price."""


class Use(NamedTuple):
    """Of one segment, now: GPUs, or for `cpu` thousandths of a core."""

    busy: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Bounds:
    least_millis: int = 500
    most_millis: int = 2000


@dataclass(frozen=True, slots=True)
class Spot:
    level: float = 1.0
    """Where it is, unrounded."""
    use: float = NEUTRAL_USE
    """Smoothed."""
    published_millis: int = MILLI

    def step(self, now: Use, seconds: float, bounds: Bounds, prior_units: int = PRIOR_UNITS) -> "Spot":
        """What it is `seconds` later, with so much in use meanwhile. A clock that went back stands still."""
        seconds = min(max(seconds, 0.0), LONGEST_STEP_SECONDS)
        use_now = (max(now.busy, 0) + prior_units * NEUTRAL_USE) / (max(now.total, now.busy, 0) + prior_units)
        use = use_now + (self.use - use_now) * exp2(-seconds / HALF_LIFE_SECONDS)
        pace = PACE_PER_HOUR * seconds / 3600
        target = target_of(use, bounds)
        level = min(max(target, self.level - pace), self.level + pace)
        level = min(max(level, bounds.least_millis / MILLI), bounds.most_millis / MILLI)
        return replace(self, level=level, use=use, published_millis=_published(level, self.published_millis, bounds))


def target_of(use: float, bounds: Bounds) -> float:
    """From the lower bound for what is idle, through 1 at neutral use, to the upper bound for what is all in use."""
    least, most = bounds.least_millis / MILLI, bounds.most_millis / MILLI
    if use <= NEUTRAL_USE:
        return least + (1 - least) * use / NEUTRAL_USE
    return 1 + (most - 1) * (use - NEUTRAL_USE) / (1 - NEUTRAL_USE)


def _published(level: float, before_millis: int, bounds: Bounds) -> int:
    exact = level * MILLI
    if abs(exact - before_millis) > STAY_MILLIS:
        before_millis = round(exact / STEP_MILLIS) * STEP_MILLIS
    return min(max(before_millis, bounds.least_millis), bounds.most_millis)


def restored(level_millis: int, use_millis: int, published_millis: int, bounds: Bounds) -> Spot:
    """As it was when it was last written down, within what the bounds are now."""
    level = min(max(level_millis, bounds.least_millis), bounds.most_millis)
    published = min(max(published_millis, bounds.least_millis), bounds.most_millis)
    return Spot(level / MILLI, use_millis / MILLI, published)
