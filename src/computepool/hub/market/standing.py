"""What is known of a node's past, as far as matching asks for it. Reputation works it out."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Standing:
    mean: float
    """Of its reliability: what people are shown."""
    lower: float
    """Its 5 % lower bound: what nodes are ranked by, and what `min_reliability` asks for."""
    has_record: bool = False
    """False for a node that nobody can say anything about yet."""
    verified: bool = False
    quarantined_until: datetime | None = None
    """It failed again and again. Until then it gets no strangers' work, then one probe."""
    may_judge: bool = False
    """Its results were found right, ten times or more and never wrong: they can prove another's wrong."""
    slots: int | None = None
    """Strangers' slices that it gets at once: one while it is probed, fewer than it claims if it broke with more."""
    declined_until: datetime | None = None
    """It declined what it was offered: it gets no strangers' work before that."""
    ok_count: int = 0
    """Strangers' attempts that were ok, ever."""
    marked: bool = False
    """The operator has checked its owner."""


NEWCOMER = Standing(mean=0.6, lower=0.249)
"""Beta(3, 2), as every node begins."""
