"""What guilty nodes give back, carried out in the ledger: everything that an attempt moved is moved back, as far as it
is there. What the host has spent is owed to the renter, and paid when the host's debt is filled.

Each in a transaction of its own, after the one that found them guilty: that one holds the locks of other renters. A
contest that an operator upholds afterwards is made good by the platform: the renter keeps what came back, and is owed
nothing more. That is of this finding alone: what another one takes back as well stays taken, and a later proof takes it
again.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

import structlog
from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.records import record
from computepool.hub.jobs import spending
from computepool.hub.jobs.given_back import write_down
from computepool.hub.jobs.tables import Attempt
from computepool.hub.ledger.accounts import HOSTS_POCKETS, RESTITUTION, SUBSIDY, Kind, account, kind_of, owner_of
from computepool.hub.ledger.claims import add_claim, cancel_claim, list_payable, net_of, pay_claims
from computepool.hub.ledger.entries import Entry, Posting, moved
from computepool.hub.ledger.holds import HoldRow
from computepool.hub.ledger.journal import lock_accounts, post, postings_of
from computepool.hub.ledger.returns import paid_of, paired, undo
from computepool.hub.ledger.tables import EntryRow
from computepool.hub.ledger.write_offs import return_to_pool
from computepool.hub.reputation.contests import Resolution
from computepool.hub.reputation.service import FAILED_AUDIT
from computepool.hub.reputation.tables import ReputationEvent
from computepool.hub.trust.consequences import DIGEST_MISMATCH
from computepool.hub.trust.tables import Check, CheckResult, Clawback, ClawbackState

log = structlog.get_logger()

PENDING, DONE, BESIDE, OVERTURNED = ClawbackState
TAKEN, GIVEN_AGAIN = "clawback", "clawback_overturned"
"""Kinds of entries."""
AT_ONCE = 200
Unspent = tuple[str, date, int]
"""(renter, day, micros)"""


@dataclass(frozen=True, slots=True)
class Restored:
    unspent: Unspent | None = None


async def make_good(context: Context) -> AsyncIterator[Unspent]:
    """Whatever waits for it, and what hosts have earned since of what they owe. What counts as not spent after all is
    told as soon as it is true."""
    if not await context.db.read(_has_work):
        return
    for attempt_id in await context.db.read(list_pending):
        for unspent in await _tried(attempt_id, context.db.run(carry_out, attempt_id, context.now())):
            yield unspent
    for attempt_id, check_id in await context.db.read(list_overturned):
        for unspent in await _tried(attempt_id, context.db.run(overturn, attempt_id, check_id, context.now())):
            yield unspent
    for host_id in await context.db.read(list_payable):
        try:
            await context.db.run(pay_claims, host_id, context.now())
        except Exception:
            log.exception("restitution.not_paid", host_id=host_id)


async def _tried(attempt_id: str, act: Awaitable[Restored | None]) -> list[Unspent]:
    try:
        done = await act
    except Exception:
        log.exception("restitution.failed", attempt_id=attempt_id)  # the next time tries again
        return []
    return [done.unspent] if done is not None and done.unspent is not None else []


def _has_work(session: Session) -> bool:
    return bool(list_pending(session) or list_overturned(session) or list_payable(session))


_IS_PENDING = (
    select(Clawback.attempt_id)
    .where(Clawback.state == PENDING)
    .group_by(Clawback.attempt_id)
    .order_by(func.min(Clawback.created_at), Clawback.attempt_id)
    .limit(AT_ONCE)
)


def list_pending(session: Session) -> Sequence[str]:
    """Attempts, the oldest finding first."""
    return session.scalars(_IS_PENDING).all()


_IS_ANSWER = select(CheckResult.check_id).where(
    CheckResult.check_id == Check.id, CheckResult.attempt_id == ReputationEvent.attempt_id
)
_IS_OVERTURNED = (
    select(Clawback.attempt_id, Clawback.check_id)
    .distinct()
    .join(Check, Check.id == Clawback.check_id)
    # One check may prove several nodes wrong: each for itself.
    .join(ReputationEvent, ReputationEvent.node_id == Clawback.node_id)
    .where(Clawback.state.in_([DONE, BESIDE]), ReputationEvent.resolution == Resolution.UPHELD)
    .where(ReputationEvent.reason.in_([FAILED_AUDIT, DIGEST_MISMATCH]))
    .where(or_(Check.attempt_id == ReputationEvent.attempt_id, _IS_ANSWER.exists()))
    .order_by(Clawback.attempt_id, Clawback.check_id)
    .limit(AT_ONCE)
)


def list_overturned(session: Session) -> Sequence[tuple[str, str]]:
    """(attempt, check) that was carried out, and found to be wrong since: the contest of the very finding was
    upheld."""
    return [(attempt_id, check_id) for attempt_id, check_id in session.execute(_IS_OVERTURNED)]


def carry_out(session: Session, attempt_id: str, now: datetime) -> Restored | None:
    """None if it was done before. An attempt that goes on to be settled is left for later."""
    rows = _lock(session, attempt_id, PENDING, DONE)
    waiting = [row for row in rows if row.state == PENDING]
    if not waiting:
        return None
    if len(waiting) < len(rows):
        _stand_by(session, waiting, now)
        return Restored()
    row, *others = waiting
    attempt = session.get_one(Attempt, attempt_id)
    host_id = _host_of(attempt, row)
    names = {kind: account(host_id, kind) for kind in HOSTS_POCKETS}
    owes = account(row.renter_id, Kind.DEBT)
    # Before anything is looked at: a dispute may give the same back at this moment, or the attempt come back itself.
    locked = lock_accounts(session, [*names.values(), *(account(row.renter_id, kind) for kind in Kind)])
    open_hold = select(HoldRow.number).where(HoldRow.attempt_id == attempt_id, HoldRow.resolved_at.is_(None))
    if session.scalar(open_hold) is not None:
        return None
    session.refresh(attempt)
    has = {kind: locked[name] for kind, name in names.items()}
    cost, earned = attempt.cost_micros, attempt.earned_micros
    nets = net_of(session, attempt_id)
    paid = paid_of(nets, attempt_id, attempt.job_id, row.renter_id, host_id)
    one, postings = undo(nets, paid, has, -locked.get(owes, 0))
    given = cost - one.lost  # presents that are gone stay paid
    taken = sum(part.micros for part in postings if owner_of(part.source) == host_id)
    if postings:
        entry = Entry(
            f"{TAKEN}/{attempt_id}/{row.check_id}",
            TAKEN,
            postings,
            job_id=attempt.job_id,
            attempt_id=attempt_id,
            note="Others proved its node wrong.",
            details={
                "check": row.check_id,
                "node_id": row.node_id,
                "host_id": host_id,
                "renter_id": row.renter_id,
                "cost_micros": given,
                "host_micros": taken,
                "owed_micros": one.owed,
                "lost_micros": one.lost,
            },
        )
        post(session, entry, now)
        add_claim(session, attempt_id, attempt.job_id, host_id, row.renter_id, one.owed, now)
    write_down(session, attempt_id, given, min(earned, taken))
    _finish(session, row, DONE, now)
    _stand_by(session, others, now)
    return Restored(_count_spending(session, attempt, row.renter_id, -given))


def _lock(session: Session, attempt_id: str, *states: ClawbackState) -> Sequence[Clawback]:
    query = select(Clawback).where(Clawback.attempt_id == attempt_id, Clawback.state.in_(states))
    query = query.order_by(Clawback.created_at, Clawback.check_id).with_for_update()
    return session.scalars(query.execution_options(populate_existing=True)).all()


def _stand_by(session: Session, rows: Sequence[Clawback], now: datetime) -> None:
    """It was given back by another finding: these would have it back as well."""
    for row in rows:
        row.state = BESIDE
        session.flush()
        record(session, "clawback.beside", row.attempt_id, now, check=row.check_id, node=row.node_id)


def _host_of(attempt: Attempt, row: Clawback) -> str:
    """Who was paid; the node may have been joined anew by somebody else since."""
    return str(attempt.terms["host_id"]) if attempt.terms is not None else row.host_id


def _count_spending(session: Session, attempt: Attempt, renter_id: str, micros: int) -> Unspent | None:
    """For the renter's limits: so much more, or less, was spent on the day on which it ended."""
    if not micros or attempt.finished_at is None:
        return None
    day = attempt.finished_at.date()
    spending.count(session, renter_id, day, micros)
    return renter_id, day, -micros


