"""Spans of time, for people."""


def for_people(seconds: float) -> str:
    """`3 minutes`, `1 hour`, `a moment`."""
    if seconds < 2:
        return "a moment"
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        # One unit, rounded down: 119 minutes are an hour ago, 20 hours are not a day.
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {word}{'' if count == 1 else 's'}"
    return "a moment"
