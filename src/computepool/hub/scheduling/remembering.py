"""What renters used and spent before the hub started, and their limits: read once, on start."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from computepool.hub.core.ids import first_id
from computepool.hub.jobs import spending
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.scheduling.limits import Limits, Spent
from computepool.hub.scheduling.limits_store import list_limits
from computepool.hub.scheduling.usage import Past
from computepool.protocol.states import ATTEMPT_LIVE

HALF_LIVES = 5
"""Older use counts for less than a thirtieth, and is forgotten."""
ATTEMPTS_LIMIT = 200_000
"""The newest of them: more only tells what these tell already."""


@dataclass(frozen=True)
class Remembered:
    past: list[Past] = field(default_factory=list)
    prices: dict[str, int] = field(default_factory=dict)
    """Of what runs, as leases locked them."""
    spent: list[Spent] = field(default_factory=list)
    limits: list[tuple[str, Limits]] = field(default_factory=list)


def load(session: Session, now: datetime, half_life: timedelta, *, money: bool = True) -> Remembered:
    """Without money, what was spent and may be spent is left out: it would keep people from work that costs nothing."""
    past, prices = list[Past](), dict[str, int]()
    for owner_id, weight, leased_at, finished_at in _list_ended(session, now - HALF_LIVES * half_life):
        past.append(Past(owner_id, weight, _seconds(now - leased_at), _seconds(now - (finished_at or now))))
    for owner_id, attempt_id, weight, leased_at, price_micros in _list_live(session):
        prices[attempt_id] = price_micros or 0
        past.append(Past(owner_id, weight, _seconds(now - leased_at), 0.0))
    limits = list_limits(session)
    if not money:
        return Remembered(past, prices, [], [(owner_id, one.without_money) for owner_id, one in limits])
    spent = [Spent(*row) for row in spending.list_since(session, now.astimezone(UTC).date().replace(day=1))]
    return Remembered(past, prices, spent, limits)


def _list_ended(session: Session, since: datetime) -> Sequence[Row[str, int, datetime, datetime | None]]:
    """Ids sort by age, so that the key's own index finds them."""
    first = first_id("attempt", since)
    query = (
        select(Job.owner_id, Attempt.weight, Attempt.leased_at, Attempt.finished_at)
        .join(Job, Job.id == Attempt.job_id)
        .where(Attempt.id >= first, Attempt.weight > 0, Attempt.finished_at.is_not(None))
        .order_by(Attempt.id.desc())
        .limit(ATTEMPTS_LIMIT)
    )
    return session.execute(query).all()


def _list_live(session: Session) -> Sequence[Row[str, str, int, datetime, int | None]]:
    query = (
        select(Job.owner_id, Attempt.id, Attempt.weight, Attempt.leased_at, Attempt.price_micros)
        .join(Job, Job.id == Attempt.job_id)
        .where(Attempt.state.in_(ATTEMPT_LIVE))
        .limit(ATTEMPTS_LIMIT)
    )
    return session.execute(query).all()


def _seconds(span: timedelta) -> float:
    return max(0.0, span.total_seconds())
