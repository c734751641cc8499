"""The outbox and audit records of a transaction.

A service calls `record` where it changes something. The rows are collected on the session and written by the database
layer just before the commit, with one statement for each table (for each thousand rows) however many functions share
the commit; after it the events go to the bus, and those with a number to the event streams (`hub/live`).
"""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop, heappush
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Table, delete, select, text
from sqlalchemy.orm import Session

from computepool.hub.core.driver import Driver
from computepool.hub.core.notices import PREFIX as MAIL_PREFIX
from computepool.hub.core.notices import noticed_by
from computepool.hub.core.tables import STREAM_TOPICS, AuditRow, HubFact, NoticeRow, OutboxRow

T = TypeVar("T")

HUB_ACTOR = "hub"
ADMIN_TOPIC = "admin"
"""What needs an admin, or concerns the whole pool."""
KEPT = frozenset({"owner", "host", "wallet", ADMIN_TOPIC, MAIL_PREFIX.removesuffix("/")})
"""Topics that the outbox has rows of, by what stands before their slash: event streams and mails are made from them.
Others, such as `job/…`, are for those who listen now."""
NOTICED = "noticed"
"""In the payload of an event: its reader got a notice of it too."""
PRUNED_TO = "events_pruned_to"
"""The hub fact that says up to which id events may be missing."""
ROWS_AT_ONCE = 1_000

# Every commit of a job's life writes rows of these three. SQLAlchemy takes longer over a statement than the database.
_ADD_EVENTS = "INSERT INTO outbox (topic, payload, created_at) {rows} RETURNING id"
_EVENT_COLUMNS = "topic text, payload jsonb, created_at timestamptz"
_ADD_AUDITS = "INSERT INTO audit (at, actor, action, subject, details) {rows}"
_AUDIT_COLUMNS = "at timestamptz, actor text, action text, subject text, details jsonb"
_ADD_NOTICES = "INSERT INTO notices (at, owner_id, action, subject, details) {rows}"
_NOTICE_COLUMNS = "at timestamptz, owner_id text, action text, subject text, details jsonb"
_AUDIT = cast(Table, AuditRow.__table__)
_INSTANT, _JSON = _AUDIT.c.at, _AUDIT.c.details
"""How instants and JSON are stored, in these tables as in all."""


@dataclass(slots=True)
class Event:
    """Something happened, on a topic such as `job/job_…`. Readers fetch the truth; this only tells them to."""

    topic: str
    payload: dict[str, Any]
    at: datetime
    kept: bool = True
    """In the outbox, for readers that were away. Else only whoever listens now hears of it."""
    id: int | None = None
    """Its number in the outbox, once it is written."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A row of the audit, whose `who` is the actor; or a notice, whose `who` is its reader."""

    at: datetime
    who: str
    action: str
    subject: str
    details: dict[str, Any]


@dataclass
class Records:
    events: list[Event] = field(default_factory=list)
    audits: list[Noted] = field(default_factory=list)
    notices: list[Noted] = field(default_factory=list)

    def add(self, others: "Records") -> None:
        self.events += others.events
        self.audits += others.audits
        self.notices += others.notices

    def write(self, connection: Connection) -> None:
        """Put the rows into the transaction, and number the events. The database layer calls it last."""
        kept = [event for event in self.events if event.kept]
        if not kept and not self.audits and not self.notices:
            return
        driver = Driver(connection)
        for events in _pieces(kept):
            _number(driver, events)
        for statement, columns, noted in (
            (_ADD_AUDITS, _AUDIT_COLUMNS, self.audits),
            (_ADD_NOTICES, _NOTICE_COLUMNS, self.notices),
        ):
            for some in _pieces(noted):
                driver.run_rows(statement, columns, [_row_of(driver, each) for each in some])


def _pieces(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + ROWS_AT_ONCE] for start in range(0, len(items), ROWS_AT_ONCE))


def _row_of(driver: Driver, noted: Noted) -> tuple[Any, ...]:
    details = driver.stored(_JSON, noted.details)
    return driver.stored(_INSTANT, noted.at), noted.who, noted.action, noted.subject, details


def _number(driver: Driver, events: Sequence[Event]) -> None:
    rows = [(event.topic, driver.stored(_JSON, event.payload), driver.stored(_INSTANT, event.at)) for event in events]
    # Numbers are given in the order of the rows; the order in which they are returned is not promised.
    ids = sorted(row[0] for row in driver.run_rows(_ADD_EVENTS, _EVENT_COLUMNS, rows))
    for event, number in zip(events, ids, strict=True):
        event.id = number


def record(
    session: Session,
    action: str,
    subject: str,
    now: datetime,
    *,
    actor: str = HUB_ACTOR,
    topics: tuple[str, ...] = (),
    **details: Any,
) -> None:
    """Note that `actor` did `action` to `subject`, and tell everybody who listens on `topics`."""
    records: Records = session.info.setdefault("records", Records())
    records.audits.append(Noted(now, actor, action, subject, details))
    payload = {"action": action, "subject": subject, **details}
    readers = noticed_by(action, topics, details) if topics else frozenset()
    records.notices.extend(Noted(now, owner_id, action, subject, details) for owner_id in sorted(readers))
    for topic in topics:
        kind, _, owner_id = topic.partition("/")
        told = {**payload, NOTICED: True} if owner_id in readers else payload
        records.events.append(Event(topic, told, now, kind in KEPT))


