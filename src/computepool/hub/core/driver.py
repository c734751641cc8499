"""Statements that go to the driver as they are: for the few that run in every settlement, where building and compiling
an expression takes longer than the database."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import Any

from sqlalchemy import Column, Connection

_CONVERTERS: dict[tuple[str, Column[Any]], Callable[[Any], Any]] = {}


def by_driver(connection: Connection, words: str, values: Sequence[Any]) -> list[Any]:
    """What it returns. A value's place is a `?`; numbers and strings go as they are, for the others see `as_stored`."""
    if connection.dialect.name != "sqlite":
        words = _in_psycopgs_words(words)
    result = connection.exec_driver_sql(words, tuple(values))
    return list(result) if result.returns_rows else []


def rows_by_driver(connection: Connection, words: str, rows: Sequence[Sequence[Any]]) -> list[Any]:
    """The same for several at once: `{rows}` in `words` becomes `(?, ?), (?, ?)`."""
    return by_driver(connection, _with_rows(words, len(rows), len(rows[0])), tuple(chain.from_iterable(rows)))


def as_stored(connection: Connection, column: Column[Any], value: Any) -> Any:
    """An instant or JSON as its column has it in this database."""
    known = (connection.dialect.name, column)
    convert = _CONVERTERS.get(known)
    if convert is None:
        convert = column.type.dialect_impl(connection.dialect).bind_processor(connection.dialect) or _as_it_is
        _CONVERTERS[known] = convert
    return convert(value)


@cache
def _with_rows(words: str, rows: int, columns: int) -> str:
    row = f"({', '.join(['?'] * columns)})"
    return words.format(rows=", ".join([row] * rows))


@cache
def _in_psycopgs_words(words: str) -> str:
    return words.replace("%", "%%").replace("?", "%s")


def _as_it_is(value: Any) -> Any:
    return value
