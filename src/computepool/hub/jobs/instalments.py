"""Long attempts are settled hour by hour: what has run is captured, and the next hour is set aside, in one transaction.

So a host does not work for a week on a promise, and a renter never pays more than was set aside. When there is nothing
for the next hour, the attempt is told to leave while the last one still lasts: it saves its work, and ends with the
verdict `budget`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from computepool.hub.core.records import record
from computepool.hub.jobs import money, repository, spending
from computepool.hub.jobs.metering import Meter, hub_seconds
from computepool.hub.jobs.repository import AttemptView
from computepool.hub.jobs.tables import Attempt, attempt_topics
from computepool.hub.jobs.terms import GRACE_SECONDS, Part, Terms, next_part
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.holds import HoldRow, OpenHold, Pockets, find_open, spendable
from computepool.hub.ledger.settlement import Payer, Settlement, settle
from computepool.protocol.states import ATTEMPT_LIVE, Verdict

DUE_LIMIT = 1_000
"""Settled in one go; whoever is left comes next."""


@dataclass(frozen=True, slots=True)
class Instalment:
    attempt_id: str
    fence: int = 0
    node_id: str = ""
    owner_id: str = ""
    cost_micros: int = 0
    leaves: bool = False
    """There is no money for more: it has to be told."""


def list_due(session: Session, now: datetime) -> Sequence[str]:
    """Attempts whose hold is nearly used up, and is not their last."""
    rows = session.execute(
        select(
            Attempt.id,
            Attempt.started_at,
            Attempt.exited_at,
            Attempt.rested_since,
            Attempt.rested_seconds,
            Attempt.settled_seconds,
            HoldRow.seconds,
        )
        .join(HoldRow, HoldRow.attempt_id == Attempt.id)
        .where(HoldRow.resolved_at.is_(None), text("NOT ledger_holds.is_last"))  # in the words of their index
        .where(Attempt.state.in_(sorted(ATTEMPT_LIVE)), Attempt.started_at.is_not(None), Attempt.exited_at.is_(None))
        .where(Attempt.leave_asked_at.is_(None))
    )
    due = [
        attempt_id
        for attempt_id, started_at, exited_at, rested_since, rested, settled, seconds in rows
        if _is_due(hub_seconds(started_at, exited_at, rested_since, rested, now), settled, seconds)
    ]
    return due[:DUE_LIMIT]


def settle_next(session: Session, attempt_id: str, now: datetime) -> Instalment | None:
    """None if it is not due, or not any more: told twice, it happens once."""
    view = repository.find_attempt(session, attempt_id)
    if view is None or view.state not in ATTEMPT_LIVE or not view.is_current or view.exited_at is not None:
        return None
    terms, hold = Terms.of(view.terms), find_open(session, attempt_id)
    if terms is None or hold is None or hold.is_last or view.asked_to_leave or not view.price_micros:
        return None
    ran = hub_seconds(view.started_at, view.exited_at, view.rested_since, view.rested_seconds, now)
    if not _is_due(ran, view.settled_seconds, hold.seconds):
        return None
    return _settle(session, view, terms, hold, view.price_micros, math.ceil(ran), now)


def _is_due(ran_seconds: float, settled_seconds: int, hold_seconds: int) -> bool:
    return ran_seconds >= settled_seconds + hold_seconds - GRACE_SECONDS


def _settle(
    session: Session, view: AttemptView, terms: Terms, hold: OpenHold, price_micros: int, until: int, now: datetime
) -> Instalment:
    balances = money.lock_for(session, view, terms)
    seconds = min(max(0, until - view.settled_seconds), hold.seconds)
    one = settle(hold.pockets, price_micros, seconds, terms.fee_bps, Payer.RENTER)
    part = _next(session, view, terms, hold, one, price_micros, until)
    has = spendable(session, view.owner_id)
    if part is None or has.total + one.refund.total < part.micros:
        return _ask_to_leave(session, view, now)
    meter = Meter(hub_seconds=float(until))
    details = money.details_of(view, terms, meter, seconds, None)
    debt = -balances[account(terms.host_id, Kind.DEBT)]
    settled = money.capture(session, view, terms, hold, one, seconds, until, now, debt, details)
    repository.note_settled(session, view.attempt_id, settled.values)
    spending.add_cost(session, view.job_id, settled.cost_micros)
    spending.count(session, view.owner_id, now.date(), settled.cost_micros)
    money.open_next(session, view, part, _with(has, one.refund), now)
    record(
        session,
        "attempt.instalment",
        view.attempt_id,
        now,
        topics=attempt_topics(view),
        job=view.job_id,
        slice=view.slice_index,
        cost_micros=settled.cost_micros,
    )
    return Instalment(view.attempt_id, view.fence, view.node_id, view.owner_id, settled.cost_micros)


def _next(
    session: Session, view: AttemptView, terms: Terms, hold: OpenHold, one: Settlement, price_micros: int, until: int
) -> Part | None:
    left = money.budget_left(session, view.job_id, view.root, view.slice_index, terms)
    if left is not None:
        left += hold.pockets.total - one.cost.total  # all of the hold counts as used so far
    return next_part(price_micros, terms.max_seconds, until, left)


def _ask_to_leave(session: Session, view: AttemptView, now: datetime) -> Instalment:
    repository.ask_to_leave(session, view.attempt_id, view.fence, now, Verdict.BUDGET)
    record(
        session,
        "attempt.out_of_money",
        view.attempt_id,
        now,
        topics=attempt_topics(view),
        job=view.job_id,
        slice=view.slice_index,
    )
    return Instalment(view.attempt_id, view.fence, view.node_id, view.owner_id, leaves=True)


def _with(has: Pockets, refund: Pockets) -> Pockets:
    return Pockets(
        has.promotional + refund.promotional, has.available + refund.available, has.earnings + refund.earnings
    )
