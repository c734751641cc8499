"""How fast and how much: every byte of a job passes here before it is passed on."""

import asyncio
from collections.abc import Callable
from typing import Literal

from .allowance import Allowance
from .policy import Refused

Direction = Literal["in", "out"]


class TokenBucket:
    """So many bytes a second over time, with a burst. One for a job, or one shared by all of a host's."""

    def __init__(self, bytes_per_second: float, monotonic: Callable[[], float], *, burst_bytes: int = 1 << 20) -> None:
        self._rate = bytes_per_second
        self._monotonic = monotonic
        self._burst = burst_bytes
        self._level = float(burst_bytes)
        self._at = monotonic()

    async def take(self, count: int) -> None:
        """Wait until these bytes may go. Whoever comes later waits for those before: debts are paid in order."""
        now = self._monotonic()
        self._level = min(self._burst, self._level + (now - self._at) * self._rate) - count
        self._at = now
        if self._level < 0:
            await asyncio.sleep(-self._level / self._rate)


class Meter:
    """Counts one job's bytes: in from the internet, out to it. Raises Refused when it has had its share."""

    def __init__(
        self,
        *,
        cap_bytes: int | None,
        bucket: TokenBucket | None,
        allowance: Allowance | None,
        may_pass: Callable[[], bool] = lambda: True,
    ) -> None:
        """`may_pass` is asked before each piece: what it forbids does not get through, however it was delayed."""
        self._may_pass = may_pass
        self.bytes_in = 0
        self.bytes_out = 0
        self._cap_bytes = cap_bytes
        self._bucket = bucket
        self._allowance = allowance

    def check(self) -> None:
        """Whether there is anything left to begin with."""
        if not self._may_pass():
            raise _without_lease()
        if self._cap_bytes is not None and self.bytes_in + self.bytes_out >= self._cap_bytes:
            raise self._over_cap()
        if self._allowance and self._allowance.left_bytes == 0:
            raise _over_allowance()

    async def count(self, count: int, direction: Direction) -> None:
        if not self._may_pass():
            raise _without_lease()
        if self._cap_bytes is not None and self.bytes_in + self.bytes_out + count > self._cap_bytes:
            # From now on it is used up, also for smaller pieces.
            self._cap_bytes = min(self._cap_bytes, self.bytes_in + self.bytes_out)
            raise self._over_cap()
        if self._allowance and not await self._allowance.take(count):
            raise _over_allowance()
        if direction == "in":
            self.bytes_in += count
        else:
            self.bytes_out += count
        if self._bucket:
            await self._bucket.take(count)

    def _over_cap(self) -> Refused:
        return Refused(
            "job_cap",
            "this job has used the data that one job may use",
            "bring data along as inputs, or use a node that allows more",
        )


def _without_lease() -> Refused:
    return Refused(
        "lease",
        "this attempt has lost its connection to the pool",
        "it goes on when the pool answers again, or on another node",
    )


def _over_allowance() -> Refused:
    return Refused(
        "allowance",
        "this node's data allowance for the month is used up",
        "submit the job to another node, or ask the host to raise it",
    )
