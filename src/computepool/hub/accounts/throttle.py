"""Slows down whoever guesses: after some free tries each further one waits twice as long. In memory only."""

import math
from collections import OrderedDict
from dataclasses import dataclass

from computepool.hub.accounts.errors import TooManyTries
from computepool.hub.core.clock import Clock

REMEMBERED = 20_000
"""Most guessers that are remembered; the one not seen for longest is forgotten."""


@dataclass(frozen=True)
class Limit:
    name: str
    free: int
    """Tries before the first wait, which is a second."""
    longest_wait_seconds: int
    forgiven_every_seconds: int
    """One try is forgotten each time so long has passed."""


PER_EMAIL = Limit("email", free=5, longest_wait_seconds=300, forgiven_every_seconds=300)
PER_ADDRESS = Limit("address", free=50, longest_wait_seconds=300, forgiven_every_seconds=20)
PER_APPROVER = Limit("approver", free=10, longest_wait_seconds=300, forgiven_every_seconds=60)
NEW_ACCOUNTS = Limit("new accounts", free=100, longest_wait_seconds=60, forgiven_every_seconds=20)
NEW_DEVICES = Limit("new devices", free=100, longest_wait_seconds=60, forgiven_every_seconds=5)

Key = tuple[Limit, str]


@dataclass
class _Tries:
    count: float
    seen_at: float
    wait_until: float = -math.inf


class Throttle:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tries: OrderedDict[Key, _Tries] = OrderedDict()

    def begin(self, *keys: Key) -> None:
        """Count a try, before its outcome is known: a hundred at once must not all pass. Raise if it has to wait."""
        now = self._clock.monotonic()
        tries = [self._current(key, now) for key in keys]
        wait_seconds = max(each.wait_until for each in tries) - now
        if wait_seconds > 0:
            raise TooManyTries(math.ceil(wait_seconds))
        for (limit, _), each in zip(keys, tries, strict=True):
            each.count += 1
            beyond = each.count - limit.free
            if beyond >= 0:
                each.wait_until = now + min(2 ** min(beyond, 30), limit.longest_wait_seconds)

    def succeeded(self, *keys: Key) -> None:
        """The try was honest: an email starts anew, an address, which many share, gets this one back."""
        now = self._clock.monotonic()
        for key in keys:
            tries = self._current(key, now)
            tries.count = 0 if key[0] is PER_EMAIL else max(0, tries.count - 1)
            tries.wait_until = now

    def _current(self, key: Key, now: float) -> _Tries:
        tries = self._tries.get(key)
        if tries is None:
            tries = self._tries[key] = _Tries(0, now)
            if len(self._tries) > REMEMBERED:
                self._tries.popitem(last=False)
        else:
            self._tries.move_to_end(key)
        tries.count = max(0.0, tries.count - (now - tries.seen_at) / key[0].forgiven_every_seconds)
        tries.seen_at = now
        return tries
