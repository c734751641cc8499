"""How long a node was there, by day, from its coming and going alone: heartbeats write nothing. Pure."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta

WINDOW = timedelta(days=30)


def add_stretch(days: Mapping[str, float], start: datetime, end: datetime) -> dict[str, float]:
    """Seconds of each day (UTC), with those between `start` and `end`; days before the window are forgotten."""
    found = dict(days)
    here = max(start, end - WINDOW - timedelta(days=1))
    while here < end:
        midnight = datetime.combine(here.astimezone(UTC).date() + timedelta(days=1), time(), tzinfo=UTC)
        until, day = min(midnight, end), here.astimezone(UTC).date().isoformat()
        found[day] = min(86_400.0, found.get(day, 0.0) + (until - here).total_seconds())
        here = until
    oldest = (end - WINDOW).astimezone(UTC).date().isoformat()
    return {day: seconds for day, seconds in found.items() if day >= oldest}


def by_day(
    days: Mapping[str, float], online_since: datetime | None, first_seen: datetime, now: datetime
) -> dict[date, float]:
    """The share of each of the last 30 days that it was there, the oldest first; of its first day and of today, of the
    part that it could have been."""
    known = add_stretch(days, online_since, now) if online_since is not None else dict(days)
    start, found = max(first_seen, now - WINDOW + timedelta(days=1)).astimezone(UTC), {}
    for number in range((now.astimezone(UTC).date() - start.date()).days + 1):
        day = start.date() + timedelta(days=number)
        midnight = datetime.combine(day, time(), tzinfo=UTC)
        possible = (min(now, midnight + timedelta(days=1)) - max(midnight, first_seen)).total_seconds()
        found[day] = min(1.0, known.get(day.isoformat(), 0.0) / possible) if possible > 0 else 0.0
    return found


def share(days: Mapping[str, float], online_since: datetime | None, first_seen: datetime, now: datetime) -> float:
    """Of the last 30 days, or of its life if that is shorter. The first day of the window counts in part."""
    known = add_stretch(days, online_since, now) if online_since is not None else dict(days)
    start = max(first_seen, now - WINDOW)
    possible = (now - start).total_seconds()
    if possible <= 0:
        return 0.0
    first = start.astimezone(UTC).date().isoformat()
    midnight = datetime.combine(start.astimezone(UTC).date(), time(), tzinfo=UTC)
    part = 1.0 - (start - midnight).total_seconds() / 86_400.0
    seconds = 0.0
    for day, worth in known.items():
        if day > first:
            seconds += worth
        elif day == first:
            # A node's first day is all its own; of the window's first day only the part that is in it counts.
            seconds += worth if first_seen > now - WINDOW else worth * part
    return min(1.0, seconds / possible)
