"""An insert that two callers may race for, on either database."""

from typing import Any

from sqlalchemy import literal_column
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from computepool.hub.core.tables import Base


def insert_if_absent(session: Session, table: type[Base], unique: list[str], **values: Any) -> bool:
    """Whether the row is ours now. If not, whoever has the columns `unique` came first, and has committed."""
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    statement = insert(table).values(**values).on_conflict_do_nothing(index_elements=unique)
    return session.execute(statement.returning(literal_column("1"))).first() is not None
