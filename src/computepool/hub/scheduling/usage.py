"""How much of the pool each renter has had lately. It decides between renters whose turn it is.

Use is what was occupied of other people's nodes, times the seconds for which it was, and is forgotten by half in every
half-life. Cores and GPUs are on one scale. What runs grows by itself between two looks, exactly: an occupied rate r
becomes `a(t) = a(0) d + r h (1 - d) / ln 2`, with `d = 2^(-t/h)`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import log

from computepool.hub.market.requirements import MILLI, Requirements

GPU_MILLIS = 10 * MILLI
"""One GPU counts as ten cores: the market's tiers give the least of them 1.0, and eight cores 0.8."""
AHEAD_SECONDS = 600.0
"""What runs counts as if it had run for so much longer. Without it, whoever has used nothing yet would take every slot
that is free at one moment."""


def weight_of(needs: Requirements) -> int:
    """What a slice occupies, in thousandths of a core."""
    return needs.cpu_millis + needs.gpu_count * GPU_MILLIS


@dataclass(frozen=True, slots=True)
class Past:
    """An attempt that is over: how long ago it began and ended, in seconds."""

    owner_id: str
    weight: int
    began_ago: float
    ended_ago: float


@dataclass(slots=True)
class _Account:
    amount: float = 0.0
    at: float = 0.0
    rate: int = 0


class Usage:
    def __init__(self, half_life_seconds: float) -> None:
        self._half_life = half_life_seconds
        self._accounts: dict[str, _Account] = {}

    def begin(self, owner_id: str, weight: int, now: float) -> None:
        self._settle(owner_id, now).rate += weight

    def end(self, owner_id: str, weight: int, now: float) -> None:
        self._settle(owner_id, now).rate -= weight

    def remember(self, past: Iterable[Past], now: float) -> None:
        """What was used before the hub started."""
        for one in past:
            kept = self._left_of(max(0.0, one.ended_ago)) - self._left_of(max(one.began_ago, one.ended_ago, 0.0))
            self._settle(one.owner_id, now).amount += one.weight * self._longest * kept

    def of(self, owner_id: str, now: float) -> float:
        """In thousandths of a core, times seconds."""
        account = self._accounts.get(owner_id)
        return 0.0 if account is None else self._amount(account, now)

    def standing(self, owner_id: str, now: float) -> float:
        """Whoever has the least of it is next."""
        account = self._accounts.get(owner_id)
        return 0.0 if account is None else self._amount(account, now) + account.rate * AHEAD_SECONDS

    @property
    def _longest(self) -> float:
        """What one that runs for ever comes to, for each unit of its rate."""
        return self._half_life / log(2)

    def _left_of(self, seconds: float) -> float:
        return float(2.0 ** (-seconds / self._half_life))

    def _amount(self, account: _Account, now: float) -> float:
        left = self._left_of(max(0.0, now - account.at))
        return account.amount * left + account.rate * self._longest * (1.0 - left)

    def _settle(self, owner_id: str, now: float) -> _Account:
        account = self._accounts.get(owner_id)
        if account is None:
            account = self._accounts[owner_id] = _Account(at=now)
        account.amount, account.at = self._amount(account, now), max(account.at, now)
        return account
