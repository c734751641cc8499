"""What must be true of money and of what it is for: for `ledger.check`."""

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


def holds_are_held(session: Session) -> list[str]:
    """The open holds of an owner are what is set aside of theirs."""
    query = select(HoldRow.owner_id, func.sum(_TOTAL)).where(HoldRow.resolved_at.is_(None)).group_by(HoldRow.owner_id)
    opened = {owner_id: int(micros) for owner_id, micros in session.execute(query)}
    suffix = f"/{Kind.HELD}"
    rows = session.execute(
        select(BalanceRow.account, BalanceRow.micros).where(
            BalanceRow.account.like(f"%{suffix}"), BalanceRow.shard == 0
        )
    )
    held = {name.removesuffix(suffix): micros for name, micros in rows if micros}
    return [
        f"{owner_id} has {held.get(owner_id, 0)} micros set aside, and open holds of {opened.get(owner_id, 0)}"
        for owner_id in sorted({*opened, *held})
        if opened.get(owner_id, 0) != held.get(owner_id, 0)
    ][:PROBLEMS_LIMIT]


def holds_belong_to_live_attempts(session: Session) -> list[str]:
    """And each live attempt that its renter pays for has exactly one."""
    is_live = Attempt.state.in_(sorted(ATTEMPT_LIVE))
    orphans = (
        select(HoldRow.attempt_id)
        .outerjoin(Attempt, (Attempt.id == HoldRow.attempt_id) & is_live)
        .where(HoldRow.resolved_at.is_(None), Attempt.id.is_(None))
    )
    problems = [
        f"{one} has ended, and credits are set aside for it" for one in session.scalars(orphans.limit(PROBLEMS_LIMIT))
    ]
    # One without any hold has no row that could be resolved either.
    opens = func.count(case((HoldRow.attempt_id.is_not(None) & HoldRow.resolved_at.is_(None), 1)))
    counted = (
        select(Attempt.id, opens)
        .join(Job, Job.id == Attempt.job_id)
        .outerjoin(HoldRow, HoldRow.attempt_id == Attempt.id)
        .where(
            is_live,
            Attempt.price_micros > 0,
            Attempt.terms["host_id"].as_string().is_not(None),
            Job.owner_id != PLATFORM,
        )
        .group_by(Attempt.id)
        .having(opens != 1)
    )
    return problems + [
        f"{one} runs with {count} open holds" for one, count in session.execute(counted.limit(PROBLEMS_LIMIT))
    ]


def attempts_cost_what_was_posted(session: Session) -> list[str]:
    """What an attempt's row says that it cost is what its settled holds say."""
    paid = (
        select(HoldRow.attempt_id, func.sum(HoldRow.spent_micros).label("micros"))
        .group_by(HoldRow.attempt_id)
        .subquery()
    )
    query = (
        select(Attempt.id, Attempt.cost_micros, func.coalesce(paid.c.micros, literal(0)))
        .outerjoin(paid, paid.c.attempt_id == Attempt.id)
        .where(Attempt.cost_micros != func.coalesce(paid.c.micros, literal(0)))
        .limit(PROBLEMS_LIMIT)
    )
    return [f"{one} cost {cost} micros, and its holds {spent}" for one, cost, spent in session.execute(query)]


def jobs_cost_what_their_attempts_did(session: Session) -> list[str]:
    """What lists show, and are sorted by, is the sum of the attempts."""
    paid = func.coalesce(func.sum(Attempt.cost_micros), literal(0))
    query = (
        select(Job.id, Job.cost_micros, paid)
        .outerjoin(Attempt, Attempt.job_id == Job.id)
        .group_by(Job.id, Job.cost_micros)
        .having(Job.cost_micros != paid)
        .limit(PROBLEMS_LIMIT)
    )
    return [f"{one} cost {cost} micros, and its attempts {sum_of}" for one, cost, sum_of in session.execute(query)]


def no_hold_is_settled_twice(session: Session) -> list[str]:
    """One entry resolves a hold, and none without a hold does."""
    settled = (
        select(EntryRow.attempt_id, func.count(EntryRow.id).label("entries"))
        .where(EntryRow.kind == "settle", EntryRow.attempt_id.is_not(None))
        .group_by(EntryRow.attempt_id)
        .subquery()
    )
    closed = func.count(case((HoldRow.resolved_at.is_not(None), 1)))
    query = (
        select(HoldRow.attempt_id, closed, func.max(settled.c.entries))
        .outerjoin(settled, settled.c.attempt_id == HoldRow.attempt_id)
        .group_by(HoldRow.attempt_id)
        .having(closed != func.coalesce(func.max(settled.c.entries), literal(0)))
        .limit(PROBLEMS_LIMIT)
    )
    return [
        f"{one} has {holds} holds that ended, and {count or 0} settlements"
        for one, holds, count in session.execute(query)
    ]


INVARIANTS: tuple[Invariant, ...] = (
    holds_are_held,
    holds_belong_to_live_attempts,
    attempts_cost_what_was_posted,
    jobs_cost_what_their_attempts_did,
    no_hold_is_settled_twice,
    claims_are_kept,
)
