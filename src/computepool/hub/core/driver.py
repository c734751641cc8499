"""Statements that go to the driver as they are: for the few that run in every settlement, where SQLAlchemy's building,
compiling, cursors and rows take longer than the database."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from itertools import chain
from json import dumps
from typing import Any, cast

from sqlalchemy import Column, Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

_CONVERTERS: dict[Column[Any], Callable[[Any], Any] | None] = {}
"""Of SQLite."""


class Driver:
    """Of one session, for its one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._dialect = connection.dialect
        self._driver: Any = connection.connection.driver_connection
        self.is_sqlite = self._dialect.name == "sqlite"

    def run(self, words: str, values: Sequence[Any]) -> list[Any]:
        """What it returns. A value's place is a `?`; numbers and strings go as they are, for the others see `stored`.
        Failures are told in SQLAlchemy's words."""
        if not self.is_sqlite:
            words = _in_psycopgs_words(words)
        cursor = self._driver.cursor()
        try:
            cursor.execute(words, values)
            return cast(list[Any], cursor.fetchall()) if cursor.description else []
        except self._dialect.loaded_dbapi.Error as error:
            raise self._in_sqlalchemys_words(error, words, values, cursor) from error
        finally:
            cursor.close()

    def run_among(self, words: str, values: Sequence[str]) -> list[Any]:
        """`{among}` in `words` is where the values are: `WHERE account {among}`."""
        if self.is_sqlite:
            return self.run(_with_among(words, len(values)), values)
        return self.run(_with_array(words), (list(values),))

    def run_rows(self, words: str, columns: str, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """`{rows}` in `words` is where they are: `INSERT INTO t (a, b) {rows}`. `columns`: `a bigint, b text`.

        PostgreSQL gets them as one document: hundreds of places would be found in its words anew each time.
        """
        if self.is_sqlite:
            return self.run(_with_rows(words, len(rows), len(rows[0])), tuple(chain.from_iterable(rows)))
        names = _names_of(columns)
        documents = [dict(zip(names, row, strict=True)) for row in rows]
        is_one = len(rows) == 1  # which it is told, or it would plan for a hundred
        document = dumps(documents[0] if is_one else documents, default=_instant_in_json)
        read = "json_to_record" if is_one else "json_to_recordset"
        return self.run(_with_document(words, columns, read), (document,))

    def stored(self, column: Column[Any], value: Any) -> Any:
        """An instant or JSON as a row has it, for `run_rows`."""
        if not self.is_sqlite:
            return value
        convert = _CONVERTERS.get(column)
        if convert is None:
            convert = _CONVERTERS[column] = column.type.dialect_impl(self._dialect).bind_processor(self._dialect)
        return convert(value) if convert is not None else value

    def _in_sqlalchemys_words(self, error: Exception, words: str, values: Sequence[Any], cursor: Any) -> BaseException:
        is_lost = self._dialect.is_disconnect(cast(Any, error), self._driver, cursor)
        if is_lost:
            self._connection.invalidate(error)
        base = self._dialect.loaded_dbapi.Error
        return DBAPIError.instance(
            words, tuple(values), error, base, connection_invalidated=is_lost, dialect=self._dialect
        )


def driver_of(session: Session) -> Driver:
    """To find a session's connection takes as long as a statement: it is remembered."""
    transaction, driver = session.info.get("driver", (None, None))
    if driver is None or transaction is not session.get_transaction():
        driver = Driver(session.connection())
        session.info["driver"] = (session.get_transaction(), driver)
    return cast(Driver, driver)


def _instant_in_json(value: object) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"{type(value).__name__} is not JSON serializable")
    if value.tzinfo is None:
        raise ValueError("an instant without a zone")
    return value.isoformat()


@cache
def _with_among(words: str, count: int) -> str:
    return words.format(among=f"IN ({', '.join(['?'] * count)})")


@cache
def _with_rows(words: str, rows: int, columns: int) -> str:
    row = f"({', '.join(['?'] * columns)})"
    return words.format(rows="VALUES " + ", ".join([row] * rows))


@cache
def _with_array(words: str) -> str:
    return words.format(among="= ANY(?)")


@cache
def _with_document(words: str, columns: str, read: str) -> str:
    return words.format(rows=f"SELECT * FROM {read}(?) AS given ({columns})")  # noqa: S608  # our own words


@cache
def _names_of(columns: str) -> tuple[str, ...]:
    return tuple(column.split()[0] for column in columns.split(", "))


@cache
def _in_psycopgs_words(words: str) -> str:
    return words.replace("%", "%%").replace("?", "%s")
