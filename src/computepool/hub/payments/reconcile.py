"""Once a day the processor's own list of what moved is laid beside what the hub noted. Every difference is reported:
a row, an audit record, a line in the log. One that a lost message caused is then healed by looking at the object.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.notices import ADMINS, mail_topic
from computepool.hub.core.paging import read_list
from computepool.hub.core.records import ADMIN_TOPIC, HUB_ACTOR, record
from computepool.hub.payments.amounts import Units
from computepool.hub.payments.provider import Movement, Subject
from computepool.hub.payments.states import RequestState
from computepool.hub.payments.tables import DifferenceRow, MovementRow, ReconciliationRow, RequestRow

EVERY = timedelta(days=1)
SETTLING = timedelta(hours=1)
"""What moved just now may not have been told yet."""
SLACK = timedelta(days=1)
"""The processor's list may date a movement a little before or after its object."""
STUCK = timedelta(days=2)
"""A request that nobody could carry out for so long."""
PAGE = 1_000
AT_ONCE = 10_000

log = structlog.get_logger()


@dataclass(frozen=True)
class PaymentPeriod:
    since: datetime
    until: datetime


@dataclass(frozen=True)
class Difference:
    movement_id: str
    kind: str
    here_minor: int | None
    there_minor: int | None
    words: str
    subject: Subject | None = None


def next_window(session: Session, first: datetime, now: datetime) -> PaymentPeriod | None:
    """From where the last one ended. None: it is not time yet."""
    last = session.scalars(select(ReconciliationRow).order_by(ReconciliationRow.id.desc()).limit(1)).first()
    if last is not None and now - last.made_at < EVERY:
        return None
    return PaymentPeriod(last.until if last is not None else min(first, now - SLACK), now - SETTLING)


def compare(session: Session, units: Units, window: PaymentPeriod, there: Sequence[Movement]) -> list[Difference]:
    """`there` is the processor's list of the window and a day before and after it."""
    found = []
    listed = {one.id: one for one in there}
    for one in listed.values():
        row = session.get(MovementRow, one.id)
        if row is None:
            if window.since <= one.at < window.until:
                found.append(_missing_here(one, units))
        elif row.minor != one.minor:
            words = f"{one.kind} {one.id}: {row.minor} here, {one.minor} at the processor, in {one.currency}."
            found.append(Difference(one.id, "amount", row.minor, one.minor, words, one.subject))
        elif row.currency != one.currency:
            words = f"{one.kind} {one.id}: {row.currency} here, {one.currency} at the processor."
            found.append(Difference(one.id, "currency", row.minor, one.minor, words, one.subject))
    for row in _list_here(session, window):
        if row.id not in listed:
            words = f"{row.kind} {row.id} of {row.minor} {row.currency} is in the ledger, but not at the processor."
            found.append(Difference(row.id, "missing_there", row.minor, None, words))
    return found + _list_stuck(session, window.until)


def _list_here(session: Session, window: PaymentPeriod) -> Iterator[MovementRow]:
    """All of them, a page at a time."""
    table, after = MovementRow, ""
    within = (table.happened_at >= window.since, table.happened_at < window.until, table.minor != 0)
    while page := session.scalars(select(table).where(*within, table.id > after).order_by(table.id).limit(PAGE)).all():
        yield from page
        after = page[-1].id


def _missing_here(one: Movement, units: Units) -> Difference:
    words = f"{one.kind} {one.id} of {units.spelled(one.minor)} is at the processor, but not in the ledger."
    return Difference(one.id, "missing_here", None, one.minor, words, one.subject)


def _list_stuck(session: Session, now: datetime) -> list[Difference]:
    table = RequestRow
    old = select(table).where(table.state == RequestState.WAITING, table.created_at < now - STUCK).limit(AT_ONCE)
    return [
        Difference(row.key, "stuck", None, None, f"{row.kind} {row.key} could not be carried out: {row.words}"[:500])
        for row in session.scalars(old)
    ]


def report(session: Session, window: PaymentPeriod, compared: int, found: Sequence[Difference], now: datetime) -> int:
    """Each once; how many are new. Those that are gone are marked so."""
    new = 0
    for one in found:
        is_new = insert_if_absent(
            session,
            DifferenceRow,
            ["movement_id", "kind"],
            movement_id=one.movement_id,
            kind=one.kind,
            here_minor=one.here_minor,
            there_minor=one.there_minor,
            words=one.words[:500],
            found_at=now,
            settled_at=None,
        )
        if is_new:
            new += 1
            about, topics = {"kind": one.kind, "words": one.words}, (ADMIN_TOPIC, mail_topic(ADMINS))
            record(session, "payment.difference", one.movement_id[:40], now, topics=topics, **about)
            log.error("payments.difference", movement=one.movement_id, kind=one.kind, words=one.words)
    session.add(
        ReconciliationRow(
            since=window.since, until=window.until, compared=compared, differences=len(found), made_at=now
        )
    )
    return new


def settle_difference(session: Session, movement_id: str, kind: str, now: datetime, actor: str = HUB_ACTOR) -> None:
    """It was found, and is none any more."""
    query = select(DifferenceRow).where(DifferenceRow.movement_id == movement_id, DifferenceRow.kind == kind)
    row = session.scalars(query).one_or_none()
    if row is not None and row.settled_at is None:
        row.settled_at = now
        record(session, "payment.difference_settled", movement_id[:40], now, actor=actor, kind=kind)


def settle_healed(session: Session, now: datetime) -> int:
    """Movements that were missing here and are noted by now; requests that went through in the end."""
    settled = 0
    waiting = select(DifferenceRow).where(DifferenceRow.settled_at.is_(None)).limit(AT_ONCE)
    for row in session.scalars(waiting).all():
        if row.kind == "missing_here" and session.get(MovementRow, row.movement_id) is not None:
            settle_difference(session, row.movement_id, row.kind, now)
            settled += 1
        elif row.kind == "stuck":
            request = session.scalars(select(RequestRow).where(RequestRow.key == row.movement_id)).one_or_none()
            if request is None or request.state != RequestState.WAITING:
                settle_difference(session, row.movement_id, row.kind, now)
                settled += 1
    return settled


def list_differences(
    session: Session, is_open: bool, kind: str | None, order: str, cursor: str | None, limit: int
) -> tuple[list[DifferenceRow], str | None, int | None]:
    """A page, the cursor of the next one, and how many there are in all."""
    query = select(DifferenceRow).where(DifferenceRow.settled_at.is_(None)) if is_open else select(DifferenceRow)
    if kind is not None:
        query = query.where(DifferenceRow.kind == kind)
    return read_list(session, query, [DifferenceRow.id], cursor, limit, order)


def last_reconciliation(session: Session) -> ReconciliationRow | None:
    return session.scalars(select(ReconciliationRow).order_by(ReconciliationRow.id.desc()).limit(1)).first()
