"""What guilty nodes give back, carried out in the ledger: everything that an attempt moved is moved back.

Each in a transaction of its own, after the one that found them guilty: that one holds the locks of other renters. A
contest that an operator upholds afterwards is made good by the platform: the renter keeps what came back.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

import structlog
from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.records import record
from computepool.hub.jobs import spending
from computepool.hub.jobs.tables import Attempt
from computepool.hub.ledger.accounts import Kind, Platform, account, kind_of, owner_of, platform
from computepool.hub.ledger.entries import Entry, moved
from computepool.hub.ledger.holds import HoldRow
from computepool.hub.ledger.journal import lock_accounts, post
from computepool.hub.ledger.refunds import undo
from computepool.hub.ledger.tables import EntryRow, PostingRow
from computepool.hub.reputation.contests import Resolution
from computepool.hub.reputation.service import FAILED_AUDIT
from computepool.hub.reputation.tables import ReputationEvent
from computepool.hub.trust.consequences import DIGEST_MISMATCH
from computepool.hub.trust.tables import Check, CheckResult, Clawback

log = structlog.get_logger()

PENDING, DONE, OVERTURNED = "pending", "done", "overturned"
AT_ONCE = 200
Unspent = tuple[str, date, int]
"""(renter, day, micros)"""
HOSTS_POCKETS = (Kind.PROMOTIONAL, Kind.EARNINGS, Kind.DEBT)


@dataclass(frozen=True, slots=True)
class Restored:
    unspent: Unspent | None = None


async def make_good(context: Context) -> list[Unspent]:
    """Whatever waits for it. What counts as not spent after all."""
    unspent: list[Unspent] = []
    for find, act in ((list_pending, carry_out), (list_overturned, overturn)):
        for attempt_id in await context.db.read(find):
            try:
                done = await context.db.run(act, attempt_id, context.now())
            except Exception:
                log.exception("restitution.failed", attempt_id=attempt_id)  # the next time tries again
                continue
            unspent += [done.unspent] if done is not None and done.unspent is not None else []
    return unspent


def list_pending(session: Session) -> Sequence[str]:
    query = select(Clawback.attempt_id).where(Clawback.state == PENDING)
    return session.scalars(query.order_by(Clawback.created_at).limit(AT_ONCE)).all()


def list_overturned(session: Session) -> Sequence[str]:
    """Carried out, and found to be wrong since: the contest of the very finding was upheld."""
    proven = ReputationEvent.reason.in_([FAILED_AUDIT, DIGEST_MISMATCH])
    accused = select(ReputationEvent.attempt_id).where(ReputationEvent.resolution == Resolution.UPHELD, proven)
    answered = select(CheckResult.check_id).where(CheckResult.attempt_id.in_(accused))
    query = (
        select(Clawback.attempt_id)
        .join(Check, Check.id == Clawback.check_id)
        .where(Clawback.state == DONE, or_(Check.attempt_id.in_(accused), Check.id.in_(answered)))
    )
    return session.scalars(query.limit(AT_ONCE)).all()


def carry_out(session: Session, attempt_id: str, now: datetime) -> Restored | None:
    """None if it was done before. An attempt that goes on to be settled is left for later."""
    row = session.get(Clawback, attempt_id, with_for_update=True)
    if row is None or row.state != PENDING:
        return None
    open_hold = select(HoldRow.number).where(HoldRow.attempt_id == attempt_id, HoldRow.resolved_at.is_(None))
    if session.scalar(open_hold) is not None:
        return None
    names = {kind: account(row.host_id, kind) for kind in HOSTS_POCKETS}
    # Before anything is summed up: a dispute may give the same back at this moment.
    has = lock_accounts(session, [*names.values(), *(account(row.renter_id, kind) for kind in Kind)])
    attempt = session.get_one(Attempt, attempt_id)
    cost = attempt.cost_micros
    nets = net_of(session, attempt_id)
    postings = undo(nets, row.host_id, {kind: has[name] for kind, name in names.items()})
    if postings:
        entry = Entry(
            f"clawback/{attempt_id}",
            "clawback",
            postings,
            job_id=attempt.job_id,
            attempt_id=attempt_id,
            note="Others proved its node wrong.",
            details={
                "check": row.check_id,
                "node_id": row.node_id,
                "host_id": row.host_id,
                "renter_id": row.renter_id,
                "cost_micros": cost,
                "host_micros": attempt.earned_micros,
            },
        )
        post(session, entry, now)
    session.execute(update(Attempt).where(Attempt.id == attempt_id).values(cost_micros=0, earned_micros=0))
    session.execute(update(HoldRow).where(HoldRow.attempt_id == attempt_id).values(spent_micros=0))
    _finish(session, row, DONE, now)
    return Restored(_forget_spending(session, attempt, row.renter_id, cost))


def _forget_spending(session: Session, attempt: Attempt, renter_id: str, micros: int) -> Unspent | None:
    """For the renter's limits. What was outvoted was forgotten when it was."""
    if not micros or attempt.finished_at is None or attempt.reason == DIGEST_MISMATCH:
        return None
    day = attempt.finished_at.date()
    spending.count(session, renter_id, day, -micros)
    return renter_id, day, micros


def overturn(session: Session, attempt_id: str, now: datetime) -> Restored | None:
    """The host was right after all, and gets again what it had to give back; the platform pays for its mistake."""
    row = session.get(Clawback, attempt_id, with_for_update=True)
    if row is None or row.state != DONE:
        return None
    taken: Counter[str] = Counter()
    for source, micros in session.execute(
        select(PostingRow.source, PostingRow.micros)
        .join(EntryRow, EntryRow.id == PostingRow.entry_id)
        .where(EntryRow.key == f"clawback/{attempt_id}")
    ):
        if owner_of(source) == row.host_id:
            taken[kind_of(source)] += micros
    debt = account(row.host_id, Kind.DEBT)
    owed = -lock_accounts(session, [debt])[debt]
    real = taken[Kind.EARNINGS] + taken[Kind.DEBT]
    repaid, subsidy = min(owed, real), platform(Platform.SUBSIDY)
    postings = (
        *moved(subsidy, debt, repaid),
        *moved(subsidy, account(row.host_id, Kind.EARNINGS), real - repaid),
        *moved(subsidy, account(row.host_id, Kind.PROMOTIONAL), taken[Kind.PROMOTIONAL]),
    )
    if postings:
        entry = Entry(
            f"clawback_overturned/{attempt_id}",
            "clawback_overturned",
            postings,
            attempt_id=attempt_id,
            note="A contest was upheld.",
        )
        post(session, entry, now)
    _finish(session, row, OVERTURNED, now)
    return Restored()


def net_of(session: Session, attempt_id: str) -> dict[str, int]:
    """By account, what all entries of an attempt came to. What is held is nobody's any more."""
    nets: Counter[str] = Counter()
    rows = session.execute(
        select(PostingRow.source, PostingRow.destination, PostingRow.micros)
        .join(EntryRow, EntryRow.id == PostingRow.entry_id)
        .where(EntryRow.attempt_id == attempt_id)
    )
    for source, destination, micros in rows:
        nets[source] -= micros
        nets[destination] += micros
    return {name: micros for name, micros in nets.items() if micros}


def _finish(session: Session, row: Clawback, state: str, now: datetime) -> None:
    row.state = state
    session.flush()
    topics = tuple(f"owner/{one}" for one in dict.fromkeys((row.host_id, row.renter_id)))
    record(session, f"clawback.{state}", row.attempt_id, now, topics=topics, micros=row.micros, node=row.node_id)
