"""Lists that grow without end, newest first, one page at a time.

A cursor is where a page ended. It is opaque to clients: what it holds may change with the query that it belongs to.
"""

import base64
import binascii
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar

from fastapi import Query
from sqlalchemy import ColumnElement, Select, and_, false, or_
from sqlalchemy.orm import InstrumentedAttribute, Session

from computepool.hub.core.errors import Invalid

CURSOR_LIMIT = 200
Cursor = Annotated[str | None, Query(max_length=CURSOR_LIMIT)]
"""A handler's parameter of this type is the `next` of the page before."""

Row = TypeVar("Row")
Key = str | int | datetime


class BadCursor(Invalid):
    def __init__(self) -> None:
        super().__init__("This cursor is none of ours.", hint="Send the `next` of the page before, as it is.")


def read_page(
    session: Session,
    query: Select[Row],
    keys: Sequence[InstrumentedAttribute[Any]],
    cursor: str | None,
    limit: int,
) -> tuple[list[Row], str | None]:
    """The rows after the cursor, and the cursor of the next page. `keys` order them, the largest first, and together
    name one row."""
    if cursor is not None:
        query = query.where(_after(keys, read_cursor(cursor, [_kind_of(key) for key in keys])))
    rows = list(session.scalars(query.order_by(*(key.desc() for key in keys)).limit(limit + 1)))
    if len(rows) <= limit:
        return rows, None
    return rows[:limit], cursor_of(*(getattr(rows[limit - 1], key.key) for key in keys))


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


def _kind_of(key: InstrumentedAttribute[Any]) -> type[Key]:
    kind = key.type.python_type
    return datetime if issubclass(kind, datetime) else int if issubclass(kind, int) else str


def _after(keys: Sequence[InstrumentedAttribute[Any]], values: Sequence[Key]) -> ColumnElement[bool]:
    """By the first key that differs."""
    condition: ColumnElement[bool] = false()
    for key, value in reversed(list(zip(keys, values, strict=True))):
        condition = or_(key < value, and_(key == value, condition))
    return condition
