"""How long to wait before the next try: quickly at first, then ever longer, never all agents at once."""

import random

FIRST_SECONDS = 0.25
GROWTH = 2.0


def reconnect_delay_seconds(failures: int, limit_seconds: float, rng: random.Random) -> float:
    """`failures` counts tries since the last good session. The first retry comes within a quarter of a second, so
    that a restart of the hub is hardly noticed; the limit is never passed."""
    longest = min(limit_seconds, FIRST_SECONDS * GROWTH ** min(max(failures - 1, 0), 30))
    return longest * rng.uniform(0.5, 1.0)
