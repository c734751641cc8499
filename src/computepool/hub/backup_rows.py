"""Rows as a backup keeps them: the same on every database, whatever revision their tables have."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Float,
    Insert,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    String,
    TableClause,
    Text,
    TypeDecorator,
    cast,
    column,
    select,
    table,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeEngine

from computepool.hub.core.tables import Instant

ALEMBIC_TABLE = "alembic_version"
"""Not a row of ours: the restore makes it anew."""


class JsonText(TypeDecorator[str]):
    """PostgreSQL's JSON as the text that SQLite keeps: exact numbers, and NULL is not the same as `null`."""

    impl = Text
    cache_ok = True

    def column_expression(self, column: ColumnElement[Any]) -> ColumnElement[Any]:
        return cast(column, Text)

    def bind_expression(self, bindparam: ColumnElement[Any]) -> ColumnElement[Any]:
        return cast(bindparam, postgresql.JSONB)


_KINDS: tuple[tuple[type[TypeEngine[Any]], str], ...] = (
    (JSON, "json"),
    (DateTime, "instant"),
    (Boolean, "bool"),
    (Integer, "int"),
    (Float, "float"),
    (LargeBinary, "bytes"),
    (String, "text"),
)
_TYPES: dict[str, TypeEngine[Any]] = {
    "json": Text(),
    "instant": Instant(),
    "bool": Boolean(),
    "int": BigInteger(),
    "float": Float(),
    "bytes": LargeBinary(),
    "text": Text(),
}


@dataclass(frozen=True)
class TableShape:
    name: str
    columns: list[tuple[str, str]]
    """Each with its kind."""
    dialect: str
    order: tuple[str, ...] = ()

    def select(self) -> Select[Any]:
        rows = self._table()
        return select(*rows.columns).order_by(*(rows.columns[name] for name in self.order))

    def insert(self) -> Insert:
        return self._table().insert()

    def to_json(self, row: Sequence[Any]) -> list[Any]:
        return [_encode(kind, value) for (_, kind), value in zip(self.columns, row, strict=True)]

    def from_json(self, line: list[Any]) -> dict[str, Any]:
        return {name: _decode(kind, value) for (name, kind), value in zip(self.columns, line, strict=True)}

    def _table(self) -> TableClause:
        return table(self.name, *(column(name, self._type(kind)) for name, kind in self.columns))

    def _type(self, kind: str) -> TypeEngine[Any]:
        return JsonText() if kind == "json" and self.dialect == "postgresql" else _TYPES[kind]


def shapes_of(connection: Connection) -> list[TableShape]:
    """Of every table that is there, those that others refer to first."""
    found = MetaData()
    found.reflect(connection)
    return [
        TableShape(
            name=one.name,
            columns=[(each.name, _kind_of(each)) for each in one.columns],
            dialect=connection.dialect.name,
            order=tuple(each.name for each in one.primary_key),
        )
        for one in found.sorted_tables
        if one.name != ALEMBIC_TABLE
    ]


def _kind_of(one: Column[Any]) -> str:
    for generic, kind in _KINDS:
        if isinstance(one.type, generic):
            return kind
    raise TypeError(f"a backup cannot keep {one.table.name}.{one.name}, which is {one.type!r}")


def _encode(kind: str, value: Any) -> Any:
    if value is None:
        return None
    if kind == "instant":
        return value.astimezone(UTC).isoformat()
    return base64.b64encode(value).decode() if kind == "bytes" else value


def _decode(kind: str, value: Any) -> Any:
    if value is None:
        return None
    if kind == "instant":
        return datetime.fromisoformat(value)
    return base64.b64decode(value) if kind == "bytes" else value
