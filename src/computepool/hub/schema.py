"""Which schema a database has, and how it gets the one that this version needs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect

MIGRATIONS = Path(__file__).parent / "migrations"


class SchemaError(Exception):
    """The database's schema is not the one that this version works with. The text says what to do."""


def migrate(engine: Engine) -> str:
    """Bring the schema up to date; returns its revision. Harmless when it is already."""
    with changing_schema(engine) as connection:
        refuse_unknown(connection)
        upgrade(connection)
    return newest_revision()


def upgrade(connection: Connection, revision: str = "head") -> None:
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


@contextmanager
def changing_schema(engine: Engine) -> Iterator[Connection]:
    """One transaction in which tables may be rebuilt.

    SQLite changes a table by filling a new one and dropping the old, which the rows that refer to it would forbid: it
    looks at them once, at the end.
    """
    if engine.dialect.name != "sqlite":
        with engine.begin() as connection:
            yield connection
        return
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        driver.execute("PRAGMA foreign_keys=OFF")  # directly: inside a transaction SQLite would ignore it
        try:
            with connection.begin():
                yield connection
                if broken := connection.exec_driver_sql("PRAGMA foreign_key_check").first():
                    raise SchemaError(f"A row of {broken[0]} would refer to a row of {broken[2]} that is not there.")
        finally:
            driver.execute("PRAGMA foreign_keys=ON")


def check_schema(engine: Engine) -> None:
    """Refuse to start on any schema but our own: one from the future could be harmed, an old one would fail later."""
    with engine.connect() as connection:
        current = current_revision(connection)
        refuse_unknown(connection)
    if current is None:
        raise SchemaError("The database is empty. Run `computepool hub migrate` first.")
    if current != newest_revision():
        raise SchemaError(
            f"The database's schema is {current}, this version needs {newest_revision()}. "
            "Make a backup, then run `computepool hub migrate`."
        )


def current_revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def newest_revision() -> str:
    head = ScriptDirectory.from_config(_config()).get_current_head()
    if head is None:
        raise SchemaError("this installation has no migrations")
    return head


def refuse_unknown(connection: Connection) -> None:
    current = current_revision(connection)
    if current is None:
        if inspect(connection).get_table_names():
            raise SchemaError("This database holds tables that are not ComputePool's. Choose an empty one.")
        return
    if not is_known(current):
        raise SchemaError(
            f"The database's schema {current} is from a newer version of ComputePool. Upgrade this one; nothing was "
            "changed."
        )


def is_known(revision: str) -> bool:
    return revision in {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config
