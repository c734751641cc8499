"""Top-ups as rows: found by their request, moved by the table of states."""

from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from computepool.hub.core.paging import count_rows, read_page
from computepool.hub.payments.states import NEXT, UNDER_WAY, TopUpState
from computepool.hub.payments.tables import WORDS_LIMIT, TopUpRow

PREFIX = "top-up/"


def find_top_up(session: Session, request_key: str | None) -> TopUpRow | None:
    if request_key is None or not request_key.startswith(PREFIX):
        return None
    return session.get(TopUpRow, request_key.removeprefix(PREFIX))


def move_top_up(
    session: Session,
    top_up_id: str,
    state: TopUpState,
    now: datetime,
    *,
    payment_id: str | None = None,
    url: str | None = None,
    words: str = "",
) -> bool:
    """The one write of its state. False: it is past that already."""
    sources = [source for source, targets in NEXT.items() if state in targets]
    changed: dict[str, Any] = {"state": state, "url": url, "words": words[:WORDS_LIMIT]}
    if payment_id is not None:
        changed["payment_id"] = payment_id
    if state not in UNDER_WAY:
        changed["ended_at"] = now
    table = TopUpRow
    done = session.execute(
        update(table).where(table.id == top_up_id, table.state.in_(sources)).values(**changed).returning(table.id)
    )
    moved = done.first() is not None
    if moved:
        session.get_one(TopUpRow, top_up_id, populate_existing=True)
    return moved


def search_top_ups(
    session: Session,
    cursor: str | None,
    limit: int,
    *,
    owner_id: str | None = None,
    state: TopUpState | None = None,
    ascending: bool = False,
) -> tuple[list[TopUpRow], str | None, int | None]:
    """Everybody's: the newest first, or with `ascending` the oldest; the cursor of the next page, and how many."""
    query = select(TopUpRow)
    if owner_id is not None:
        query = query.where(TopUpRow.owner_id == owner_id)
    if state is not None:
        query = query.where(TopUpRow.state == state)
    rows, after = read_page(session, query, [TopUpRow.id], cursor, limit, ascending=ascending)
    return rows, after, count_rows(session, query)


def list_top_ups(
    session: Session, owner_ids: frozenset[str], cursor: str | None, limit: int
) -> tuple[list[TopUpRow], str | None]:
    """The newest first, and the cursor of the next page."""
    query = select(TopUpRow).where(TopUpRow.owner_id.in_(owner_ids))
    return read_page(session, query, [TopUpRow.id], cursor, limit)
