"""Rows in every table of the hub, and a way to compare two databases. New tables are covered by themselves."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Connection, DateTime, Engine, Float, Integer, LargeBinary, Table, select

from computepool.hub.core.tables import Instant
from computepool.hub.tables import metadata

START = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
ROWS = 3
ODD_TEXT = 'naïve ‘quotes’ "double" back\\slash\n\ttab 🛰'
ODD_JSON = {"text": ODD_TEXT, "big": 2**60, "fraction": 0.1, "nothing": None, "list": [1, [2, {"deep": True}]]}

# What the tables' checks ask for.
FIXED: dict[str, Any] = {
    "jobs.state": "queued",
    "jobs.finished_at": None,
    "slices.state": "queued",
    "slices.finished_at": None,
    "attempts.state": "leased",
    "attempts.finished_at": None,
    "artifacts.state": "uploading",
    "artifacts.stored_at": None,
    "artifacts.kind": "bundle",
    "artifacts.attempt_id": None,
    "artifacts.job_id": None,
    "artifacts.path": None,
    "disputes.state": "open",
    "disputes.outcome": None,
    "disputes.resolved_at": None,
    "mails.state": "waiting",
    "mails.ended_at": None,
    "invitations.accepted_at": None,
    "invitations.accepted_by": None,
    "users.email": "user{}@example.org",
    "users.managed_by": None,
}
"""In texts `{}` is the number of the row."""
MADE_BY_THE_HUB = {"hub_facts", "hub_keys"}


def fill(engine: Engine, rows: int = ROWS) -> None:
    with engine.begin() as connection:
        for table in metadata.sorted_tables:
            if table.name not in MADE_BY_THE_HUB:
                connection.execute(table.insert(), [_row(table, number) for number in range(rows)])


def everything(engine: Engine) -> dict[str, list[tuple]]:
    with engine.connect() as connection:
        return {table.name: _rows(connection, table) for table in metadata.sorted_tables}


def _rows(connection: Connection, table: Table) -> list[tuple]:
    return [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]


def _row(table: Table, number: int) -> dict[str, Any]:
    return {column.name: _value(table, column, number) for column in table.columns if column is not _counted(table)}


def _counted(table: Table) -> Column | None:
    """What the database counts by itself."""
    return table.autoincrement_column if "id" in table.columns and isinstance(table.c.id.type, Integer) else None


def _value(table: Table, column: Column, number: int) -> Any:
    name = f"{table.name}.{column.name}"
    if name in FIXED:
        return FIXED[name].format(number) if isinstance(FIXED[name], str) else FIXED[name]
    for key in column.foreign_keys:
        return _value(key.column.table, key.column, number)
    if column.nullable and number == 0:
        return None
    if isinstance(column.type, Instant | DateTime):
        return START + timedelta(hours=number)
    if isinstance(column.type, JSON):
        return ODD_JSON | {"number": number}
    if isinstance(column.type, Boolean):
        return number % 2 == 0
    if isinstance(column.type, Integer):
        return number + 1
    if isinstance(column.type, Float):
        return number + 0.5
    if isinstance(column.type, LargeBinary):
        return bytes([number, 0, 255, 10])
    length = getattr(column.type, "length", None) or 100
    return f"{number}{ODD_TEXT}"[:length] if length > 60 and not column.unique else f"{column.name}{number}"[-length:]
