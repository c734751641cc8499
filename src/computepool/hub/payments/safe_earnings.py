"""What of a host's earnings can be cashed out now: what nobody can dispute, or prove to be undeserved, any more.

Of the balance everything counts but what was earned too recently. That way it does not matter which credits a host
spent in the meantime.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, literal, select, union_all
from sqlalchemy.orm import Session

from computepool.hub.jobs.tables import Attempt
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.journal import balances
from computepool.hub.ledger.tables import EntryRow, PostingRow
from computepool.hub.ledger.timeline import first_entry_since
from computepool.hub.nodes.tables import Node
from computepool.hub.payments.cash_out_rows import HeldBackRow
from computepool.hub.trust.clawback import LONGEST, SHORTEST, Earning, given_back, is_safe
from computepool.hub.trust.judgement import Finding
from computepool.hub.trust.tables import Accusation, AccusationState, AuditRecordRow, Check

LONGEST_ATTEMPT = timedelta(days=30)
"""Instalments of one that ran for longer are its host's, as anything that is so old."""


_ACCUSED_AT = select(func.min(Accusation.created_at)).where(Accusation.state == AccusationState.OPEN)


@dataclass(frozen=True, slots=True)
class Risky:
    """Earnings that may still have to be given back."""

    attempt_id: str
    micros: int
    until: datetime | None
    """When that is over if nothing happens. None: it still runs, is disputed, or its node is accused."""


@dataclass(frozen=True, slots=True)
class Cashable:
    micros: int
    """Now."""
    later: tuple[tuple[datetime, int], ...] = ()
    """(when, how much more), if nothing happens until then."""
    unknown_micros: int = 0
    """Of what is disputed, still runs, or was earned by a node that is accused."""


def cashable(session: Session, owner_id: str, now: datetime, hold_back: timedelta, *, lock: bool = False) -> Cashable:
    """`lock`: nobody changes the balances until this transaction ends."""
    has = balances(session, owner_id, lock=lock)
    risky = list_risky(session, owner_id, now, hold_back)
    # What is owed is taken from earnings first, whatever they are.
    return divide(has[Kind.EARNINGS] + has[Kind.DEBT], risky)


def divide(earnings: int, risky: Sequence[Risky]) -> Cashable:
    """Of what is there, what can go now and what later. Pure."""
    now = max(0, earnings - sum(one.micros for one in risky))
    left = max(0, earnings - now)
    unknown = min(left, sum(one.micros for one in risky if one.until is None))
    left -= unknown
    later: dict[datetime, int] = {}
    # What was spent of it was, as far as anybody can tell, what would have come last.
    for one in sorted((one for one in risky if one.until is not None), key=lambda one: (one.until, one.attempt_id)):
        part = min(left, one.micros)
        if part and one.until is not None:
            later[one.until] = later.get(one.until, 0) + part
            left -= part
    return Cashable(now, tuple(later.items()), unknown)


def list_risky(session: Session, owner_id: str, now: datetime, hold_back: timedelta) -> list[Risky]:
    mine = [account(owner_id, kind) for kind in (Kind.EARNINGS, Kind.DEBT)]
    accused_since = session.scalar(_ACCUSED_AT.where(Accusation.owner_id == owner_id))
    oldest = min(now - hold_back, (accused_since or now) - LONGEST)
    first = first_entry_since(session, oldest - LONGEST_ATTEMPT)
    came = select(PostingRow.entry_id, PostingRow.micros.label("micros"))
    went = select(PostingRow.entry_id, (literal(0) - PostingRow.micros).label("micros"))
    both = union_all(
        came.where(PostingRow.destination.in_(mine), PostingRow.entry_id >= first),
        went.where(PostingRow.source.in_(mine), PostingRow.entry_id >= first),
    ).subquery()
    earned = func.sum(both.c.micros)
    record_id = func.coalesce(Node.record_id, Node.id)
    accused_at = _ACCUSED_AT.where(Accusation.record_id == record_id).scalar_subquery()
    is_disputed = select(HeldBackRow.job_id).where(HeldBackRow.job_id == Attempt.job_id).exists()
    rows = session.execute(
        select(
            Attempt.id, Attempt.finished_at, is_disputed, accused_at, Check.state, AuditRecordRow.last_valid_at, earned
        )
        .select_from(both)
        .join(EntryRow, EntryRow.id == both.c.entry_id)
        .join(Attempt, Attempt.id == EntryRow.attempt_id)
        .join(Node, Node.id == Attempt.node_id)
        .outerjoin(Check, Check.subject == Attempt.id)
        .outerjoin(AuditRecordRow, AuditRecordRow.id == record_id)
        .where(Attempt.terms["host_id"].as_string() == owner_id)  # else they rented it
        .group_by(Attempt.id, Attempt.finished_at, Attempt.job_id, Node.id, Check.state, AuditRecordRow.last_valid_at)
        .having(earned > 0)
    )
    found = []
    for attempt_id, finished_at, disputed, accused, state, last_valid_at, micros in rows:
        at = finished_at or now
        one = Earning(attempt_id, at, int(micros), audited=state == Finding.VALID)
        is_accused = accused is not None and bool(given_back([one], last_valid_at, accused))
        if finished_at is None or disputed or is_accused:
            found.append(Risky(attempt_id, one.micros, None))
        elif now - at < hold_back or not is_safe(one, last_valid_at, now):
            found.append(Risky(attempt_id, one.micros, safe_from(one, last_valid_at, hold_back)))
    return found


def safe_from(one: Earning, last_valid_at: datetime | None, hold_back: timedelta) -> datetime:
    """If nothing happens until then. An audit that finds the node right makes it sooner."""
    is_vouched_for = one.audited or (last_valid_at is not None and last_valid_at > one.at)
    return one.at + max(hold_back, SHORTEST if is_vouched_for else LONGEST)
