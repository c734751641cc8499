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
    what: str
    """Of which there were too many."""
    free: int
    """Tries before the first wait."""
    longest_wait_seconds: int
    forgiven_every_seconds: int
    """One try is forgotten each time so long has passed."""
    first_wait_seconds: int = 1


PER_EMAIL = Limit("sign-ins with this email", free=5, longest_wait_seconds=300, forgiven_every_seconds=300)
PER_ADDRESS = Limit("sign-ins from this address", free=50, longest_wait_seconds=300, forgiven_every_seconds=20)
PER_APPROVER = Limit("wrong device codes of this account", free=10, longest_wait_seconds=300, forgiven_every_seconds=60)
PER_CHANGER = Limit(
    "attempts of this account to change its password", free=5, longest_wait_seconds=300, forgiven_every_seconds=300
)
NEW_DEVICES = Limit("device logins from this address", free=100, longest_wait_seconds=60, forgiven_every_seconds=5)

Key = tuple[Limit, str]


def new_accounts(per_hour: int) -> Limit:
    """So many at once from one address, and then one whenever its part of an hour is over."""
    seconds = math.ceil(3600 / per_hour)
    return Limit("new accounts from this address", per_hour, seconds, seconds, first_wait_seconds=seconds)


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
        wait_until, what = max((each.wait_until, limit.what) for (limit, _), each in zip(keys, tries, strict=True))
        if wait_until > now:
            raise TooManyTries(what, math.ceil(wait_until - now))
        for (limit, _), each in zip(keys, tries, strict=True):
            each.count += 1
            beyond = each.count - limit.free
            if beyond >= 0:
                wait_seconds = limit.first_wait_seconds * 2 ** min(beyond, 30)
                each.wait_until = now + min(wait_seconds, limit.longest_wait_seconds)

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
