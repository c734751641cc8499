"""The services that the tests bring up are the real ones, fresh for every test, and end with the tests."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import obstore
import psutil
import psycopg
import pytest
import sqlalchemy
from obstore.exceptions import PermissionDeniedError
from support.memory import MEMORY
from support.services import S3, Postgres
from support.waiting import eventually, patience


def plain(url: str) -> str:
    return url.replace("postgresql+psycopg://", "postgresql://")


@pytest.mark.parametrize("turn", ["first", "second"])
def test_every_test_gets_an_empty_postgresql_database(postgres_url, turn):
    with psycopg.connect(plain(postgres_url)) as link:
        link.execute("CREATE TABLE only_mine (id int)")  # a second time this would fail in a shared database
        assert link.execute("SELECT 1").fetchone() == (1,)


def test_database_url_works_with_sqlalchemy(database_url):
    engine = sqlalchemy.create_engine(database_url)
    with engine.begin() as link:
        assert link.execute(sqlalchemy.text("SELECT 40 + 2")).scalar_one() == 42
    engine.dispose()


def test_template_is_prepared_once_and_copied_whole(postgres_server: Postgres):
    prepared = []

    def prepare(url: str) -> None:
        prepared.append(url)
        with psycopg.connect(plain(url)) as link:
            link.execute("CREATE TABLE jobs AS SELECT 7 AS id")

    for _ in range(2):
        template = postgres_server.template("test_services", prepare)
        with postgres_server.database(template) as url, psycopg.connect(plain(url)) as link:
            assert link.execute("SELECT id FROM jobs").fetchall() == [(7,)]
            link.execute("DELETE FROM jobs")
    assert len(prepared) == 1


def test_postgresql_does_not_run_as_root(postgres_server: Postgres):
    with psycopg.connect(plain(postgres_server.url("postgres"))) as link:
        row = link.execute("SELECT pg_backend_pid()").fetchone()
        assert row
        assert psutil.Process(row[0]).uids().real != 0


@pytest.mark.parametrize("turn", ["first", "second"])
def test_every_test_gets_an_empty_bucket(s3: S3, turn):
    store = s3.store()
    assert list(obstore.list(store)) == []
    obstore.put(store, "a/b", b"bytes")
    assert obstore.get(store, "a/b").bytes() == b"bytes"


def test_s3_refuses_a_wrong_secret(s3: S3):
    forged = S3(s3.endpoint_url, s3.bucket, s3.access_key, "wrong").store()
    with pytest.raises(PermissionDeniedError):
        obstore.put(forged, "key", b"bytes")


def test_services_listen_on_loopback_only(postgres_server: Postgres, s3_endpoint_url: str):
    guardians = [p for p in psutil.Process().children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE]
    addresses = {c.laddr.ip for p in guardians for c in p.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
    assert addresses == {"127.0.0.1"}


@pytest.mark.slow
def test_services_end_when_the_tests_are_killed():
    """kill -9 leaves the dying process no chance to clean up: the guardians have to."""
    story = (
        "import time; from support import services\n"
        "with services.postgres(), services.s3_server():\n"
        "    print('up', flush=True); time.sleep(100)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    tests = subprocess.Popen([sys.executable, "-c", story], stdout=subprocess.PIPE, env=environment)
    with tests:
        assert tests.stdout
        assert tests.stdout.readline() == b"up\n"
        family = psutil.Process(tests.pid).children(recursive=True)
        folders = {Path(p.cmdline()[2]) for p in family if "guardian.py" in " ".join(p.cmdline())}
        assert len(folders) == 2
        folders |= {MEMORY / f"{folder.name}-data" for folder in folders}
        assert len(family) > 4
        tests.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs(family, timeout=patience())
    assert not alive
    eventually(lambda: not any(folder.exists() for folder in folders), "the folders of the services are removed")
