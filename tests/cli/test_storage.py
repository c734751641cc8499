"""Listing and deleting what is stored, and the operator's view of it: the command line against a real hub."""

import json
from itertools import count

import pytest
from sqlalchemy import text
from support.pool import Pool, running_pool

from computepool.cli.app import run
from computepool.cli.storage import _usage_lines
from computepool.client.pool import Pool as Client
from computepool.hub.core.db import durable_engine

SETTINGS = {"COMPUTEPOOL_STORAGE_PRICE": "0.5", "COMPUTEPOOL_STORAGE_FREE_BYTES": "10"}
NUMBERS = count(1)


@pytest.fixture(scope="module", params=["@storage-cli"])
def pool(tmp_path_factory):
    """A hub without any machine: jobs wait until they are canceled."""
    with running_pool(tmp_path_factory.mktemp("cli-storage") / "pool", SETTINGS) as made:
        yield made


class Terminal:
    """The command line of somebody who is signed in, in this process."""

    def __init__(self, pool, home, capture, monkeypatch):
        self.pool, self.home = pool, home
        self._capture, self._monkeypatch = capture, monkeypatch

    def __call__(self, *words, code=0):
        """What it printed, both streams together."""
        return "".join(self._run(words, code))

    def _run(self, words, code):
        self._monkeypatch.setenv("COMPUTEPOOL_HOME", str(self.home))
        self._monkeypatch.setenv("COLUMNS", "200")
        self._capture.readouterr()
        ended = run(words)
        out, err = self._capture.readouterr()
        assert ended == code, f"{words} → {ended}: {out} {err}"
        return out, err

    def both(self, *words):
        """The document that it printed, and what it said."""
        out, err = self._run(words, 0)
        return json.loads(out), err

    def json(self, *words):
        return self.both(*words, "--json")[0]

    def upload(self, data, kind="bundle"):
        file = self.pool.folder / f"file-{next(NUMBERS)}"
        file.write_bytes(data)
        with Client(home=self.home) as client:
            return client.upload(file, kind=kind).id

    def submit(self, **spec):
        with Client(home=self.home) as client:
            return client.submit({"run": ["true"], **spec}).id


@pytest.fixture
def alice(pool, capfd, monkeypatch):
    person = pool.register(f"alice{next(NUMBERS)}")
    return Terminal(pool, person.home, capfd, monkeypatch)


@pytest.fixture
def admin(pool, capfd, monkeypatch):
    return Terminal(pool, pool.home, capfd, monkeypatch)


def make_old(pool: Pool, table, column, row_id):
    engine = durable_engine(f"sqlite:///{pool.home / 'pool.db'}")
    with engine.begin() as connection:
        statement = text(f"UPDATE {table} SET {column} = '2020-01-01 00:00:00.000000' WHERE id = :id")
        assert connection.execute(statement, {"id": row_id}).rowcount == 1
    engine.dispose()


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_files_are_listed_with_what_is_used_of_the_storage(alice):
    shown = alice("artifacts", "list")
    assert "Stored: 0 B of 20 GB, 0 of 100000 files and logs." in shown
    first, second = alice.upload(b"a bundle"), alice.upload(b"an input", "input")
    shown = alice("artifacts", "list")
    assert first in shown
    assert second in shown
    assert "Stored: 16 B of 20 GB, 2 of 100000 files and logs." in shown
    assert "Uploaded today: 16 B of 1 GB. This limit ends when you buy credits." in shown
    assert "Cost: 0 credits a day; 10 B are free, then 0.5 credits per GB and day." in shown
    assert second not in alice("artifacts", "list", "--kind", "bundle")
    shown = alice("artifacts", "list", "-n", "1")
    assert first not in shown
    assert "The newest 1; more with --limit." in shown
    document = alice.json("artifacts", "list", "--limit", "1")
    assert [item["id"] for item in document["items"]] == [second]
    assert (document["next"], document["usage"]["bytes"]) == (second, 16)
    assert "'nonsense' is not one of" in alice("artifacts", "list", "--kind", "nonsense", code=2)


