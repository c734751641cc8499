"""Ids carry their kind and sort by age: `job_01k9…`, a ULID in lower case."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_RANDOM_BITS = 80

RandomBits = Callable[[int], int]
"""`secrets.randbits`, or a seeded generator's `getrandbits`."""
SLACK = timedelta(hours=1)
"""An id is made a moment before or after its row is dated."""
_EARLIEST, _LATEST = datetime(1970, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


def new_id(kind: str, now: datetime, randbits: RandomBits) -> str:
    value = (int(now.timestamp() * 1000) << _RANDOM_BITS) | randbits(_RANDOM_BITS)
    letters = [_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5)]
    return f"{kind}_{''.join(letters)}"


def first_id(kind: str, instant: datetime, slack: timedelta = timedelta()) -> str:
    """No id that is made at `instant + slack` or later sorts before it. `instant` may be any, as people give it."""
    return new_id(kind, min(max(instant, _EARLIEST), _LATEST) + slack, lambda _bits: 0)
