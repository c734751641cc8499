"""Top-ups as rows: found by their request, moved by the table of states."""

from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from computepool.hub.core.paging import read_list
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


def list_top_ups(
    session: Session,
    owner_ids: frozenset[str] | None,
    state: TopUpState | None,
    order: str,
    cursor: str | None,
    limit: int,
) -> tuple[list[TopUpRow], str | None, int | None]:
    """A page, the cursor of the next one, and how many there are in all. `owner_ids`: None for everybody's."""
    query = select(TopUpRow)
    if owner_ids is not None:
        query = query.where(TopUpRow.owner_id.in_(sorted(owner_ids)))
    if state is not None:
        query = query.where(TopUpRow.state == state)
    return read_list(session, query, [TopUpRow.id], cursor, limit, order)
