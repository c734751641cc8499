"""The months and years of which an owner has a statement with something in it."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, exists, literal, or_, select, union_all
from sqlalchemy.orm import Session

from computepool.hub.core.owners import Owner
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.tables import EntryRow, PostingRow
from computepool.hub.ledger.timeline import first_entry_since
from computepool.hub.wallet.periods import Period, month_of, parse_period
from computepool.protocol.model import Documented

MONTHS_LIMIT = 240
SLACK = timedelta(minutes=20)
"""Entries around midnight may be numbered in another order than they are dated."""


class StatementPeriod(Documented):
    period: str
    """Of `wallet/statements/{period}`: a month such as 2026-11, or a year."""
    start: datetime
    end: datetime
    """Itself not included."""
    is_over: bool
    """Else its statement goes up to now."""


class StatementPeriods(Documented):
    months: list[StatementPeriod]
    """With at least one entry, the newest first."""
    years: list[StatementPeriod]
    """The years of these months, the newest first."""


class StatementMonths:
    """Knows where months begin among the entries: that is the same for everybody, and does not change."""

    def __init__(self) -> None:
        self._starts: dict[datetime, int] = {}

    def show(self, session: Session, owner_id: str, now: datetime) -> StatementPeriods:
        months = list(self._with_entries(session, owner_id, now))
        years = dict.fromkeys(month.name[:4] for month in months)
        return StatementPeriods(
            months=[_view(month, now) for month in months], years=[_view(parse_period(year), now) for year in years]
        )

    def _with_entries(self, session: Session, owner_id: str, now: datetime) -> Iterator[Period]:
        owner = session.get(Owner, owner_id)
        if owner is None:
            return
        month, first = month_of(now), month_of(owner.created_at)
        months = [month]
        while month.start > first.start and len(months) < MONTHS_LIMIT:
            month = month_of(month.start - timedelta(days=1))
            months.append(month)
        names = [account(owner_id, kind) for kind in Kind]
        queries = [select(literal(month.name)).where(self._has_entry(session, names, month, now)) for month in months]
        found = set(session.scalars(union_all(*queries)))
        yield from (month for month in months if month.name in found)

    def _has_entry(self, session: Session, names: list[str], month: Period, now: datetime) -> ColumnElement[bool]:
        first, beyond = self._number(session, month.start, now), self._number(session, month.end + SLACK, now)
        one = (
            select(PostingRow.entry_id)
            .join(EntryRow, EntryRow.id == PostingRow.entry_id)
            .where(PostingRow.entry_id >= first, PostingRow.entry_id < beyond)
            .where(EntryRow.created_at >= month.start, EntryRow.created_at < month.end)
        )
        sides = (PostingRow.source, PostingRow.destination)
        return or_(*(exists(one.where(side.in_(names))) for side in sides))

    def _number(self, session: Session, instant: datetime, now: datetime) -> int:
        if instant in self._starts:
            return self._starts[instant]
        found = first_entry_since(session, instant)
        if instant < now - SLACK:
            self._starts[instant] = found
        return found


def _view(period: Period, now: datetime) -> StatementPeriod:
    return StatementPeriod(period=period.name, start=period.start, end=period.end, is_over=period.end <= now)
