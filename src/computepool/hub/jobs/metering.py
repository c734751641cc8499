"""How long an attempt ran, as it is billed. Pure.

The lesser of what its node claims and of the hub's clock from running to exit counts, without the time in which it was
suspended or its power was capped. `setup` is billed; waiting, fetching and uploading are not, except where the attempt
ended because what its spec named came too slowly. A begun second counts.
"""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from computepool.hub.ledger.settlement import Basis
from computepool.protocol.receipt import EndReason
from computepool.protocol.timing import FETCH_SECONDS

PREPARING_SECONDS = 60
"""What canceling an attempt costs at most whose command did not run yet."""
PREPARING_LIMITS: dict[str, int] = {EndReason.CANCELED: PREPARING_SECONDS, EndReason.SLOW_INPUT: int(FETCH_SECONDS)}
"""By the reason of its end, the most that is billed of an attempt whose command did not run; nothing for others."""


@dataclass(frozen=True, slots=True)
class Meter:
    hub_seconds: float = 0.0
    """From running to exit, without what the hub knows that it rested."""
    claimed_seconds: float | None = None
    """By the node's receipt: from the command's start to its exit, without rest. None if there is none."""
    suspended_seconds: float = 0.0
    """Claimed, and in neither of the two above."""
    capped_seconds: float = 0.0
    saved_seconds: float | None = None
    """When its last checkpoint was taken, as its node says; None if it saved none."""
    preparing_seconds: float = 0.0
    """Of one that ended before it ran, for one of the reasons in `PREPARING_LIMITS`."""
    preparing_limit_seconds: int = PREPARING_SECONDS

    def billed(self, basis: Basis, most: int) -> int:
        """Whole seconds, of the whole attempt, instalments included."""
        if self.preparing_seconds:
            return min(self.preparing_limit_seconds, _whole(self.preparing_seconds), most)
        ran = self.hub_seconds if self.claimed_seconds is None else min(self.claimed_seconds, self.hub_seconds)
        metered = min(_whole(ran - self.capped_seconds), most)
        if basis is Basis.METERED:
            return metered
        return min(metered, _whole(self.saved_seconds or 0.0))

    def in_figures(self) -> dict[str, Any]:
        """As `explain` shows it."""
        return {
            "hub": round(self.hub_seconds, 3),
            "claimed": None if self.claimed_seconds is None else round(self.claimed_seconds, 3),
            "suspended": round(self.suspended_seconds, 3),
            "capped": round(self.capped_seconds, 3),
            "saved": None if self.saved_seconds is None else round(self.saved_seconds, 3),
            "preparing": round(self.preparing_seconds, 3),
        }


def hub_seconds(
    started_at: datetime | None,
    exited_at: datetime | None,
    rested_since: datetime | None,
    rested_seconds: float,
    now: datetime,
) -> float:
    """On the hub's clock, from running to exit, without the time in which it was known to rest."""
    if started_at is None:
        return 0.0
    end = exited_at or now
    resting = _seconds(end, rested_since) if rested_since is not None else 0.0
    return max(0.0, _seconds(end, started_at) - rested_seconds - resting)


def rest_of(rested_since: datetime | None, rested_seconds: float, now: datetime, *, rests: bool) -> dict[str, Any]:
    """What changes of the hub's own count of the time in which the machine's owner needed it."""
    if rests:
        return {"rested_since": now} if rested_since is None else {}
    if rested_since is None:
        return {}
    return {"rested_since": None, "rested_seconds": rested_seconds + _seconds(now, rested_since)}


def honest(claimed: float) -> float:
    """What a node says may be any number."""
    return claimed if math.isfinite(claimed) and claimed > 0 else 0.0


def _seconds(later: datetime, earlier: datetime) -> float:
    return max(0.0, (later - earlier).total_seconds())


def _whole(seconds: float) -> int:
    return max(0, math.ceil(seconds - 1e-6))
