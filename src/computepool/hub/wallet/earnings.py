"""What a host's nodes earned, by node and day of UTC: from the ledger, what was given back taken off."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, case, func, or_, select
from sqlalchemy.orm import Session

from computepool.hub.core.errors import Invalid
from computepool.hub.core.sql import utc_day
from computepool.hub.jobs.tables import Attempt
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.tables import EntryRow, PostingRow
from computepool.hub.ledger.timeline import first_entry_since
from computepool.hub.nodes.tables import Node
from computepool.protocol.model import Documented

DAYS_SHOWN = 30
DAYS_LIMIT = 366
_POCKETS = (Kind.EARNINGS, Kind.PROMOTIONAL, Kind.DEBT)


class DayEarned(Documented):
    node_id: str
    node_name: str
    day: date
    """Of UTC."""
    attempts: int
    """For which something came or went."""
    earned_micros: int
    """All together, what was given back taken off."""
    cashable_micros: int
    """Of that, as earnings; what filled up a debt is in neither of these two."""
    promotional_micros: int
    """Of that, to be spent and never cashed out."""


class DayTotal(Documented):
    day: date
    """Of UTC."""
    attempts: int
    """For which something came or went."""
    earned_micros: int
    """All nodes together, what was given back taken off."""


class NodeTotal(Documented):
    node_id: str
    node_name: str
    attempts: int
    """For which something came or went."""
    earned_micros: int
    """All days together, what was given back taken off."""


class EarningsView(Documented):
    since: date
    until: date
    """Itself not included."""
    items: list[DayEarned]
    """By day, the newest first, then by node. Days on which a node earned nothing are left out."""
    days: list[DayTotal]
    """Every day, the oldest first, also those without earnings."""
    nodes: list[NodeTotal]
    """The same by node, the one that earned most first."""
    earned_micros: int


def list_earnings(
    session: Session, owner_id: str, since: date, until: date, node_id: str | None = None
) -> EarningsView:
    items = [
        DayEarned(
            node_id=found_id,
            node_name=name,
            day=date.fromisoformat(day),
            attempts=attempts,
            earned_micros=int(earnings) + int(promotional) + int(debt),
            cashable_micros=int(earnings),
            promotional_micros=int(promotional),
        )
        for day, found_id, name, attempts, earnings, promotional, debt in session.execute(
            _sums(session, owner_id, since, until, node_id)
        )
    ]
    items.sort(key=lambda one: (-one.day.toordinal(), one.node_name, one.node_id))
    days: Counter[date] = Counter()
    nodes: Counter[tuple[str, str]] = Counter()
    tries: Counter[date | str] = Counter()
    for one in items:
        days[one.day] += one.earned_micros
        nodes[one.node_id, one.node_name] += one.earned_micros
        tries[one.day] += one.attempts
        tries[one.node_id] += one.attempts
    every = [date.fromordinal(number) for number in range(since.toordinal(), until.toordinal())]
    return EarningsView(
        since=since,
        until=until,
        items=items,
        days=[DayTotal(day=day, attempts=tries[day], earned_micros=days[day]) for day in every],
        nodes=[
            NodeTotal(node_id=found_id, node_name=name, attempts=tries[found_id], earned_micros=micros)
            for (found_id, name), micros in sorted(nodes.items(), key=lambda item: (-item[1], item[0]))
        ],
        earned_micros=sum(days.values()),
    )


def _sums(session: Session, owner_id: str, since: date, until: date, node_id: str | None) -> Select[*tuple[Any, ...]]:
    """By day and node: attempts, and what came into each pocket, less what went out of it."""
    names = [account(owner_id, kind) for kind in _POCKETS]
    begin, end = _midnight(since), _midnight(until)
    # Entries are numbered as time goes by: this lets the indexes of accounts skip what is older.
    first, beyond = first_entry_since(session, begin), first_entry_since(session, end + timedelta(minutes=20))
    day = utc_day(EntryRow.created_at)

    def net(name: str) -> ColumnElement[int]:
        came = case((PostingRow.destination == name, PostingRow.micros), else_=0)
        return func.sum(came - case((PostingRow.source == name, PostingRow.micros), else_=0))

    query = (
        select(day, Node.id, Node.name, func.count(Attempt.id.distinct()), *(net(name) for name in names))
        .select_from(PostingRow)
        .join(EntryRow, EntryRow.id == PostingRow.entry_id)
        .join(Attempt, Attempt.id == EntryRow.attempt_id)
        .join(Node, Node.id == Attempt.node_id)
        .where(or_(PostingRow.source.in_(names), PostingRow.destination.in_(names)))
        .where(PostingRow.entry_id >= first, PostingRow.entry_id < beyond)
        .where(EntryRow.created_at >= begin, EntryRow.created_at < end)
        # What a host spends as a renter comes out of the same pockets, for attempts at others'.
        .where(Attempt.terms["host_id"].as_string() == owner_id)
        .group_by(day, Node.id, Node.name)
    )
    return query if node_id is None else query.where(Node.id == node_id)


def earned_by_node(session: Session, nodes: Sequence[Node], day: date, first_entry: int) -> dict[str, int]:
    """What each of these nodes earned since that day began, what was given back taken off. `first_entry`: no entry of
    that day has a smaller number."""
    accounts = [account(owner_id, kind) for owner_id in {node.owner_id for node in nodes} for kind in _POCKETS]
    host = Attempt.terms["host_id"].as_string()
    mine = [host + f"/{kind}" for kind in _POCKETS]
    came = case((PostingRow.destination.in_(mine), PostingRow.micros), else_=0)
    went = case((PostingRow.source.in_(mine), PostingRow.micros), else_=0)
    query = (
        select(Attempt.node_id, func.sum(came - went))
        .join(EntryRow, EntryRow.attempt_id == Attempt.id)
        .join(PostingRow, PostingRow.entry_id == EntryRow.id)
        .where(or_(PostingRow.source.in_(accounts), PostingRow.destination.in_(accounts)))
        .where(PostingRow.entry_id >= first_entry, EntryRow.created_at >= _midnight(day))
        .where(Attempt.node_id.in_([node.id for node in nodes]))
        .group_by(Attempt.node_id)
        .limit(len(nodes) or 1)
    )
    return {node_id: int(micros) for node_id, micros in session.execute(query)}


def days_asked(since: date | None, until: date | None, now: datetime) -> tuple[date, date]:
    """(first day, day after the last); without a wish the last thirty."""
    last = until or now.astimezone(UTC).date() + timedelta(days=1)
    first = since or date.fromordinal(max(1, last.toordinal() - DAYS_SHOWN))
    if not 0 < (last - first).days <= DAYS_LIMIT:
        raise Invalid(f"`since` has to be 1 to {DAYS_LIMIT} days before `until`.")
    return first, last


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)