def tell(session: Session, topic: str, now: datetime, **payload: Any) -> None:
    """Something changed that a memory is kept of in this process: told after the commit, written nowhere."""
    records: Records = session.info.setdefault("records", Records())
    records.events.append(Event(topic, payload, now, kept=False))


def take_records(session: Session) -> Records:
    """What was collected, once."""
    records: Records | None = session.info.pop("records", None)
    return records if records is not None else Records()


def write_records(session: Session) -> list[Event]:
    """Put what was collected into the session's own transaction."""
    records = take_records(session)
    records.write(session.connection())
    return records.events


def keep_only_mails(session: Session) -> None:
    """For a process beside the hub: the hub cannot hear of its commit, so no event stream could tell it in order."""
    records: Records | None = session.info.get("records")
    if records is not None:
        records.events = [event for event in records.events if event.topic.startswith(MAIL_PREFIX)]


class CommitOrder:
    """Events in the order of their numbers, though transactions with lower numbers may commit later.

    A transaction that is about to write has numbers above all that were returned before. An event is settled when every
    transaction that may have a lower number has ended. Used from several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writing: dict[object, int] = {}
        """Of each transaction that writes: the lowest number that it may have."""
        self._newest = 0
        self._committed: list[tuple[int, Event]] = []
        """A heap of what waits for lower numbers."""

    def begin(self) -> object:
        """Before the numbers are given. `end` has to follow, unless it is not known whether the commit happened: then
        nothing with a higher number may be told, for it would be told out of order after the next start."""
        ticket = object()
        with self._lock:
            self._writing[ticket] = self._newest + 1
        return ticket

    def end(self, ticket: object, committed: Sequence[Event], tell: Callable[[list[Event]], None]) -> None:
        """`tell` is called in order, so it must be quick."""
        with self._lock:
            del self._writing[ticket]
            for event in committed:
                if event.id is not None:
                    self._newest = max(self._newest, event.id)
                    heappush(self._committed, (event.id, event))
            lowest = min(self._writing.values(), default=math.inf)
            settled = []
            while self._committed and self._committed[0][0] < lowest:
                settled.append(heappop(self._committed)[1])
            if settled:
                tell(settled)


def last_event_id(session: Session) -> int:
    """The newest number that an event stream may have told. Numbers of mails do not count: they are deleted when the
    mail is written, and SQLite may then give the number again."""
    newest = select(OutboxRow.id).where(text(STREAM_TOPICS)).order_by(OutboxRow.id.desc()).limit(1)
    return session.scalar(newest) or 0


def list_events(session: Session, topics: Sequence[str], after: int, upto: int, limit: int) -> list[Event] | None:
    """Those with the next numbers. None: some after `after` may have been pruned."""
    rows = session.execute(
        select(OutboxRow.id, OutboxRow.topic, OutboxRow.payload, OutboxRow.created_at)
        .where(text(STREAM_TOPICS), OutboxRow.topic.in_(topics), OutboxRow.id > after, OutboxRow.id <= upto)
        .order_by(OutboxRow.id)
        .limit(limit)
    ).all()
    pruned_to = session.get(HubFact, PRUNED_TO)  # after the rows: what was pruned before they were read is seen here
    if pruned_to is not None and after < int(pruned_to.value):
        return None
    return [Event(row.topic, row.payload, row.created_at, id=row.id) for row in rows]


def has_more_events(session: Session, topics: Sequence[str], after: int, upto: int, than: int) -> bool:
    query = select(OutboxRow.id).where(
        text(STREAM_TOPICS), OutboxRow.topic.in_(topics), OutboxRow.id > after, OutboxRow.id <= upto
    )
    return session.execute(query.order_by(OutboxRow.id).limit(1).offset(than)).first() is not None


def prune_outbox(session: Session, before: datetime, limit: int) -> int:
    """Forget news that everybody has heard; how many rows. The newest event stays, so that its number is not given
    again."""
    kept = last_event_id(session)
    first = select(OutboxRow.id, OutboxRow.created_at).where(OutboxRow.id != kept).order_by(OutboxRow.id).limit(limit)
    oldest = first.subquery()
    old = select(oldest.c.id).where(oldest.c.created_at < before)
    gone = session.scalars(delete(OutboxRow).where(OutboxRow.id.in_(old)).returning(OutboxRow.id)).all()
    if gone:
        known = session.get(HubFact, PRUNED_TO)
        session.merge(HubFact(name=PRUNED_TO, value=str(max(*gone, int(known.value) if known is not None else 0))))
    return len(gone)


def prune_audit(session: Session, before: datetime, limit: int) -> int:
    """Forget who did what so long ago; how many rows. They are numbered in order: only the first are looked at."""
    first = select(AuditRow.id, AuditRow.at).order_by(AuditRow.id).limit(limit).subquery()
    old = select(first.c.id).where(first.c.at < before)
    return len(session.execute(delete(AuditRow).where(AuditRow.id.in_(old)).returning(AuditRow.id)).all())


def prune_notices(session: Session, before: datetime, limit: int) -> int:
    """As `prune_audit`."""
    first = select(NoticeRow.id, NoticeRow.at).order_by(NoticeRow.id).limit(limit).subquery()
    old = select(first.c.id).where(first.c.at < before)
    return len(session.execute(delete(NoticeRow).where(NoticeRow.id.in_(old)).returning(NoticeRow.id)).all())
