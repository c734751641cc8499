"""Nodes that decline what they are offered are asked again later, each time twice as late. Pure.

A node may decline for good reasons: its owner is back, a rule has just changed. So declining moves no reliability. What
is declined while the node is not asked was offered before, and counts once with the decline that closed it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

FIRST = timedelta(seconds=10)
LONGEST = timedelta(minutes=15)
FORGOTTEN_AFTER = timedelta(days=1)
"""Without another one, the next decline is a first one again."""


@dataclass(frozen=True, slots=True)
class Declines:
    count: int = 0
    """Since the last attempt that was ok."""
    until: datetime | None = None
    """It is offered no stranger's slice before that."""


NO_DECLINES = Declines()


def after_decline(declines: Declines, at: datetime) -> Declines:
    if declines.until is None or at - declines.until > FORGOTTEN_AFTER:
        return Declines(1, at + length(1))
    if at < declines.until:
        return declines
    return Declines(declines.count + 1, at + length(declines.count + 1))


def length(count: int) -> timedelta:
    """How long it is not asked after so many, from 1."""
    doublings = min(max(count, 1) - 1, 20)
    return min(FIRST * (1 << doublings), LONGEST)


def not_asked_until(declines: Declines, now: datetime) -> datetime | None:
    """None while it may be offered something. However the clock jumped, never for longer than the longest."""
    if declines.until is None or declines.until <= now:
        return None
    return min(declines.until, now + LONGEST)


def in_words(declines: Declines, now: datetime) -> str:
    """For the node's owner; empty while it is asked."""
    until = not_asked_until(declines, now)
    if until is None:
        return ""
    often = "the last offer" if declines.count == 1 else f"offers {declines.count} times in a row"
    return f"It declined {often}: it is offered work of others again at {until:%H:%M:%S} UTC. Its log says why."
