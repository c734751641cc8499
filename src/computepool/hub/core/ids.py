"""Ids carry their kind and sort by age: `job_01k9…`, a ULID in lower case."""

from collections.abc import Callable
from datetime import datetime

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_RANDOM_BITS = 80

RandomBits = Callable[[int], int]
"""`secrets.randbits`, or a seeded generator's `getrandbits`."""


def new_id(kind: str, now: datetime, randbits: RandomBits) -> str:
    value = (int(now.timestamp() * 1000) << _RANDOM_BITS) | randbits(_RANDOM_BITS)
    letters = [_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5)]
    return f"{kind}_{''.join(letters)}"
