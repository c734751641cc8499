"""Which schema a database has, and how it gets the one that this version needs."""

from pathlib import Path

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
    with engine.begin() as connection:
        _refuse_unknown(connection)
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    return newest_revision()


def check_schema(engine: Engine) -> None:
    """Refuse to start on any schema but our own: one from the future could be harmed, an old one would fail later."""
    with engine.connect() as connection:
        current = current_revision(connection)
        _refuse_unknown(connection)
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


def _refuse_unknown(connection: Connection) -> None:
    current = current_revision(connection)
    if current is None:
        if inspect(connection).get_table_names():
            raise SchemaError("This database holds tables that are not ComputePool's. Choose an empty one.")
        return
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if current not in known:
        raise SchemaError(
            f"The database's schema {current} is from a newer version of ComputePool. Upgrade this one; nothing was "
            "changed."
        )


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config
