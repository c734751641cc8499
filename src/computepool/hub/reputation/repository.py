"""Records and their events in the database. What every attempt needs is built once (ADR 0012)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Row, Table, bindparam, func, select
from sqlalchemy.orm import Session

from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.paging import count_rows, read_rows
from computepool.hub.nodes.repository import FLEET_LIMIT
from computepool.hub.nodes.tables import Node
from computepool.hub.reputation.claims import Claim
from computepool.hub.reputation.declining import Declines
from computepool.hub.reputation.quarantine import Trouble
from computepool.hub.reputation.record import Happening, Record, fresh
from computepool.hub.reputation.reliability import Evidence
from computepool.hub.reputation.tables import Reputation, ReputationEvent
from computepool.protocol.states import NodeState, Verdict

UNDONE = ("taken_back", "upheld")
REPLAYED = 64
"""Events that a streak is worked out from anew. What is older has been made up for, or is forgiven."""

_RECORDS, _EVENTS, _NODES = (cast(Table, table.__table__) for table in (Reputation, ReputationEvent, Node))
_RECORD_OF_NODE = func.coalesce(_NODES.c.record_id, _NODES.c.id)
_FIND = select(_NODES.c.owner_id, *_RECORDS.c).join(_RECORDS, _RECORDS.c.id == _RECORD_OF_NODE)
_FIND_ONE = _FIND.where(_NODES.c.id == bindparam("node_id"))
_LOCK_ONE = _FIND_ONE.with_for_update(of=_RECORDS)
_LOCK_ALL = (
    select(_RECORDS.c.id)
    .join(_NODES, _RECORDS.c.id == _RECORD_OF_NODE)
    .where(_NODES.c.id.in_(bindparam("node_ids", expanding=True)))
    .order_by(_RECORDS.c.id)
    .with_for_update(of=_RECORDS)
)
_SAVE = _RECORDS.update().where(_RECORDS.c.id == bindparam("for_id"))
_ADD_EVENT = _EVENTS.insert()


@dataclass(frozen=True, slots=True)
class Found:
    id: str
    """Of the record."""
    owner_id: str
    record: Record


def lock(session: Session, node_id: str) -> Found:
    """The node's record, which nobody else changes until the end of this transaction. It begins with the first asking.

    Always locked last: whoever ends attempts has locked those before.
    """
    row = session.connection().execute(_LOCK_ONE, {"node_id": node_id}).first()
    if row is None:
        _begin(session, node_id)
        row = session.connection().execute(_LOCK_ONE, {"node_id": node_id}).one()
    return _found(row)


def lock_all(session: Session, node_ids: Iterable[str]) -> None:
    """Those that have begun, in one order, for whoever will lock several. SQLite has one writer anyway."""
    if session.get_bind().dialect.name != "sqlite":
        session.connection().execute(_LOCK_ALL, {"node_ids": list(node_ids)})


def find(session: Session, node_id: str) -> Record:
    """To look at. A node without a record is as good as new."""
    row = session.connection().execute(_FIND_ONE, {"node_id": node_id}).first()
    return _found(row).record if row is not None else fresh(session.get_one(Node, node_id).created_at)


def find_of(session: Session, node_ids: Sequence[str]) -> dict[str, Record]:
    """Of these nodes, by their ids; those without one are left out. As many as a page has."""
    if not node_ids:
        return {}
    query = _FIND.add_columns(_NODES.c.id.label("node_id")).where(_NODES.c.id.in_(node_ids)).limit(len(node_ids))
    return {row.node_id: _found(row).record for row in session.connection().execute(query)}


def list_of_fleet(session: Session) -> Iterator[tuple[str, Record]]:
    """(node, record) of every node that may take work and has one."""
    query = _FIND.add_columns(_NODES.c.id.label("node_id")).where(_NODES.c.state != NodeState.BANNED)
    for row in session.connection().execute(query.limit(FLEET_LIMIT)):
        yield row.node_id, _found(row).record


def save(session: Session, record_id: str, record: Record) -> None:
    """What attempts change."""
    trouble, claim, declines = record.trouble, record.claim, record.declines
    write(
        session,
        record_id,
        {
            "good": record.evidence.good,
            "bad": record.evidence.bad,
            "as_of": record.evidence.as_of,
            "ok_count": record.ok_count,
            "streak": trouble.streak,
            "clean": trouble.clean,
            "level": trouble.level,
            "quarantined_until": trouble.until,
            "slots": claim.slots,
            "slots_peak": claim.peak,
            "slots_strikes": claim.strikes,
            "slots_clean": claim.clean,
            "declines": declines.count,
            "declined_until": declines.until,
        },
    )


def write(session: Session, record_id: str, values: Mapping[str, Any]) -> None:
    session.connection().execute(_SAVE, {"for_id": record_id, **values})


def add_event(session: Session, values: Mapping[str, Any]) -> None:
    session.connection().execute(_ADD_EVENT, values)


def find_counted(session: Session, attempt_id: str) -> ReputationEvent | None:
    """What an attempt moved, if it was not undone."""
    return session.scalar(
        select(ReputationEvent)
        .where(ReputationEvent.attempt_id == attempt_id, ReputationEvent.resolution.is_(None))
        .order_by(ReputationEvent.id.desc())
        .limit(1)
    )


def list_replayed(session: Session, record_id: str, *, but: int) -> list[Happening]:
    """The newest that count, oldest first, without one."""
    counted = ReputationEvent.resolution.is_(None) | ReputationEvent.resolution.not_in(UNDONE)
    rows = session.scalars(
        select(ReputationEvent)
        .where(ReputationEvent.record_id == record_id, ReputationEvent.id != but, counted)
        .order_by(ReputationEvent.id.desc())
        .limit(REPLAYED)
    ).all()
    return [happening_of(row) for row in reversed(rows)]


def list_events(session: Session, record_id: str, before: int | None, limit: int) -> Sequence[ReputationEvent]:
    query = select(ReputationEvent).where(ReputationEvent.record_id == record_id)
    if before is not None:
        query = query.where(ReputationEvent.id < before)
    return session.scalars(query.order_by(ReputationEvent.id.desc()).limit(limit)).all()


_CONTESTS = (
    select(ReputationEvent, Node.name, Node.owner_id)
    .join(Node, Node.id == ReputationEvent.node_id)
    .where(ReputationEvent.contested_at.is_not(None))
)


ContestRow = tuple[ReputationEvent, str, str]
"""The event, its node's name, and that node's owner."""


def list_contests(
    session: Session,
    is_open: bool,
    node_id: str | None,
    owner_id: str | None,
    order: str,
    cursor: str | None,
    limit: int,
) -> tuple[list[ContestRow], str | None, int | None]:
    """A page, the cursor of the next one, and how many there are in all. `is_open`: only what nobody decided yet."""
    query = _CONTESTS
    if is_open:
        query = query.where(ReputationEvent.resolution.is_(None))
    for column, wanted in ((ReputationEvent.node_id, node_id), (Node.owner_id, owner_id)):
        if wanted is not None:
            query = query.where(column == wanted)
    rows, after = read_rows(
        session, query, [ReputationEvent.id], cursor, limit, ascending=not order.startswith("-"), order="at"
    )
    return [(event, name, owner) for event, name, owner in rows], after, count_rows(session, query)


def find_contest(session: Session, event_id: int) -> ContestRow | None:
    row = session.execute(_CONTESTS.where(ReputationEvent.id == event_id)).one_or_none()
    return None if row is None else (row[0], row[1], row[2])


def happening_of(event: ReputationEvent) -> Happening:
    return Happening(Verdict(event.verdict), event.weight, event.at, event.crowd)


def record_id_of(node: Node) -> str:
    return node.record_id or node.id


def _begin(session: Session, node_id: str) -> None:
    node = session.get_one(Node, node_id)
    first = node if node.record_id is None else session.get_one(Node, node.record_id)
    insert_if_absent(
        session,
        Reputation,
        ["id"],
        id=first.id,
        good=0.0,
        bad=0.0,
        as_of=first.created_at,
        ok_count=0,
        streak=0,
        clean=0,
        level=0,
        slots_peak=0,
        slots_strikes=0,
        slots_clean=0,
        declines=0,
        proven=False,
        audited_ok=0,
        audited_wrong=0,
        first_seen=first.created_at,
        online_days={},
    )


def _found(row: Row[Any]) -> Found:
    return Found(
        row.id,
        row.owner_id,
        Record(
            evidence=Evidence(row.good, row.bad, row.as_of),
            first_seen=row.first_seen,
            ok_count=row.ok_count,
            trouble=Trouble(row.streak, row.clean, row.level, row.quarantined_until),
            claim=Claim(row.slots, row.slots_peak, row.slots_strikes, row.slots_clean),
            declines=Declines(row.declines, row.declined_until),
            marked=row.marked_at is not None,
            proven=row.proven,
            audited_ok=row.audited_ok,
            audited_wrong=row.audited_wrong,
            online_since=row.online_since,
            online_days=row.online_days,
        ),
    )
