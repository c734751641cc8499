"""The outbox and audit records of a transaction.

A service calls `record` where it changes something. The rows are collected on the session and written by the database
layer just before the commit, in two statements however many there are and however many functions share the commit;
after it the events go to the bus.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from sqlalchemy import Connection, Table, delete, insert, select
from sqlalchemy.orm import Session

from computepool.hub.core.tables import AuditRow, OutboxRow

HUB_ACTOR = "hub"


# Plain statements on the tables: the ORM would take longer over them than the database.
_ADD_EVENTS = insert(cast(Table, OutboxRow.__table__))
_ADD_AUDITS = insert(cast(Table, AuditRow.__table__))


@dataclass(frozen=True)
class Event:
    """Something happened, on a topic such as `job/job_…`. Readers fetch the truth; this only tells them to."""

    topic: str
    payload: dict[str, Any]
    at: datetime
    kept: bool = True
    """In the outbox, for readers that were away. Else only whoever listens now hears of it."""


@dataclass
class Records:
    events: list[Event] = field(default_factory=list)
    audits: list[dict[str, Any]] = field(default_factory=list)

    def add(self, others: "Records") -> None:
        self.events += others.events
        self.audits += others.audits

    def write(self, connection: Connection) -> None:
        """Put the rows into the transaction. The database layer calls it last."""
        rows = [{"topic": e.topic, "payload": e.payload, "created_at": e.at} for e in self.events if e.kept]
        if rows:
            connection.execute(_ADD_EVENTS, rows)
        if self.audits:
            connection.execute(_ADD_AUDITS, self.audits)


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
    records.audits.append({"at": now, "actor": actor, "action": action, "subject": subject, "details": details})
    payload = {"action": action, "subject": subject, **details}
    records.events.extend(Event(topic, payload, now) for topic in topics)


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


def prune_outbox(session: Session, before: datetime, limit: int) -> int:
    """Forget news that everybody has heard; how many rows."""
    old = select(OutboxRow.id).where(OutboxRow.created_at < before).limit(limit)
    return len(session.execute(delete(OutboxRow).where(OutboxRow.id.in_(old)).returning(OutboxRow.id)).all())


def prune_audit(session: Session, before: datetime, limit: int) -> int:
    """Forget who did what so long ago; how many rows. They are numbered in order: only the first are looked at."""
    first = select(AuditRow.id, AuditRow.at).order_by(AuditRow.id).limit(limit).subquery()
    old = select(first.c.id).where(first.c.at < before)
    return len(session.execute(delete(AuditRow).where(AuditRow.id.in_(old)).returning(AuditRow.id)).all())