def test_files_are_deleted_and_what_cannot_be_is_told(alice, admin):
    bundle, data = alice.upload(b"one"), alice.upload(b"two", "input")
    assert alice.json("artifacts", "rm", data) == {"deleted": [data]}
    assert "There is no artifact" in alice("artifacts", "rm", data, code=1)
    assert "There is no artifact" in admin("artifacts", "rm", "artifact_01nobody", code=1)
    for strange in ("../jobs", "a/b", ""):
        assert "artifact" in alice("artifacts", "rm", strange, code=1).lower()
    alice("artifacts", "rm", code=2)
    with Client(home=alice.home) as client:
        job = client.submit({"run": ["true"]}, bundle=bundle)
    assert f"{job.id}" in alice("artifacts", "rm", bundle, code=1)
    alice("cancel", job.id)
    assert f"{bundle}: deleted." in alice("artifacts", "rm", bundle)


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_jobs_are_deleted_once_they_have_ended(alice, admin):
    job_id = alice.submit(name="first")
    said = alice("rm", job_id, "--yes", code=1)
    assert "queued" in said
    assert "Cancel it, or wait" in said
    alice("cancel", job_id)
    assert f"{job_id}: deleted." in alice("rm", "last", "--yes")
    alice("show", job_id, code=1)
    alice("rm", job_id, "--yes", code=1)
    other = alice.submit()
    alice("cancel", other)
    assert alice.json("rm", other, "--yes") == {"deleted": [other]}
    alice("rm", code=2)


def test_prune_deletes_what_is_old_and_nothing_else(alice, pool):
    old, new, needed = alice.upload(b"old"), alice.upload(b"new"), alice.upload(b"needed")
    jobs = [alice.submit(), alice.submit()]
    for job_id in jobs:
        alice("cancel", job_id)
    with Client(home=alice.home) as client:
        waiting = client.submit({"run": ["true"]}, bundle=needed)
    assert "Nothing is older than 30d." in alice("prune", "--older-than", "30d")
    make_old(pool, "jobs", "finished_at", jobs[0])
    for artifact_id in (old, needed):
        make_old(pool, "artifacts", "stored_at", artifact_id)
    assert "Would delete 1 job and 2 files." in alice("prune", "--older-than", "30d", "--dry-run")
    assert old in alice("artifacts", "list")
    document, said = alice.both("prune", "--older-than", "30d", "--yes", "--json")
    assert f"{needed}: kept." in said
    assert waiting.id in said
    assert (document["jobs"], document["artifacts"], document["freed_bytes"]) == ([jobs[0]], [old], 3)
    left = alice("artifacts", "list")
    assert old not in left
    assert new in left
    assert needed in left
    assert "Deleted 0 jobs and 0 files: 0 B." in alice("prune", "--older-than", "30d", "--yes")
    for wrong in ("soon", "-3d", ""):
        assert "--older-than" in alice("prune", "--older-than", wrong, code=2)
    assert "--older-than" in alice("prune", code=2)


# ── the operator ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_admin_sees_quotas_and_usage_by_owner_and_sets_limits(alice, admin):
    alice.upload(b"x" * 100)
    with Client(home=alice.home) as client:
        me = client.me()
    shown = admin("admin", "storage", "--limit", "500")
    (line,) = [line for line in shown.splitlines() if me.email in line]
    assert line.split()[1:] == ["100", "B", "of", "20", "GB", "1", "of", "100000", "100", "B"]
    assert "In all: " in shown
    document = admin.json("admin", "storage", "-n", "500")
    (item,) = [item for item in document["items"] if item["owner_id"] == me.id]
    assert (item["bytes"], item["limit_bytes"], item["price_micros"], item["unpaid_micros"]) == (
        100,
        20 * 1024**3,
        500_000,
        0,
    )
    assert "100 B of 1 MB, 1 of 5 files" in admin(
        "admin", "storage", "limit", me.email, "--size", "1MB", "--files", "5"
    )
    assert "100 B of 1 MB" in admin("admin", "storage", "show", me.id)
    assert admin.json("admin", "storage", "show", me.email)["own_limits"]
    assert "20 GB" in admin("admin", "storage", "limit", me.email)
    assert "Right: 100 bytes in 1 files and logs." in admin("admin", "storage", "reconcile", me.email)
    assert "--size" in admin("admin", "storage", "limit", me.email, "--size", "much", code=2)
    assert "nobody@example.org" in admin("admin", "storage", "show", "nobody@example.org", code=1)
    alice("admin", "storage", code=1)
    alice("admin", "storage", "limit", me.id, "--size", "1TB", code=1)


def test_unpaid_storage_is_told_with_the_day_from_which_uploads_are_refused():
    usage = {"bytes": 7 << 30, "objects": 1, "limit_bytes": None, "limit_objects": None, "limit_bytes_per_day": None}
    assert len(_usage_lines(usage)) == 1
    costs = {"price_micros": 10_000, "free_bytes": 5 << 30, "cost_micros_per_day": 20_000, "unpaid_micros": 40_000}
    days = {"unpaid_since": "2026-03-01", "refused_from": "2026-03-08"}
    lines = _usage_lines(usage | costs | days)
    assert lines[1] == "Cost: 0.02 credits a day; 5 GB are free, then 0.01 credits per GB and day."
    assert lines[2] == (
        "Unpaid since 2026-03-01: 0.04 credits. From 2026-03-08 on, uploads and new jobs are refused until it is paid."
    )