def overturn(session: Session, attempt_id: str, check_id: str, now: datetime) -> Restored | None:
    """The host was right after all, and gets again what it had to give back. What the renter was not paid yet of it is
    not owed any more; for the rest the platform pays: it was its mistake. Unless another finding takes it as well."""
    rows = _lock(session, attempt_id, DONE, BESIDE)
    row = next((one for one in rows if one.check_id == check_id), None)
    if row is None:
        return None
    if len(rows) > 1:
        _stay_taken(session, row, rows, now)
        return Restored()
    attempt = session.get_one(Attempt, attempt_id)
    host_id = _host_of(attempt, row)
    taken: Counter[str] = Counter()
    to_be_owed = 0
    for one in _last_taken(session, attempt_id):
        if owner_of(one.source) == host_id:
            taken[kind_of(one.source)] += one.micros
            to_be_owed += one.micros if one.destination == RESTITUTION else 0
    debt = account(host_id, Kind.DEBT)
    owed = -lock_accounts(session, [debt])[debt]
    not_paid = cancel_claim(session, attempt_id, to_be_owed)
    real = taken[Kind.EARNINGS] + taken[Kind.DEBT]
    repaid = min(owed, real)
    postings = (
        *paired(
            [(RESTITUTION, not_paid), (SUBSIDY, real - not_paid)],
            [(debt, repaid), (account(host_id, Kind.EARNINGS), real - repaid)],
        ),
        *moved(SUBSIDY, account(host_id, Kind.PROMOTIONAL), taken[Kind.PROMOTIONAL]),
    )
    if postings:
        entry = Entry(
            f"{GIVEN_AGAIN}/{attempt_id}/{check_id}",
            GIVEN_AGAIN,
            postings,
            job_id=attempt.job_id,
            attempt_id=attempt_id,
            note="A contest was upheld.",
            details={"check": check_id},
        )
        post(session, entry, now)
    # What it owed may have been written off meanwhile: then it never had to pay that.
    key = f"{GIVEN_AGAIN}/{attempt_id}/{check_id}/written_off"
    return_to_pool(session, key, host_id, real - repaid, now, (Kind.EARNINGS,))
    write_down(session, attempt_id, -not_paid, -real - taken[Kind.PROMOTIONAL])
    _finish(session, row, OVERTURNED, now)
    return Restored(_count_spending(session, attempt, row.renter_id, not_paid))


