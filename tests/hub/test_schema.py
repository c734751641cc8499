import asyncio

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Column, Engine, Integer, create_engine, inspect, text
from sqlalchemy.exc import IntegrityError
from support import whole_database

from computepool.hub import commands, schema
from computepool.hub.core.db import durable_engine
from computepool.hub.core.settings import Settings
from computepool.hub.doctor import doctor
from computepool.hub.lock import AlreadyRunning, lock_database
from computepool.hub.opening import open_engine
from computepool.hub.schema import SchemaError, check_schema, migrate, newest_revision
from computepool.hub.tables import metadata


@pytest.fixture
def engine(database_url):
    engine = durable_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def settings(database_url, tmp_path) -> Settings:
    return Settings(home=tmp_path / "home", database_url=database_url)


def execute(engine: Engine, *statements: str) -> None:
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def open_and_close(settings: Settings) -> str:
    async def story():
        engine = await open_engine(settings)
        engine.context.db.close()
        return engine.context.hub_id

    return asyncio.run(story())


def test_migrate_makes_every_table_from_nothing(engine):
    assert migrate(engine) == newest_revision()
    assert set(inspect(engine).get_table_names()) == {*metadata.tables, "alembic_version"}
    check_schema(engine)


def test_migrations_and_tables_say_the_same(engine):
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []


def test_checks_and_names_are_the_same_in_migrations_and_tables(engine, tmp_path, postgres_server):
    """Autogenerate does not look at checks."""

    def described(one: Engine) -> dict:
        look = inspect(one)
        return {
            table: {
                "checks": {(check["name"], check["sqltext"]) for check in look.get_check_constraints(table)},
                "keys": {(key["name"], *key["constrained_columns"]) for key in look.get_foreign_keys(table)},
                "indexes": {
                    (index["name"], index["unique"], *index["column_names"]) for index in look.get_indexes(table)
                },
                "unique": {(one["name"], *one["column_names"]) for one in look.get_unique_constraints(table)},
                "primary": look.get_pk_constraint(table)["name"],
                "columns": {(one["name"], str(one["type"]), one["nullable"]) for one in look.get_columns(table)},
            }
            for table in metadata.tables
        }

    migrate(engine)
    with postgres_server.database() as other_url:
        is_sqlite = engine.dialect.name == "sqlite"
        straight = durable_engine(f"sqlite:///{tmp_path / 'straight.db'}" if is_sqlite else other_url)
        metadata.create_all(straight)
        assert described(engine) == described(straight)
        straight.dispose()


def test_migrate_twice_changes_nothing(engine):
    migrate(engine)
    whole_database.fill(engine)
    before = whole_database.everything(engine)
    migrate(engine)
    assert whole_database.everything(engine) == before


def test_every_table_takes_rows_on_both_databases(engine):
    migrate(engine)
    whole_database.fill(engine)
    rows = whole_database.everything(engine)
    assert all(rows[name] for name in rows if name not in whole_database.MADE_BY_THE_HUB)


def test_migrations_can_be_taken_back(engine):
    migrate(engine)
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    with schema.changing_schema(engine) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    assert inspect(engine).get_table_names() == ["alembic_version"]


def test_hub_does_not_start_on_an_empty_database(settings):
    with pytest.raises(SchemaError, match="computepool hub migrate"):
        open_and_close(settings)


def test_hub_does_not_start_where_nothing_tells_the_revision(settings, engine):
    commands.migrate(settings)
    execute(engine, "DELETE FROM alembic_version")
    with pytest.raises(SchemaError, match="not ComputePool's"):
        open_and_close(settings)


def test_schema_that_is_known_but_old_is_told_with_what_to_do(engine):
    with schema.changing_schema(engine) as connection:
        schema.upgrade(connection, "0001")
    with pytest.raises(SchemaError, match=rf"is 0001, this version needs {newest_revision()}\. Make a backup"):
        check_schema(engine)


def test_artifacts_of_the_first_schema_are_kept(engine):
    with schema.changing_schema(engine) as connection:
        schema.upgrade(connection, "0001")
    execute(
        engine,
        "INSERT INTO owners (id, kind, created_at) VALUES ('user_1', 'user', '2026-01-01 00:00:00+00:00')",
        "INSERT INTO artifacts (id, owner_id, digest, size_bytes, kind, state, writable_until, created_at)"
        " VALUES ('artifact_1', 'user_1', 'sha256:0', 5, 'bundle', 'uploading', '2026-01-01 00:00:00+00:00',"
        " '2026-01-01 00:00:00+00:00')",
    )
    migrate(engine)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT id, kind, job_id FROM artifacts")).all() == [
            ("artifact_1", "bundle", None)
        ]


def test_what_was_given_back_is_kept_and_can_be_found_twice_since(engine):
    """The key of a clawback became an attempt and a check."""
    with schema.changing_schema(engine) as connection:
        schema.upgrade(connection, "0013")
    at = "'2026-01-01 00:00:00+00:00'"
    clawback = "INSERT INTO clawbacks (attempt_id, check_id, node_id, host_id, renter_id, micros, state, created_at)"
    one = f"{clawback} VALUES ('attempt_1', '%s', 'node_1', 'user_1', 'user_2', 5, '%s', {at})"
    execute(
        engine,
        f"INSERT INTO owners (id, kind, created_at) VALUES ('user_2', 'user', {at})",
        "INSERT INTO jobs (id, owner_id, submitted_by, name, spec, spec_digest, state, priority, retries_allowed,"
        " slice_count, slices_left, created_at)"
        f" VALUES ('job_1', 'user_2', 'user_2', 'x', '{{}}', 'x', 'queued', 0, 0, 1, 1, {at})",
        *(
            "INSERT INTO checks (id, subject, kind, job_id, slice_index, state, spec_digest, asked, created_at)"
            f" VALUES ('check_{number}', '{number}', 'audit', 'job_1', 0, 'guilty', 'x', 2, {at})"
            for number in (1, 2, 3)
        ),
        one % ("check_1", "overturned"),
    )
    migrate(engine)
    execute(engine, one % ("check_2", "done"), one % ("check_3", "beside"))
    with pytest.raises(IntegrityError):
        execute(engine, "UPDATE clawbacks SET state = 'done' WHERE check_id = 'check_3'")
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    with schema.changing_schema(engine) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0013")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT check_id, state FROM clawbacks")).all() == [("check_2", "done")]
    migrate(engine)


