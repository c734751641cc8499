"""What must be true of money and of what it is for: for `ledger.check`.

The statements are constants: to build one costs several times as much as to run it over the rows of a small pool.
"""

from sqlalchemy import case, func, literal, select
from sqlalchemy.orm import Session

from computepool.hub.core.owners import PLATFORM
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.ledger.accounts import Kind
from computepool.hub.ledger.check import PROBLEMS_LIMIT, Invariant
from computepool.hub.ledger.claims import claims_are_kept
from computepool.hub.ledger.holds import HoldRow
from computepool.hub.ledger.tables import BalanceRow, EntryRow
from computepool.protocol.states import ATTEMPT_LIVE

_TOTAL = HoldRow.promotional + HoldRow.available + HoldRow.earnings
_OPENED = select(HoldRow.owner_id, func.sum(_TOTAL)).where(HoldRow.resolved_at.is_(None)).group_by(HoldRow.owner_id)
_HELD_SUFFIX = f"/{Kind.HELD}"
_HELD = select(BalanceRow.account, BalanceRow.micros).where(
    BalanceRow.account.like(f"%{_HELD_SUFFIX}"), BalanceRow.shard == 0
)
_IS_LIVE = Attempt.state.in_(sorted(ATTEMPT_LIVE))
_ORPHANS = (
    select(HoldRow.attempt_id)
    .outerjoin(Attempt, (Attempt.id == HoldRow.attempt_id) & _IS_LIVE)
    .where(HoldRow.resolved_at.is_(None), Attempt.id.is_(None))
    .limit(PROBLEMS_LIMIT)
)
# An attempt without any hold has no row that could be resolved either.
_OPENS = func.count(case((HoldRow.attempt_id.is_not(None) & HoldRow.resolved_at.is_(None), 1)))
_WITHOUT_ONE_HOLD = (
    select(Attempt.id, _OPENS)
    .join(Job, Job.id == Attempt.job_id)
    .outerjoin(HoldRow, HoldRow.attempt_id == Attempt.id)
    .where(
        _IS_LIVE,
        Attempt.price_micros > 0,
        Attempt.terms["host_id"].as_string().is_not(None),
        Job.owner_id != PLATFORM,
    )
    .group_by(Attempt.id)
    .having(_OPENS != 1)
    .limit(PROBLEMS_LIMIT)
)
_SPENT = (
    select(HoldRow.attempt_id, func.sum(HoldRow.spent_micros).label("micros")).group_by(HoldRow.attempt_id).subquery()
)
_SPENT_MICROS = func.coalesce(_SPENT.c.micros, literal(0))
_COST_ANOTHER_SUM = (
    select(Attempt.id, Attempt.cost_micros, _SPENT_MICROS)
    .outerjoin(_SPENT, _SPENT.c.attempt_id == Attempt.id)
    .where(Attempt.cost_micros != _SPENT_MICROS)
    .limit(PROBLEMS_LIMIT)
)
_OF_ATTEMPTS = func.coalesce(func.sum(Attempt.cost_micros), literal(0))
_JOBS_OF_ANOTHER_COST = (
    select(Job.id, Job.cost_micros, _OF_ATTEMPTS)
    .outerjoin(Attempt, Attempt.job_id == Job.id)
    .group_by(Job.id, Job.cost_micros)
    .having(Job.cost_micros != _OF_ATTEMPTS)
    .limit(PROBLEMS_LIMIT)
)
_SETTLED = (
    select(EntryRow.attempt_id, func.count(EntryRow.id).label("entries"))
    .where(EntryRow.kind == "settle", EntryRow.attempt_id.is_not(None))
    .group_by(EntryRow.attempt_id)
    .subquery()
)
_CLOSED = func.count(case((HoldRow.resolved_at.is_not(None), 1)))
_SETTLED_OTHERWISE = (
    select(HoldRow.attempt_id, _CLOSED, func.max(_SETTLED.c.entries))
    .outerjoin(_SETTLED, _SETTLED.c.attempt_id == HoldRow.attempt_id)
    .group_by(HoldRow.attempt_id)
    .having(func.coalesce(func.max(_SETTLED.c.entries), literal(0)) != _CLOSED)
    .limit(PROBLEMS_LIMIT)
)


def holds_are_held(session: Session) -> list[str]:
    """The open holds of an owner are what is set aside of theirs."""
    opened = {owner_id: int(micros) for owner_id, micros in session.execute(_OPENED)}
    held = {name.removesuffix(_HELD_SUFFIX): micros for name, micros in session.execute(_HELD) if micros}
    return [
        f"{owner_id} has {held.get(owner_id, 0)} micros set aside, and open holds of {opened.get(owner_id, 0)}"
        for owner_id in sorted({*opened, *held})
        if opened.get(owner_id, 0) != held.get(owner_id, 0)
    ][:PROBLEMS_LIMIT]


def holds_belong_to_live_attempts(session: Session) -> list[str]:
    """And each live attempt that its renter pays for has exactly one."""
    return [f"{attempt_id} has ended, and credits are set aside for it" for attempt_id in session.scalars(_ORPHANS)] + [
        f"{attempt_id} runs with {count} open holds" for attempt_id, count in session.execute(_WITHOUT_ONE_HOLD)
    ]


def attempts_cost_what_was_posted(session: Session) -> list[str]:
    """What an attempt's row says that it cost is what its settled holds say."""
    return [
        f"{attempt_id} cost {cost} micros, and its holds {spent}"
        for attempt_id, cost, spent in session.execute(_COST_ANOTHER_SUM)
    ]


def jobs_cost_what_their_attempts_did(session: Session) -> list[str]:
    """What lists show, and are sorted by, is the sum of the attempts."""
    return [
        f"{job_id} cost {cost} micros, and its attempts {of_attempts}"
        for job_id, cost, of_attempts in session.execute(_JOBS_OF_ANOTHER_COST)
    ]


def no_hold_is_settled_twice(session: Session) -> list[str]:
    """One entry resolves a hold, and none without a hold does."""
    return [
        f"{attempt_id} has {holds} holds that ended, and {count or 0} settlements"
        for attempt_id, holds, count in session.execute(_SETTLED_OTHERWISE)
    ]


INVARIANTS: tuple[Invariant, ...] = (
    holds_are_held,
    holds_belong_to_live_attempts,
    attempts_cost_what_was_posted,
    jobs_cost_what_their_attempts_did,
    no_hold_is_settled_twice,
    claims_are_kept,
)
