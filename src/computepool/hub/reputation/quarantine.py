"""Nodes that fail again and again get no strangers' work for a while, then one slice at a time until one is ok. Pure.

The probe is the next slice that finds its way there, not one of the hub's own: it costs nobody anything extra, a node
cannot tell it apart, and a loss does not use up its renter's retries. The owner's own jobs take no notice of it all.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from computepool.protocol.states import Verdict

FAILURES_IN_A_ROW = 3
FIRST = timedelta(minutes=10)
LONGEST = timedelta(hours=24)
FORGIVEN_AFTER = 10
"""Attempts that were ok, in a row: after that the next quarantine is a first one again."""


@dataclass(frozen=True, slots=True)
class Trouble:
    streak: int = 0
    """Host verdicts since the last attempt that was ok."""
    clean: int = 0
    """Attempts that were ok since the last host verdict."""
    level: int = 0
    """Quarantines that are not forgiven yet."""
    until: datetime | None = None
    """After that it is probed; None again when something was ok."""


NO_TROUBLE = Trouble()


def after(trouble: Trouble, verdict: Verdict, at: datetime) -> Trouble:
    if verdict is Verdict.OK:
        clean = trouble.clean + 1
        return Trouble(clean=clean, level=0 if clean >= FORGIVEN_AFTER else trouble.level)
    if verdict is not Verdict.HOST:
        return trouble
    streak = trouble.streak + 1
    if trouble.until is not None and at < trouble.until:
        # It was given this before the quarantine began: known already.
        return Trouble(streak, 0, trouble.level, trouble.until)
    if trouble.until is None and streak < FAILURES_IN_A_ROW:
        return Trouble(streak, 0, trouble.level)
    level = trouble.level + 1
    return Trouble(streak, 0, level, at + length(level))


def length(level: int) -> timedelta:
    """Of the quarantine of that level, from 1: twice as long each time."""
    doublings = min(max(level, 1) - 1, 20)
    return min(FIRST * (1 << doublings), LONGEST)


def closed_until(trouble: Trouble, now: datetime) -> datetime | None:
    """None while it may be given something. However the clock jumped, never longer than the longest quarantine."""
    if trouble.until is None or trouble.until <= now:
        return None
    return min(trouble.until, now + LONGEST)


def is_probed(trouble: Trouble, now: datetime) -> bool:
    return trouble.until is not None and trouble.until <= now