def test_schema_from_the_future_is_left_alone(settings, engine):
    commands.migrate(settings)
    execute(engine, "UPDATE alembic_version SET version_num = '9999'")
    whole = whole_database.everything(engine)
    for attempt in (open_and_close, commands.migrate):
        with pytest.raises(SchemaError, match="newer version of ComputePool"):
            attempt(settings)
    assert whole_database.everything(engine) == whole


def test_somebody_elses_database_is_left_alone(settings, engine):
    execute(engine, "CREATE TABLE recipes (id INTEGER)")
    for attempt in (open_and_close, commands.migrate):
        with pytest.raises(SchemaError, match="not ComputePool's"):
            attempt(settings)
    assert inspect(engine).get_table_names() == ["recipes"]


def test_failed_migration_leaves_the_old_schema(engine):
    migrate(engine)
    before = inspect(engine).get_columns("jobs")

    def half_a_migration() -> None:
        with schema.changing_schema(engine) as connection:
            connection.execute(text("ALTER TABLE jobs ADD COLUMN half INTEGER"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half_a_migration()
    assert [str(column) for column in inspect(engine).get_columns("jobs")] == [str(column) for column in before]


def test_table_that_others_refer_to_can_be_rebuilt(engine):
    """SQLite drops the old one for that; the rows that refer to it must neither forbid it nor go with it."""
    migrate(engine)
    whole_database.fill(engine)
    before = whole_database.everything(engine)
    with schema.changing_schema(engine) as connection:
        operations = Operations(MigrationContext.configure(connection))
        is_sqlite = engine.dialect.name == "sqlite"
        with operations.batch_alter_table("owners", recreate="always" if is_sqlite else "never") as owners:
            owners.add_column(Column("stars", Integer))
    assert whole_database.everything(engine) == before
    assert "stars" in {column["name"] for column in inspect(engine).get_columns("owners")}


def test_migration_that_breaks_a_reference_is_undone_on_sqlite(tmp_path):
    engine = durable_engine(f"sqlite:///{tmp_path / 'hub.db'}")
    migrate(engine)
    whole_database.fill(engine)
    before = whole_database.everything(engine)

    def forgetful_migration() -> None:
        with schema.changing_schema(engine) as connection:
            connection.execute(text("DELETE FROM owners"))

    with pytest.raises(SchemaError, match="a row of owners that is not there"):
        forgetful_migration()
    assert whole_database.everything(engine) == before
    with engine.connect() as connection:
        assert connection.scalar(text("PRAGMA foreign_keys")) == 1, "the check is on again"
    engine.dispose()


def test_hub_keeps_its_identity_over_a_restart(settings):
    commands.migrate(settings)
    assert open_and_close(settings) == open_and_close(settings)


def test_second_hub_on_the_same_sqlite_is_refused(tmp_path):
    settings = Settings(home=tmp_path / "home")
    commands.migrate(settings)
    lock = lock_database(settings)
    with pytest.raises(AlreadyRunning, match=r"already running on .*pool\.db \(process \d+\)"):
        lock_database(settings)
    with pytest.raises(AlreadyRunning):
        commands.migrate(settings)
    lock.close()
    again = lock_database(settings)
    again.close()


def test_second_hub_process_is_refused_before_it_listens(tmp_path):
    settings = Settings(home=tmp_path / "home")
    commands.migrate(settings)
    with pytest.raises(AlreadyRunning):
        asyncio.run(serve_beside_another(settings))


async def serve_beside_another(settings: Settings) -> None:
    lock = lock_database(settings)
    try:
        listener = commands.bind("127.0.0.1", 0)
        await commands.serve(settings, listener, ready=lambda: pytest.fail("it listens"), stop=asyncio.Event())
    finally:
        lock.close()


def test_doctor_tells_what_is_wrong_with_the_database(settings, engine):
    def about_database():
        return next(check for check in doctor(settings) if check.name == "database")

    assert "computepool hub migrate" in about_database().message
    commands.migrate(settings)
    assert about_database().ok
    execute(engine, "UPDATE alembic_version SET version_num = '9999'")
    assert "newer version" in about_database().message


def test_doctor_tells_that_there_is_no_database_server(tmp_path):
    settings = Settings(home=tmp_path, database_url="postgresql://nobody@127.0.0.1:1/none?connect_timeout=2")
    check = next(check for check in doctor(settings) if check.name == "database")
    assert not check.ok
    assert check.hint is not None
    assert "COMPUTEPOOL_DATABASE_URL" in check.hint


def test_plain_connection_sees_the_same_schema(database_url):
    """`doctor` opens the database without the hub's own settings of a connection."""
    engine = create_engine(database_url)
    with pytest.raises(SchemaError, match="empty"):
        check_schema(engine)
    engine.dispose()
