"""Expressions that SQLite and PostgreSQL write differently."""

from typing import Any

from sqlalchemy import String
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class utc_day(FunctionElement[str]):  # noqa: N801 (it is written like a function)
    """The day of an instant in UTC, such as `2026-01-31`."""

    name = "utc_day"
    type = String()
    inherit_cache = True


@compiles(utc_day, "sqlite")
def _day_in_sqlite(element: utc_day, compiler: SQLCompiler, **options: Any) -> str:
    return f"substr({compiler.process(element.clauses, **options)}, 1, 10)"


@compiles(utc_day, "postgresql")
def _day_in_postgresql(element: utc_day, compiler: SQLCompiler, **options: Any) -> str:
    return f"to_char(({compiler.process(element.clauses, **options)}) AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
