"""Time, passed in. The wall clock of a home computer is not trusted: the hub's is taken at the handshake."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

IGNORED_SECONDS = 0.5


class Clock(Protocol):
    def now(self) -> datetime:
        """This machine's wall clock, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow, and that run on while the machine sleeps."""
        ...


def _elapsed() -> Callable[[], float]:
    # CLOCK_MONOTONIC stands still while Linux sleeps, and runs on (as mach_continuous_time) while macOS does;
    # Windows has no clock_gettime, and its time.monotonic counts sleep.
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):
        clock_id = getattr(time, name, None)
        if clock_id is not None:
            return lambda: time.clock_gettime(clock_id)
    return time.monotonic


_ELAPSED = _elapsed()


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return _ELAPSED()


class HubTime:
    """The hub's wall clock as this node knows it: an instant from the hub, plus what elapsed here since.

    A jump of the local wall clock does not move it. Before the first handshake it is the local clock.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._anchor: tuple[datetime, float] | None = None

    def set(self, hub_time: datetime) -> None:
        # The time on the line makes each reading a little different; following them all, time would run backwards.
        if self._anchor is None or abs((hub_time - self.now()).total_seconds()) > IGNORED_SECONDS:
            self._anchor = (hub_time.astimezone(UTC), self._clock.monotonic())

    @property
    def is_known(self) -> bool:
        return self._anchor is not None

    def now(self) -> datetime:
        if self._anchor is None:
            return self._clock.now()
        instant, at = self._anchor
        return instant + timedelta(seconds=self._clock.monotonic() - at)

    def latest(self) -> datetime:
        """By the later of both clocks: for what has ended, and must not begin again because a hub tells an earlier
        time."""
        return max(self.now(), self._clock.now())

    @property
    def skew_seconds(self) -> float:
        """How far this machine's wall clock is ahead of the hub's."""
        return (self._clock.now() - self.now()).total_seconds()
