"""Instants in SQL as whole numbers: the same sums and the same days on both databases."""

from typing import Any

from sqlalchemy import BigInteger, ColumnElement
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

MICROSECONDS = 1_000_000
DAY_MICROSECONDS = 86_400 * MICROSECONDS


class epoch_microseconds(FunctionElement[int]):  # noqa: N801 (a function of SQL)
    """Microseconds from the epoch to the instant of a column."""

    type = BigInteger()
    inherit_cache = True


@compiles(epoch_microseconds, "sqlite")
def _of_sqlite(element: epoch_microseconds, compiler: SQLCompiler, **options: Any) -> str:
    """It keeps instants as text, `2026-11-18 13:00:00.123456`."""
    column = compiler.process(element.clauses, **options)
    seconds = f"CAST(strftime('%s', substr({column}, 1, 19)) AS INTEGER)"
    return f"({seconds} * {MICROSECONDS} + CAST(substr({column}, 21, 6) AS INTEGER))"


@compiles(epoch_microseconds, "postgresql")
def _of_postgresql(element: epoch_microseconds, compiler: SQLCompiler, **options: Any) -> str:
    column = compiler.process(element.clauses, **options)
    return f"CAST(EXTRACT(EPOCH FROM {column}) * {MICROSECONDS} AS BIGINT)"


def day_number(column: Any) -> ColumnElement[int]:
    """Days of UTC from the epoch to that of the instant."""
    return epoch_microseconds(column) // DAY_MICROSECONDS
