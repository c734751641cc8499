"""What the processor tells by itself. Stored first, then looked into; an event only says where to look."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from computepool.hub.core.errors import Invalid
from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.paging import read_list
from computepool.hub.core.records import record
from computepool.hub.payments.errors import NoSuchPaymentEvent
from computepool.hub.payments.outgoing import wait_after
from computepool.hub.payments.provider import Subject, SubjectKind
from computepool.hub.payments.states import EventState
from computepool.hub.payments.stripe_shapes import subject_of
from computepool.hub.payments.tables import OBJECT_LIMIT, WORDS_LIMIT, EventRow

KEPT_OF_EVENT = ("id", "type", "created", "livemode", "account", "api_version")
KEPT_OF_OBJECT = ("id", "object", "status", "amount", "currency", "payment_intent", "metadata")


def store_event(session: Session, event: Mapping[str, Any], is_live: bool, now: datetime) -> bool:
    """False: it was here before."""
    event_id, kind = event.get("id"), event.get("type")
    if not isinstance(event_id, str) or not isinstance(kind, str) or not 0 < len(event_id) <= OBJECT_LIMIT:
        raise Invalid("The event has no id or no type.")
    is_ours = (
        bool(event.get("livemode")) == is_live
    )  # else of the same account's other mode: no real money, or not ours
    subject = subject_of(event) if is_ours else None
    return insert_if_absent(
        session,
        EventRow,
        ["id"],
        id=event_id,
        type=kind[:80],
        subject_kind=subject.kind if subject else None,
        subject_id=subject.id[:OBJECT_LIMIT] if subject else None,
        payload=_worth_keeping(event),
        state=EventState.RECEIVED if subject else EventState.IGNORED,
        tries=0,
        next_try_at=now,
        words="",
        received_at=now,
        ended_at=None if subject else now,
    )


def _worth_keeping(event: Mapping[str, Any]) -> dict[str, Any]:
    """Not names, addresses or the ends of card numbers: the truth is asked for anyway."""
    thing = (event.get("data") or {}).get("object") or {}
    kept = {name: thing[name] for name in KEPT_OF_OBJECT if name in thing}
    return {name: event[name] for name in KEPT_OF_EVENT if name in event} | {"object": kept}


def list_due_events(session: Session, now: datetime, limit: int) -> list[tuple[str, Subject]]:
    query = (
        select(EventRow.id, EventRow.subject_kind, EventRow.subject_id)
        .where(EventRow.state == EventState.RECEIVED, EventRow.next_try_at <= now)
        .order_by(EventRow.next_try_at)
        .limit(limit)
    )
    return [
        (row.id, Subject(cast(SubjectKind, row.subject_kind), str(row.subject_id))) for row in session.execute(query)
    ]


def end_event(session: Session, event_id: str, state: EventState, now: datetime, words: str = "") -> None:
    table = EventRow
    session.execute(
        update(table)
        .where(table.id == event_id, table.state == EventState.RECEIVED)
        .values(state=state, ended_at=now, words=words[:WORDS_LIMIT])
    )


def postpone_event(session: Session, event_id: str, words: str, now: datetime) -> None:
    row = session.get_one(EventRow, event_id)
    row.tries += 1
    row.next_try_at = now + wait_after(row.tries)
    row.words = words[:WORDS_LIMIT]


def replay_event(session: Session, event_id: str, now: datetime, actor: str) -> EventRow:
    """Look into it once more, whatever came of it before. Harmless: money that moved is not moved again."""
    row = session.get(EventRow, event_id)
    if row is None:
        raise NoSuchPaymentEvent(event_id)
    if row.subject_id is not None:
        row.state, row.next_try_at, row.ended_at = EventState.RECEIVED, now, None
        record(session, "payment_event.replayed", row.id[:40], now, actor=actor, type=row.type)
    return row


def list_events(
    session: Session, state: EventState | None, order: str, cursor: str | None, limit: int
) -> tuple[list[EventRow], str | None, int | None]:
    """A page, the cursor of the next one, and how many there are in all."""
    query = select(EventRow).where(EventRow.state == state) if state is not None else select(EventRow)
    return read_list(session, query, [EventRow.received_at, EventRow.id], cursor, limit, order)
