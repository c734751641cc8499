"""An insert that two callers may race for, on either database."""

from functools import cache
from typing import Any, cast

from sqlalchemy import Executable, Table, literal_column
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from computepool.hub.core.tables import Base


def insert_if_absent(session: Session, table: type[Base], unique: list[str], **values: Any) -> bool:
    """Whether the row is ours now. If not, whoever has the columns `unique` came first, and has committed."""
    connection = session.connection()
    statement = _statement(connection.dialect.name, table, tuple(unique))
    return connection.execute(statement, values).first() is not None


@cache
def _statement(dialect: str, table: type[Base], unique: tuple[str, ...]) -> Executable:
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    row = insert(cast(Table, table.__table__))
    return row.on_conflict_do_nothing(index_elements=unique).returning(literal_column("1"))
