"""What a lease locks beside its price: whatever the operator changes later, an attempt is settled as it was agreed."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from computepool.hub.core.owners import PLATFORM
from computepool.hub.core.settings import Settings
from computepool.hub.jobs.brief import JobBrief
from computepool.hub.ledger.settlement import Share, cost_of, seconds_for
from computepool.protocol.timing import EVICT_GRACE_SECONDS

INSTALMENT_SECONDS = 3600
GRACE_SECONDS = int(EVICT_GRACE_SECONDS) + 90
"""An instalment is over so long before its hold is: enough to notice it, and for a job to save its work and leave."""
HOLD_SECONDS = INSTALMENT_SECONDS + GRACE_SECONDS
"""The longest that one hold is for."""
LEAST_SECONDS = GRACE_SECONDS + 60
"""What is held for less is not worth a start."""


@dataclass(frozen=True, slots=True)
class Terms:
    host_id: str
    """The node's owner, who is paid."""
    fee_bps: int
    refund_failed: bool
    max_seconds: int
    """No attempt is billed for more."""
    slice_micros: int | None
    """What all attempts of the slice may cost together: its ceiling for as long as it may run."""
    job_micros: int | None
    """The same for all slices, if the renter said so: the spec's `budget`."""
    promotional_micros: int = 0
    """Of a job of the platform: what all of its attempts earn their hosts at most, in promotional credit ..."""
    real_micros: int = 0
    """... and in credit that can be cashed out."""

    @property
    def subsidy(self) -> Share:
        return Share(self.promotional_micros, self.real_micros)

    def to_wire(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def of(wire: Mapping[str, Any] | None) -> "Terms | None":
        return None if wire is None else Terms(**wire)


def terms_of(settings: Settings, brief: JobBrief, host_id: str, price_micros: int) -> Terms | None:
    """None where nothing is paid: on one's own nodes, and on those that ask for nothing."""
    if not price_micros:
        return None
    seconds, ceiling = max_seconds_of(brief), brief.requirements.max_price_micros
    is_platforms = brief.owner_id == PLATFORM
    return Terms(
        host_id=host_id,
        fee_bps=settings.platform_fee_bps,
        refund_failed=settings.refund_failed_jobs,
        max_seconds=seconds,
        slice_micros=None if is_platforms or ceiling is None else cost_of(ceiling, seconds),
        job_micros=None if is_platforms else brief.budget_micros,
        promotional_micros=brief.subsidy.promotional,
        real_micros=brief.subsidy.real,
    )


def unbilled_micros(terms: Terms | None, price_micros: int | None, ran_seconds: float, settled_seconds: int) -> int:
    """About what a running attempt cost its payer since it was last billed, fee included."""
    if terms is None or not price_micros:
        return 0
    return cost_of(price_micros, max(0, int(min(ran_seconds, terms.max_seconds)) - settled_seconds))


def max_seconds_of(brief: JobBrief) -> int:
    return max(1, math.ceil(brief.max_runtime_seconds))


@dataclass(frozen=True, slots=True)
class Part:
    """What is held next."""

    micros: int
    seconds: int
    is_last: bool


def first_part(price_micros: int, max_seconds: int) -> Part:
    return _part(price_micros, max_seconds, None)


def next_part(price_micros: int, max_seconds: int, settled_seconds: int, left_micros: int | None) -> Part | None:
    """For what may still come, within what is left of the budgets. None if that is not worth it."""
    still = max(0, max_seconds - settled_seconds)
    part = _part(price_micros, still, left_micros)
    return part if part.micros and part.seconds >= min(still, LEAST_SECONDS) else None


def least_to_begin(price_micros: int, max_seconds: int) -> int:
    """What budgets must have left for a slice to begin at that price of an hour: with less there is no next part."""
    return cost_of(price_micros, min(max_seconds, LEAST_SECONDS))


def _part(price_micros: int, still: int, left_micros: int | None) -> Part:
    seconds = min(still, HOLD_SECONDS)
    if left_micros is not None and cost_of(price_micros, seconds) > left_micros:
        seconds = seconds_for(max(0, left_micros), price_micros)
    return Part(cost_of(price_micros, seconds), seconds, seconds >= still)
