"""Spans of time, for people."""

UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
NEAR_ENOUGH = 0.05


def for_people(seconds: float) -> str:
    """`3 minutes`, `1 hour`, `a moment`."""
    if seconds < 2:
        return "a moment"
    for size, word in UNITS:
        # One unit, rounded down: 119 minutes are an hour ago, 20 hours are not a day.
        if seconds >= size:
            return _counted(int(seconds // size), word)
    return "a moment"


def still_to_come(seconds: float) -> str:
    """In the largest unit that says it well enough: of a pause of two hours `2 hours` is left, then `105 minutes`."""
    for size, word in UNITS:
        count = round(seconds / size)
        if count and abs(seconds - count * size) <= NEAR_ENOUGH * count * size:
            return _counted(count, word)
    return for_people(seconds)


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
