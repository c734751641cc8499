"""The database has everybody's names, keys and money in it: nobody else on the machine may read it."""

import os
import stat
from pathlib import Path

import pytest
from sqlalchemy import text

from computepool.hub.core.db import durable_engine
from computepool.hub.core.files import make_private
from computepool.hub.core.settings import Settings
from computepool.hub.lock import lock_database

OPEN_TO_ALL = 0o000


def modes(folder: Path) -> dict[str, str]:
    return {path.name: f"{stat.S_IMODE(path.stat().st_mode):o}" for path in folder.iterdir()}


@pytest.fixture
def careless():
    before = os.umask(OPEN_TO_ALL)
    yield
    os.umask(before)


def write(path: Path):
    engine = durable_engine(f"sqlite:///{path}")
    connection = engine.connect()
    with connection.begin():
        connection.execute(text("CREATE TABLE IF NOT EXISTS things (name TEXT)"))
    return engine, connection


def test_a_new_database_and_its_journals_are_the_owners_alone(tmp_path, careless):
    engine, connection = write(tmp_path / "pool.db")
    assert modes(tmp_path) == {"pool.db": "600", "pool.db-wal": "600", "pool.db-shm": "600"}
    connection.close()
    engine.dispose()


def test_those_of_an_older_hub_become_so_while_somebody_has_them_open(tmp_path, careless):
    first, connection = write(tmp_path / "pool.db")
    for path in tmp_path.iterdir():
        path.chmod(0o644)
    second, other = write(tmp_path / "pool.db")
    assert set(modes(tmp_path).values()) == {"600"}
    for line, engine in ((other, second), (connection, first)):
        line.close()
        engine.dispose()


def test_the_lock_is_the_owners_alone(tmp_path, careless):
    lock = lock_database(Settings(home=tmp_path))
    assert modes(tmp_path) == {"pool.db.lock": "600"}
    lock.close()


def test_what_the_owner_may_not_do_stays_so(tmp_path, careless):
    file = tmp_path / "pool.db"
    file.touch()
    file.chmod(0o444)
    make_private(file)
    assert modes(tmp_path) == {"pool.db": "400"}


def test_without_its_folder_the_database_says_so_itself(tmp_path):
    with pytest.raises(Exception, match="unable to open database file"):
        durable_engine(f"sqlite:///{tmp_path}/nowhere/pool.db").connect()
