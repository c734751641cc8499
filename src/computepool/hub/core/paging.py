"""Lists that grow without end, one page at a time, with an order and a bounded total.

A cursor is where a page ended. It is opaque to clients: what it holds may change with the query that it belongs to.
"""

import base64
import binascii
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar, cast

from fastapi import Query
from sqlalchemy import ColumnElement, Select, SQLColumnExpression, and_, false, func, literal, or_, select
from sqlalchemy.orm import Session

from computepool.hub.core.errors import Invalid

CURSOR_LIMIT = 200
Cursor = Annotated[str | None, Query(max_length=CURSOR_LIMIT)]
"""A handler's parameter of this type is the `next` of the page before."""
ByCreation = Annotated[Literal["-created_at", "created_at"], Query(description="`-`: the newest first.")]
"""A handler's parameter of this type is the `order` of a list that is sorted by age alone."""

Row = TypeVar("Row")
Key = str | int | datetime


TOTAL_LIMIT = 10_000
"""Totals are counted up to here: counting millions of rows takes longer than reading a page of them."""

SortKey = SQLColumnExpression[Any]


class BadCursor(Invalid):
    def __init__(self) -> None:
        super().__init__(
            "This cursor does not belong to this list.",
            hint="Send the `next` of the page before as it is, with the same filters and order.",
        )


def read_page(
    session: Session,
    query: Select[Row],
    keys: Sequence[SortKey],
    cursor: str | None,
    limit: int,
    *,
    ascending: bool = False,
    order: str | None = None,
) -> tuple[list[Row], str | None]:
    """The first columns of the rows after the cursor, and the cursor of the next page.

    `keys` sort the rows, the largest first or with `ascending` the smallest; together they name one row, and none of
    them is NULL (wrap a nullable one in `coalesce`). `order` is the name of that order, for a list that has several:
    a cursor of another one is refused.
    """
    rows, after = read_rows(session, query, keys, cursor, limit, ascending=ascending, order=order)
    return [row[0] for row in rows], after


def read_rows(
    session: Session,
    query: Select[*tuple[Any, ...]],
    keys: Sequence[SortKey],
    cursor: str | None,
    limit: int,
    *,
    ascending: bool = False,
    order: str | None = None,
) -> tuple[list[tuple[Any, ...]], str | None]:
    """As `read_page`, with all columns of the query."""
    marks = [] if order is None else [f"{'' if ascending else '-'}{order}"]
    if cursor is not None:
        found = read_cursor(cursor, [*(str for _ in marks), *(_kind_of(key) for key in keys)])
        if found[: len(marks)] != marks:
            raise BadCursor
        query = query.where(_after(keys, found[len(marks) :], ascending))
    sorting = [key.asc() if ascending else key.desc() for key in keys]
    rows = session.execute(query.add_columns(*keys).order_by(*sorting).limit(limit + 1)).all()
    following = cursor_of(*marks, *rows[limit - 1][-len(keys) :]) if len(rows) > limit else None
    return [tuple(row[: -len(keys)]) for row in rows[:limit]], following


def read_list(
    session: Session, query: Select[Row], keys: Sequence[SortKey], cursor: str | None, limit: int, order: str
) -> tuple[list[Row], str | None, int | None]:
    """As `read_page`, and how many rows there are in all. `order` is the name of the order, with `-` in front for the
    largest first."""
    name = order.removeprefix("-")
    rows, after = read_page(session, query, keys, cursor, limit, ascending=name == order, order=name)
    return rows, after, count_rows(session, query)


def count_rows(session: Session, query: Select[*tuple[Any, ...]]) -> int | None:
    """How many rows the query finds; None for more than TOTAL_LIMIT."""
    few = (
        query.order_by(None).with_only_columns(literal(1), maintain_column_froms=True).limit(TOTAL_LIMIT + 1).subquery()
    )
    found = session.scalar(select(func.count()).select_from(few)) or 0
    return found if found <= TOTAL_LIMIT else None


def cursor_of(*values: Key) -> str:
    plain = [value.isoformat() if isinstance(value, datetime) else value for value in values]
    return base64.urlsafe_b64encode(json.dumps(plain, separators=(",", ":")).encode()).decode().rstrip("=")


def read_cursor(cursor: str, kinds: Sequence[type[Key]]) -> list[Key]:
    """Raises BadCursor unless it has a value of each of these kinds."""
    try:
        found = json.loads(base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
        if not isinstance(found, list) or len(found) != len(kinds):
            raise BadCursor
        return [_value(value, kind) for value, kind in zip(found, kinds, strict=True)]
    except (ValueError, binascii.Error):
        raise BadCursor from None


def _value(value: object, kind: type[Key]) -> Key:
    if kind is datetime and isinstance(value, str):
        return datetime.fromisoformat(value)
    if kind is int and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        return value
    if kind is str and isinstance(value, str) and "\0" not in value:
        return value
    raise BadCursor


def _kind_of(key: SortKey) -> type[Key]:
    kind = cast("ColumnElement[Any]", key).type.python_type
    return datetime if issubclass(kind, datetime) else int if issubclass(kind, int) else str


def _after(keys: Sequence[SortKey], values: Sequence[Key], ascending: bool) -> ColumnElement[bool]:
    """By the first key that differs."""
    condition: ColumnElement[bool] = false()
    for key, value in reversed(list(zip(keys, values, strict=True))):
        beyond = key > value if ascending else key < value
        condition = or_(beyond, and_(key == value, condition))
    return condition
