"""Hours of the week, as people write them: `mon-fri 22:00-07:00, sat-sun`.

In local time. A span that passes midnight belongs to the day on which it begins. What counts is what the clock on the
wall shows, so that 22:00 is 22:00 in summer and in winter.
"""

import functools
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

from computepool.protocol.units import BadValueError, nearest, short_repr

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_MINUTES = 24 * 60
EXAMPLES = '"always", "22:00-07:00" or "mon-fri 22:00-07:00, sat-sun"'
MOST_SPANS = 50
AHEAD_DAYS = 8

_TIMES = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})")
_DAYS = re.compile(r"([a-z]+)(?:\s*-\s*([a-z]+))?")


@dataclass(frozen=True)
class Span:
    """On these days (0 is Monday), from a minute of the day; an end beyond 24:00 lies on the day after."""

    days: tuple[int, ...]
    start_minute: int
    end_minute: int


@dataclass(frozen=True)
class Hours:
    """Without spans: always."""

    spans: tuple[Span, ...] = ()
    text: str = "always"

    def are_open(self, instant: datetime, zone: tzinfo | None = None) -> bool:
        """`zone` None is this machine's own."""
        if not self.spans:
            return True
        local = instant.astimezone(zone)
        minute = local.hour * 60 + local.minute
        today = local.weekday()
        for span in self.spans:
            if today in span.days and span.start_minute <= minute < span.end_minute:
                return True
            if (today - 1) % 7 in span.days and minute + DAY_MINUTES < span.end_minute:
                return True
        return False

    def next_change(self, instant: datetime, zone: tzinfo | None = None) -> datetime | None:
        """When they open if they are closed, and the other way round; None for never."""
        if not self.spans:
            return None
        # Asked twice a second, and nothing happens within a minute.
        return _next_change(self, instant.astimezone(UTC).replace(second=0, microsecond=0), zone)

    def candidates(self, instant: datetime, zone: tzinfo | None) -> list[datetime]:
        """Every moment in the next days at which something might change.

        An hour that the clocks skip, or show twice, may hold one end of a span: the moments at which clocks are
        changed are whole half hours nearby.
        """
        first = instant.astimezone(zone).date() - timedelta(days=1)
        minutes = {minute for span in self.spans for minute in (span.start_minute, span.end_minute)}
        found: set[datetime] = set()
        for ahead in range(AHEAD_DAYS + 2):
            for minute in minutes:
                for fold in (0, 1):
                    exact = _instant_of(first + timedelta(days=ahead), minute, zone, fold)
                    found.add(exact)
                    hour = exact.replace(minute=0, second=0)
                    found.update(hour + timedelta(minutes=30 * step) for step in range(-3, 5))
        return sorted(found)


@functools.lru_cache(maxsize=64)
def _next_change(hours: Hours, minute: datetime, zone: tzinfo | None) -> datetime | None:
    now_open = hours.are_open(minute, zone)
    for candidate in hours.candidates(minute, zone):
        if candidate > minute and hours.are_open(candidate, zone) != now_open:
            return candidate
    return None


def _instant_of(day: date, minute: int, zone: tzinfo | None, fold: int) -> datetime:
    midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - what the clock on the wall shows, on purpose
    local = (midnight + timedelta(minutes=minute)).replace(tzinfo=zone, fold=fold)
    return local.astimezone(UTC)


def parse_hours(value: object) -> Hours:
    if isinstance(value, Hours):
        return value
    if not isinstance(value, str):
        raise BadValueError(f"{short_repr(value)} are not hours", f"write them like {EXAMPLES}")
    text = " ".join(value.lower().split())
    if text == "always":
        return Hours()
    items = [item.strip() for item in text.split(",")]
    if len(items) > MOST_SPANS:
        raise BadValueError(f"{len(items)} spans of hours are too many", f"at most {MOST_SPANS}")
    return Hours(tuple(_span(item, value) for item in items), ", ".join(items))


def _span(item: str, value: str) -> Span:
    hint = f"write them like {EXAMPLES}"
    if not item:
        raise BadValueError(f"{short_repr(value)} has an empty part", hint)
    times = _TIMES.search(item)
    days_text = item[: times.start()].strip() if times else item
    if times and item[times.end() :].strip():
        raise BadValueError(f"{short_repr(item)} goes on after its times", hint)
    days = _days(days_text, hint) if days_text else tuple(range(7))
    if not times:
        return Span(days, 0, DAY_MINUTES)
    start, end = _minute(times[1], times[2], item, hint), _minute(times[3], times[4], item, hint)
    if start in (DAY_MINUTES, end):
        raise BadValueError(f"{short_repr(item)} lasts no time", hint)
    return Span(days, start, end if end > start else end + DAY_MINUTES)


def _minute(hours: str, minutes: str, item: str, hint: str) -> int:
    minute = int(hours) * 60 + int(minutes)
    if int(minutes) > 59 or minute > DAY_MINUTES:
        raise BadValueError(f"{short_repr(item)} has a time that no clock shows", hint)
    return minute


def _days(text: str, hint: str) -> tuple[int, ...]:
    if text in {"daily", "every day"}:
        return tuple(range(7))
    found = _DAYS.fullmatch(text)
    if found is None:
        raise BadValueError(f"{short_repr(text)} are not days", hint)
    first = _day(found[1], hint)
    last = _day(found[2], hint) if found[2] else first
    return tuple((first + step) % 7 for step in range((last - first) % 7 + 1))


def _day(word: str, hint: str) -> int:
    if word[:3] in DAYS and _FULL_DAYS[DAYS.index(word[:3])].startswith(word):
        return DAYS.index(word[:3])
    meant = nearest(word, (*DAYS, *_FULL_DAYS))
    raise BadValueError(f"{short_repr(word)} is not a day", f"did you mean {meant}?" if meant else hint)


_FULL_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
