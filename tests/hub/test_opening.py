"""One hub on one database: the second is refused, and one that lost its lock does not go on."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url, text
from support.waiting import A_MOMENT_SECONDS, eventually, patience

from computepool.hub import commands, opening
from computepool.hub import lock as lock_module
from computepool.hub.core.db import OutcomeUnknown
from computepool.hub.core.settings import Settings
from computepool.hub.doctor import doctor
from computepool.hub.engine import Engine
from computepool.hub.lock import AlreadyRunning, LockLost, lock_database

HOLD = """
import sys, time
from computepool.hub.core.settings import Settings
from computepool.hub.lock import lock_database
lock = lock_database(Settings(home=sys.argv[1], database_url=sys.argv[2]))
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def on_postgres(tmp_path, postgres_url) -> Settings:
    return Settings(home=tmp_path / "home", database_url=postgres_url)


@pytest.fixture
def settings(tmp_path, database_url) -> Settings:
    return Settings(home=tmp_path / "home", database_url=database_url)


def end_lock_connection(settings: Settings) -> None:
    """As a server does that is restarted, or an operator who ends a connection."""
    url = make_url(settings.effective_database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        ).fetchall()
    assert found == [(True,)]


def test_second_hub_on_the_same_database_is_refused(settings):
    lock = lock_database(settings, patience_seconds=0)
    with pytest.raises(AlreadyRunning, match=rf"^A hub is already running on .+ \(.*process {os.getpid()}\)\.$"):
        lock_database(settings, patience_seconds=0)
    lock.close()
    lock_database(settings, patience_seconds=patience()).close()  # PostgreSQL hears of it a moment later


def test_hubs_on_two_databases_of_one_server_do_not_mind_each_other(tmp_path, postgres_server):
    with postgres_server.database() as one, postgres_server.database() as two:
        locks = [lock_database(Settings(home=tmp_path, database_url=url), patience_seconds=0) for url in (one, two)]
        for lock in locks:
            lock.close()


def test_lock_of_a_killed_hub_is_free_for_the_next(settings):
    command = [sys.executable, "-c", HOLD, str(settings.home), str(settings.database_url)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(AlreadyRunning):
            lock_database(settings, patience_seconds=0)
        holder.send_signal(signal.SIGKILL)
    lock_database(settings, patience_seconds=patience()).close()


def test_schema_is_not_changed_under_a_running_hub(on_postgres):
    commands.migrate(on_postgres)
    lock = lock_database(on_postgres)
    with pytest.raises(AlreadyRunning):
        commands.migrate(on_postgres)
    lock.close()
    commands.migrate(on_postgres)


def test_doctor_says_that_a_hub_is_running(settings):
    def about_process() -> str:
        return next(check.message for check in doctor(settings) if check.name == "process")

    assert about_process() == "no other hub is running on this database"
    lock = lock_database(settings)
    assert about_process().startswith("A hub is already running on ")
    lock.close()


def test_lost_lock_is_noticed_at_once(on_postgres, monkeypatch):
    monkeypatch.setattr(lock_module, "PING_SECONDS", 2 * patience())  # so that only the closed line can tell it

    async def story() -> None:
        lock = lock_database(on_postgres)
        watching = asyncio.create_task(lock.lost())
        await asyncio.sleep(A_MOMENT_SECONDS)
        assert not watching.done()
        await asyncio.to_thread(end_lock_connection, on_postgres)
        async with asyncio.timeout(patience()):
            assert isinstance(await watching, LockLost)
        lock.close()

    asyncio.run(story())


def test_hub_that_lost_its_lock_stops_with_an_error(on_postgres):
    commands.migrate(on_postgres)

    def cut() -> None:
        eventually(ready.is_set, "the hub is ready")
        end_lock_connection(on_postgres)

    ready = threading.Event()
    cutting = threading.Thread(target=cut)
    cutting.start()

    async def story() -> None:
        await commands.serve(on_postgres, commands.bind("127.0.0.1", 0), ready=ready.set, stop=asyncio.Event())

    with pytest.raises(LockLost, match="another one could have begun"):
        asyncio.run(story())
    cutting.join()
    lock_database(on_postgres, patience_seconds=0).close()


def test_hub_that_does_not_know_what_is_true_stops_with_an_error(on_postgres, monkeypatch):
    """A commit whose answer is lost may have stored a job that its memory knows nothing of: a new start reads it."""
    commands.migrate(on_postgres)
    opened = []

    async def open_engine(settings: Settings) -> Engine:
        opened.append(await opening.open_engine(settings))
        return opened[0]

    monkeypatch.setattr(commands, "open_engine", open_engine)

    def break_the_next_commit() -> None:
        eventually(ready.is_set, "the hub is ready")
        db = opened[0].context.db
        dialect: Any = db.engine.dialect
        commit = dialect.do_commit

        def commit_and_vanish(connection: Any) -> None:
            commit(connection)
            connection.driver_connection.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")

        dialect.do_commit = commit_and_vanish
        with pytest.raises(OutcomeUnknown):
            asyncio.run(db.run(lambda session: session.execute(text("SELECT 1"))))

    ready = threading.Event()
    breaking = threading.Thread(target=break_the_next_commit)
    breaking.start()

    async def story() -> None:
        await commands.serve(on_postgres, commands.bind("127.0.0.1", 0), ready=ready.set, stop=asyncio.Event())

    with pytest.raises(OutcomeUnknown, match="in the middle of a commit"):
        asyncio.run(story())
    breaking.join()
    lock_database(on_postgres, patience_seconds=0).close()