def _stay_taken(session: Session, row: Clawback, rows: Sequence[Clawback], now: datetime) -> None:
    """Nothing moves: of the others, the oldest has it given back from now on."""
    was_done = row.state == DONE
    row.state = OVERTURNED
    session.flush()
    if was_done:
        next(one for one in rows if one is not row).state = DONE
        session.flush()
    record(session, "clawback.kept", row.attempt_id, now, check=row.check_id, node=row.node_id)


def _last_taken(session: Session, attempt_id: str) -> Sequence[Posting]:
    """What was given back, and not given again since. Nothing, if there was nothing to take the last time."""
    query = select(EntryRow.id, EntryRow.kind).where(
        EntryRow.attempt_id == attempt_id, EntryRow.kind.in_([TAKEN, GIVEN_AGAIN])
    )
    last = session.execute(query.order_by(EntryRow.id.desc()).limit(1)).first()
    return postings_of(session, last.id) if last is not None and last.kind == TAKEN else ()


def _finish(session: Session, row: Clawback, state: str, now: datetime) -> None:
    row.state = state
    session.flush()
    topics = tuple(f"owner/{one}" for one in dict.fromkeys((row.host_id, row.renter_id)))
    record(session, f"clawback.{state}", row.attempt_id, now, topics=topics, micros=row.micros, node=row.node_id)
