"""What a node that was proven wrong gives back, and what cannot be cashed out before that could happen. Pure.

Nobody knows which of its unaudited results were wrong too, so all recent ones count as wrong. An audit that found it
right speaks for what came before: that is the host's, after the days in which it may be disputed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

LONGEST = timedelta(days=30)
"""Older earnings are the host's, audited or not: a pool without deterministic work must pay too."""
SHORTEST = timedelta(days=7)
"""What is newer is never cashed out, and is given back whatever was audited in between."""


@dataclass(frozen=True, slots=True)
class Earning:
    attempt_id: str
    at: datetime
    micros: int
    audited: bool = False
    """This very result was found valid: it was earned."""
    taken: bool = False
    """An earlier finding takes it back already: this one only counts if that does not last."""


def since(last_valid_at: datetime | None, now: datetime) -> datetime:
    """Where the time begins whose unaudited earnings are given back."""
    recent = now - SHORTEST
    if last_valid_at is not None:
        recent = min(recent, last_valid_at)
    else:
        recent = now - LONGEST
    return max(recent, now - LONGEST)


def given_back(earnings: Iterable[Earning], last_valid_at: datetime | None, now: datetime) -> list[Earning]:
    start = since(last_valid_at, now)
    return [one for one in earnings if one.at >= start and not one.audited and one.micros > 0]


def is_safe(earning: Earning, last_valid_at: datetime | None, now: datetime) -> bool:
    """It can be cashed out: nothing that is found now would take it back."""
    return earning.at < since(last_valid_at, now) or (earning.audited and now - earning.at >= SHORTEST)
