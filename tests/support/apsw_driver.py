"""SQLite through apsw, dressed as Python's own sqlite3 module as far as SQLAlchemy's dialect and the hub need it.

apsw lets a test stand between SQLite and its files; the hub's own database layer then runs on it unchanged.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import apsw

apilevel = "2.0"
threadsafety = 1
paramstyle = "qmark"
sqlite_version = apsw.sqlite_lib_version()
sqlite_version_info = tuple(int(part) for part in sqlite_version.split("."))
Binary = memoryview

Error = apsw.Error


class DatabaseError(Error):
    pass


class InterfaceError(Error):
    pass


class DataError(DatabaseError):
    pass


class InternalError(DatabaseError):
    pass


class NotSupportedError(DatabaseError):
    pass


IntegrityError = apsw.ConstraintError
OperationalError = apsw.SQLError
ProgrammingError = apsw.BindingsError


def connect(database: str, *, vfs: str, check_same_thread: bool = True, **_: Any) -> "Connection":
    return Connection(apsw.Connection(database, vfs=vfs))


class Connection:
    isolation_level: str | None = None

    def __init__(self, real: apsw.Connection) -> None:
        self._real = real

    @property
    def in_transaction(self) -> bool:
        return self._real.in_transaction

    def cursor(self) -> "Cursor":
        return Cursor(self._real)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> "Cursor":
        return self.cursor().execute(statement, values)

    def create_function(self, name: str, count: int, function: Any, **_: Any) -> None:
        self._real.create_scalar_function(name, function, count)

    def commit(self) -> None:
        if self.in_transaction:
            self._real.execute("COMMIT")

    def rollback(self) -> None:
        if self.in_transaction:
            self._real.execute("ROLLBACK")

    def close(self) -> None:
        self._real.close()


class Cursor:
    """Takes all rows at once: a statement that is still open would keep SQLite from committing."""

    arraysize = 1

    def __init__(self, real: apsw.Connection) -> None:
        self._connection = real
        self._rows: list[Any] = []
        self.description: tuple | None = None
        self.rowcount = -1
        self.lastrowid = 0

    def execute(self, statement: str, values: Sequence[Any] = ()) -> "Cursor":
        return self._run(lambda cursor: cursor.execute(statement, tuple(values)))

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> "Cursor":
        return self._run(lambda cursor: cursor.executemany(statement, [tuple(row) for row in rows]))

    def _run(self, start: Callable[[apsw.Cursor], apsw.Cursor]) -> "Cursor":
        def describe(cursor: apsw.Cursor, _statement: str, _values: Any) -> bool:
            """Asked before the first row: apsw forgets it after the last."""
            self.description = tuple((name, *(None,) * 6) for name, *_ in cursor.get_description()) or None
            return True

        cursor, before = self._connection.cursor(), self._connection.total_changes()
        cursor.exec_trace = describe
        try:
            self._rows = start(cursor).fetchall()
        finally:
            cursor.close(True)
        self.rowcount = self._connection.total_changes() - before
        self.lastrowid = self._connection.last_insert_rowid()
        return self

    def fetchone(self) -> Any:
        return self._rows.pop(0) if self._rows else None

    def fetchall(self) -> list[Any]:
        return self.fetchmany(len(self._rows))

    def fetchmany(self, size: int = 1) -> list[Any]:
        rows, self._rows = self._rows[:size], self._rows[size:]
        return rows

    def close(self) -> None:
        self._rows = []
