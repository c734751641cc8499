"""How reliable a node is: Beta(3, 2), moved by what became of strangers' attempts, forgetting with a half-life. Pure.

An owner's own jobs count for nothing, in either direction: nobody builds a record by working for themselves.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from computepool.hub.reputation.beta import quantile
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import Verdict

PRIOR_GOOD, PRIOR_BAD = 3.0, 2.0
HALF_LIFE = timedelta(days=30)
LOWER_TAIL = 0.05
"""Nodes are ranked by what they are at least, at these odds of being worse."""

WEIGHTS: dict[Verdict, float] = {
    Verdict.OK: 1.0,
    Verdict.RENTER: 0.0,
    Verdict.HOST: -4.0,
    Verdict.OWNER: -1.0,
    Verdict.PREEMPTED: 0.0,
    Verdict.HUB: 0.0,
    Verdict.BUDGET: 0.0,
}
OWNER_WITH_CHECKPOINT = -0.25


def weight_of(verdict: Verdict, reason: str, *, saved: bool) -> float:
    """`saved`: the attempt left a checkpoint. One that was declined before it began has cost nobody anything."""
    if verdict is Verdict.OWNER:
        if reason == EndReason.DECLINED:
            return 0.0
        return OWNER_WITH_CHECKPOINT if saved else WEIGHTS[verdict]
    return WEIGHTS[verdict]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the events so far add to the prior, as it was worth at `as_of`."""

    good: float
    bad: float
    as_of: datetime

    def at(self, now: datetime, half_life: timedelta) -> "Evidence":
        """Worth so much now. A clock that went back changes nothing until it has caught up."""
        if now <= self.as_of:
            return self
        left = decay(now - self.as_of, half_life)
        return Evidence(self.good * left, self.bad * left, now)

    def moved(self, weight: float, now: datetime, half_life: timedelta) -> "Evidence":
        here = self.at(now, half_life)
        if weight >= 0:
            return Evidence(here.good + weight, here.bad, here.as_of)
        return Evidence(here.good, here.bad - weight, here.as_of)

    def without(self, weight: float, counted_at: datetime, half_life: timedelta) -> "Evidence":
        """As if that had never been counted: what is left of it is taken off."""
        left = abs(weight) * decay(self.as_of - counted_at, half_life)
        if weight >= 0:
            return Evidence(max(0.0, self.good - left), self.bad, self.as_of)
        return Evidence(self.good, max(0.0, self.bad - left), self.as_of)

    @property
    def total(self) -> float:
        return self.good + self.bad

    @property
    def mean(self) -> float:
        return (PRIOR_GOOD + self.good) / (PRIOR_GOOD + PRIOR_BAD + self.total)

    @property
    def lower(self) -> float:
        return quantile(LOWER_TAIL, PRIOR_GOOD + self.good, PRIOR_BAD + self.bad)


def decay(elapsed: timedelta, half_life: timedelta) -> float:
    return float(0.5 ** (max(elapsed, timedelta()) / half_life))
