"""The months and years of statements, in UTC."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from computepool.hub.core.errors import Invalid

_SHAPE = re.compile(r"(20[0-9]{2})(?:-(0[1-9]|1[0-2]))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Period:
    name: str
    """`2026` or `2026-11`."""
    start: datetime
    end: datetime
    """Itself not included."""

    def check_begun(self, now: datetime) -> None:
        if now < self.start:
            raise Invalid(
                f"{self.name} has not begun.", hint=f"Such as {now:%Y-%m}, or {now:%Y}: what began goes up to now."
            )


def parse_period(text: str) -> Period:
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise Invalid("A statement is for a month or a year.", hint="Such as 2026-11, or 2026.")
    year, month = int(found[1]), int(found[2]) if found[2] else None
    if month is None:
        return Period(text, _first(year, 1), _first(year + 1, 1))
    return Period(text, _first(year, month), _first(year + month // 12, month % 12 + 1))


def month_of(at: datetime) -> Period:
    return parse_period(f"{at.astimezone(UTC):%Y-%m}")


def _first(year: int, month: int) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC)
