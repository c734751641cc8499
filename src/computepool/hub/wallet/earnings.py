"""What a host's nodes earned, by node and day of UTC: from the ledger, what was given back taken off."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import case, func, or_, select
from sqlalchemy.orm import Session

from computepool.hub.core.errors import Invalid
from computepool.hub.jobs.tables import Attempt
from computepool.hub.ledger.accounts import Kind, account, kind_of
from computepool.hub.ledger.tables import EntryRow, PostingRow
from computepool.hub.nodes.tables import Node
from computepool.protocol.model import Documented

DAYS_SHOWN = 30
DAYS_LIMIT = 366
READ_AT_ONCE = 5_000
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


class EarningsView(Documented):
    since: date
    until: date
    """Itself not included."""
    items: list[DayEarned]
    """By day, the newest first, then by node."""
    earned_micros: int


@dataclass(slots=True)
class _Sum:
    earnings: int = 0
    promotional: int = 0
    debt: int = 0


def list_earnings(session: Session, owner_id: str, since: date, until: date) -> EarningsView:
    sums: dict[tuple[date, str, str], _Sum] = defaultdict(_Sum)
    attempts: dict[tuple[date, str, str], set[str]] = defaultdict(set)
    mine = {account(owner_id, kind): kind_of(account(owner_id, kind)) for kind in _POCKETS}
    rows = session.execute(
        select(
            EntryRow.created_at,
            Attempt.id,
            Node.id,
            Node.name,
            PostingRow.source,
            PostingRow.destination,
            PostingRow.micros,
        )
        .join(PostingRow, PostingRow.entry_id == EntryRow.id)
        .join(Attempt, Attempt.id == EntryRow.attempt_id)
        .join(Node, Node.id == Attempt.node_id)
        .where(or_(PostingRow.source.in_(list(mine)), PostingRow.destination.in_(list(mine))))
        .where(EntryRow.created_at >= _midnight(since), EntryRow.created_at < _midnight(until))
        # What a host spends as a renter comes out of the same pockets, for attempts at others'.
        .where(Attempt.terms["host_id"].as_string() == owner_id)
        .execution_options(yield_per=READ_AT_ONCE)
    )
    for at, attempt_id, node_id, name, source, destination, micros in rows:
        key = (at.date(), node_id, name)
        attempts[key].add(attempt_id)
        for account_name, sign in ((source, -1), (destination, 1)):
            if account_name in mine:
                pocket = mine[account_name]
                setattr(sums[key], pocket, getattr(sums[key], pocket) + sign * micros)
    items = [
        DayEarned(
            node_id=node_id,
            node_name=name,
            day=day,
            attempts=len(attempts[day, node_id, name]),
            earned_micros=one.earnings + one.promotional + one.debt,
            cashable_micros=one.earnings,
            promotional_micros=one.promotional,
        )
        for (day, node_id, name), one in sorted(sums.items(), key=lambda item: (-item[0][0].toordinal(), item[0][2]))
    ]
    return EarningsView(since=since, until=until, items=items, earned_micros=sum(one.earned_micros for one in items))


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
