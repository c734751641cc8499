"""Statements that go to the driver as they are: for the few that run in every settlement, where building and compiling
an expression takes longer than the database."""

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

from sqlalchemy import Connection


def rows_by_driver(connection: Connection, words: str, rows: Sequence[Sequence[Any]]) -> list[Any]:
    """What it returns. `{rows}` in `words` becomes `(?, ?), (?, ?)`. Numbers and strings only: nothing is converted."""
    statement = _statement(connection.dialect.name, words, len(rows), len(rows[0]))
    result = connection.exec_driver_sql(statement, tuple(chain.from_iterable(rows)))
    return list(result) if result.returns_rows else []


@cache
def _statement(dialect: str, words: str, rows: int, columns: int) -> str:
    row = f"({', '.join(['?' if dialect == 'sqlite' else '%s'] * columns)})"
    return words.format(rows=", ".join([row] * rows))
