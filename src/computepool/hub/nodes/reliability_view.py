"""What a node's owner sees of its past. Reputation fills it in."""

from collections.abc import Callable, Sequence
from datetime import datetime

from pydantic import BaseModel
from sqlalchemy.orm import Session

from computepool.hub.nodes.tables import Node


class Audited(BaseModel):
    """Results of it that were computed again by others: counted apart, never mixed into reliability."""

    ok: int
    wrong: int


class ReliabilityView(BaseModel):
    mean: float
    """What people are shown."""
    lower: float
    """Its 5 % lower bound: what nodes are ranked by, and what `min_reliability` asks for."""
    has_record: bool
    """False for a node that nobody can say much of yet."""
    ok_attempts: int
    """For others, ever."""
    failures_in_a_row: int
    quarantined_until: datetime | None
    probed: bool
    """Its quarantine is over; it gets one slice of others at a time until one is ok."""
    slots: int | None
    """Slices of others that it gets at once, if it broke with more; None for as many as it claims to hold."""
    declines: int
    """Offers that it declined since the last attempt that was ok; those at the same time count once."""
    declined_until: datetime | None
    """It is offered no work of others before that, because it declined some."""
    tenure_days: float
    uptime_30d: float
    audited: Audited
    verified: bool
    missing_for_verified: list[str]
    notice: str = ""
    """Why it gets less work than it could."""


LookBack = Callable[[Session, Sequence[Node], datetime], dict[str, ReliabilityView]]
"""Each node's past, by its id."""
