"""What the platform pays for a check: never more than the checked slice paid its host, in the same kind of credit.

All nodes that one check asks share that amount, and all checks of a day share a budget. A check that an operator starts
by hand uses the budget and is never refused by it. Otherwise a person who runs a
slice for nothing on one node of their own, and its audits on others, makes credits out of nothing. Only for a slice
that an operator chose, which may have run for free on the operator's own node, is it the renter's ceiling instead.
"""

import math
from datetime import datetime

from sqlalchemy.orm import Session

from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.ledger.settlement import Share, cost_of
from computepool.hub.trust import repository
from computepool.hub.trust.consequences import Means
from computepool.hub.trust.tables import Check

PRICE_FACTOR = 2
"""A node that asks for more than so many times the hourly price of the checked attempt is not asked to check it: it
would earn too little."""


def reserve(session: Session, subsidy: Share, now: datetime, means: Means) -> bool:
    """Take what a check may cost from the day's budget, right before the check begins. False: too little is left."""
    return not subsidy.total or repository.reserve_subsidy(session, subsidy.total, means.subsidy_per_day, now)


def subsidy_left(session: Session, check: Check) -> Share:
    """What the next node that it asks earns at most. Promotional credit is used up first."""
    earned = repository.earned_by_check(session, check)
    promotional = min(earned, check.promotional_micros)
    return Share(check.promotional_micros - promotional, max(0, check.real_micros - (earned - promotional)))


def max_price(attempt: Attempt) -> int:
    return PRICE_FACTOR * (attempt.price_micros or 0)


def chosen_by_operator(root: Job, seconds: float) -> Share:
    """For a slice that ran so long."""
    return Share(real=cost_of(root.ceiling_micros or 0, math.ceil(seconds)))
