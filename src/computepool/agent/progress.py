"""How a long fetch is going, in the job's log: nothing for what is quick, a line now and then for what is not."""

from collections.abc import Callable

from computepool.agent.clock import Clock
from computepool.protocol.units import about_bytes

FIRST_SECONDS = 3.0
NEXT_SECONDS = 10.0


class Progress:
    def __init__(self, clock: Clock, say: Callable[[str], None]) -> None:
        self._clock = clock
        self._say = say
        self._due = clock.monotonic() + FIRST_SECONDS
        self._said = False

    def bytes(self, what: str, have: int, total: int | None) -> None:
        """`total` is None where nobody knows how much will come."""
        self.line(f"{what}: {about_bytes(have)}" + (f" of {about_bytes(total)}" if total is not None else ""))

    def line(self, text: str) -> None:
        if self._clock.monotonic() >= self._due:
            self._due = self._clock.monotonic() + NEXT_SECONDS
            self._said = True
            self._say(text)

    def done(self, text: str) -> None:
        """Said only to whoever was kept waiting."""
        if self._said:
            self._say(text)
