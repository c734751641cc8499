"""Entries are numbered as time goes by: where a moment is among them is found without an index of times."""

from datetime import UTC, date, datetime, time, timedelta
from typing import cast

from sqlalchemy import Table, bindparam, func, select
from sqlalchemy.orm import Session

from computepool.hub.ledger.tables import EntryRow

SLACK = timedelta(minutes=10)
"""Transactions that run at once are numbered in one order and dated in another."""

_ENTRIES = cast(Table, EntryRow.__table__)
_FIRST_FROM = (
    select(_ENTRIES.c.id, _ENTRIES.c.created_at)
    .where(_ENTRIES.c.id >= bindparam("least"))
    .order_by(_ENTRIES.c.id)
    .limit(1)
)


def first_entry_since(session: Session, instant: datetime) -> int:
    """No entry with a smaller number is from then or later. Some with a larger one may be a little older."""
    instant -= SLACK
    least, beyond = 0, (session.scalar(select(func.max(EntryRow.id))) or 0) + 1
    connection = session.connection()
    while least < beyond:
        middle = (least + beyond) // 2
        found = connection.execute(_FIRST_FROM, {"least": middle}).one_or_none()
        if found is None or found.created_at >= instant:
            beyond = middle
        else:
            least = found.id + 1
    return least


class DayStart:
    """Where today begins among the entries: looked for once a day."""

    def __init__(self) -> None:
        self._known: tuple[date, int] | None = None

    def first_entry(self, session: Session, now: datetime) -> int:
        """As `first_entry_since` midnight of UTC."""
        day = now.astimezone(UTC).date()
        known = self._known
        if known is None or known[0] != day:
            known = self._known = (day, first_entry_since(session, datetime.combine(day, time.min, UTC)))
        return known[1]
