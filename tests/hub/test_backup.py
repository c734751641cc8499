import stat
import threading
import time
import tracemalloc
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from sqlalchemy import delete, insert, text
from sqlalchemy.orm import Session
from support.backups import (
    KINDS,
    PASSPHRASE,
    Place,
    backup,
    lively,
    places,
    start_and_stop,
    without_the_restore,
)
from support.waiting import eventually

from computepool.hub import backup as hub_backup
from computepool.hub.backup import restore
from computepool.hub.core.db import durable_engine
from computepool.hub.core.facts import raise_fence_epoch
from computepool.hub.core.tables import AuditRow, OutboxRow
from computepool.hub.lock import AlreadyRunning, lock_database
from computepool.hub.scheduling.scheduler import EPOCH_STEP
from computepool.hub.sealed_stream import MAGIC


@pytest.fixture
def place(tmp_path, postgres_server):
    with places(tmp_path, postgres_server) as make:
        yield make


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("target", KINDS)
def test_restored_hub_has_every_row_and_opens_its_keys(place, tmp_path, source, target):
    old, new = lively(place(source)), place(target)
    made = backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    restored = restore(new.settings, tmp_path / "pool.backup", PASSPHRASE)
    assert without_the_restore(new.all_rows()) == without_the_restore(old.all_rows())
    assert all(made.rows.values()), "a table without rows proves nothing"
    assert restored.rows == made.rows
    assert restored.revision == made.revision
    assert restored.secret_key_file == new.key_file
    assert new.key_file.read_text() == old.key_file.read_text()
    assert start_and_stop(new) == start_and_stop(old)
    assert "logs" in made.not_included
    assert "logs" in restored.not_included


@pytest.mark.parametrize("kind", KINDS)
def test_new_rows_get_new_numbers_after_a_restore(place, tmp_path, kind):
    old, new = lively(place(kind), rows=50), place(kind)
    backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    restore(new.settings, tmp_path / "pool.backup", PASSPHRASE)
    row = {"topic": "t", "payload": {}, "created_at": datetime.now(UTC)}
    new.execute(insert(OutboxRow).values(row), insert(OutboxRow).values(row))
    assert [number for number, *_ in new.all_rows()["outbox"]][-2:] == [51, 52]


def test_counter_of_a_table_that_is_empty_starts_at_one(place, tmp_path):
    old, new = lively(place("postgresql")), place("postgresql")
    old.execute(delete(OutboxRow))
    backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    restore(new.settings, tmp_path / "pool.backup", PASSPHRASE)
    new.execute(insert(OutboxRow).values(topic="t", payload={}, created_at=datetime.now(UTC)))
    assert [number for number, *_ in new.all_rows()["outbox"]] == [1]


@pytest.mark.parametrize("kind", KINDS)
def test_json_null_is_kept_apart_from_no_value(place, tmp_path, kind):
    old, new = lively(place(kind)), place(kind)
    old.execute(
        text("UPDATE jobs SET bundle = 'null' WHERE id = 'id1'"), text("UPDATE jobs SET bundle = NULL WHERE id = 'id2'")
    )
    backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    restore(new.settings, tmp_path / "pool.backup", PASSPHRASE)
    engine = durable_engine(new.settings.effective_database_url)
    with engine.connect() as connection:
        missing = connection.scalars(text("SELECT id FROM jobs WHERE bundle IS NULL ORDER BY id")).all()
    engine.dispose()
    assert missing == ["id2"]


@pytest.mark.parametrize("kind", KINDS)
def test_restore_raises_the_fence_epoch_and_is_noted(place, tmp_path, kind):
    old, new = lively(place(kind)), place(kind)
    backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    restored = restore(new.settings, tmp_path / "pool.backup", PASSPHRASE)
    assert restored.fence_epoch > 1
    rows = new.all_rows()
    assert ("fence_epoch", str(restored.fence_epoch)) in rows["hub_facts"]
    assert [row[3] for row in rows["audit"]].count("hub.restored") == 1


def test_same_backup_restored_again_does_not_repeat_an_epoch(place, tmp_path):
    old = lively(place("sqlite"))
    first = raised(old, datetime(2026, 1, 1, tzinfo=UTC))
    second = raised(old, datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC))
    assert second > first
    clock_is_wrong = raised(old, datetime(1970, 1, 1, tzinfo=UTC))
    assert clock_is_wrong > 1
    assert (first + 100 * 365 * 86_400) * EPOCH_STEP < 2**53, "a fence stays exact in every JSON reader"


def raised(place: Place, now: datetime) -> int:
    """The epoch that a restore at that time would give, always from the same rows."""
    engine = durable_engine(place.settings.effective_database_url)
    with Session(engine) as session:
        epoch = raise_fence_epoch(session, now)
    engine.dispose()
    return epoch


@pytest.mark.parametrize("kind", KINDS)
def test_backup_is_one_moment_of_a_hub_that_goes_on_writing(place, tmp_path, kind, monkeypatch):
    old, new = lively(place(kind), rows=200), place(kind)
    before, stop, written = old.all_rows(), threading.Event(), 0
    now = datetime.now(UTC)

    def write_pairs() -> None:
        nonlocal written
        engine = durable_engine(old.settings.effective_database_url)
        while not stop.is_set():
            with engine.begin() as connection:
                connection.execute(insert(AuditRow).values(at=now, actor="a", action="b", subject="c", details={}))
                connection.execute(insert(OutboxRow).values(topic="t", payload={}, created_at=now))
            written += 1
            time.sleep(0.001)  # leave the backup a share of this machine
        engine.dispose()

    write_everything = hub_backup._write_everything

    def write_when_others_wrote(*args: Any) -> dict[str, int]:
        """The backup has its moment. Go on when others have written after it."""
        then = written
        eventually(lambda: written > then + 5, "others write meanwhile")
        return write_everything(*args)

    monkeypatch.setattr(hub_backup, "_write_everything", write_when_others_wrote)
    writer = threading.Thread(target=write_pairs)
    writer.start()
    try:
        eventually(lambda: written, "the first pair is written")
        at_start = written
        backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    finally:
        stop.set()
        writer.join()
    restore(new.settings, tmp_path / "pool.backup", PASSPHRASE)
    after = without_the_restore(new.all_rows())
    audits, outbox = len(after["audit"]) - len(before["audit"]), len(after["outbox"]) - len(before["outbox"])
    assert audits == outbox >= at_start
    assert after["jobs"] == before["jobs"]


def test_backup_works_beside_a_running_hub_and_restore_does_not(place, tmp_path):
    old = lively(place("sqlite"))
    lock = lock_database(old.settings)
    backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    with pytest.raises(AlreadyRunning):
        restore(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    lock.close()


def test_backup_is_private_and_shows_nothing(place, tmp_path):
    old = lively(place("sqlite"))
    made = backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    content = made.file.read_bytes()
    assert stat.S_IMODE(made.file.stat().st_mode) == 0o600
    assert made.size_bytes == len(content)
    assert content.startswith(b"ComputePool backup 1\n")
    assert old.key_file.read_bytes() not in content
    assert b"hub_keys" not in content
    assert [file.name for file in tmp_path.glob("*pool.backup*")] == ["pool.backup"]


def test_guessing_the_passphrase_is_costly(place, tmp_path):
    old, new = lively(place("sqlite")), place("sqlite")
    hub_backup.backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    log2_n, r, p = (tmp_path / "pool.backup").read_bytes()[len(MAGIC) :][:3]
    assert 128 * 2**log2_n * r * p >= 128 * 1024**2
    restore(new.settings, tmp_path / "pool.backup", PASSPHRASE)


def test_memory_stays_bounded_however_many_rows_there_are(place, tmp_path):
    old, new = lively(place("sqlite")), place("sqlite")
    row = {"at": datetime.now(UTC), "actor": "a", "action": "b", "subject": "c", "details": {"text": "x" * 4000}}
    engine = durable_engine(old.settings.effective_database_url)
    with engine.begin() as connection:
        connection.execute(insert(AuditRow), [row] * 5_000)
    engine.dispose()
    for work in (partial(backup, old.settings), partial(restore, new.settings)):
        tracemalloc.start()
        work(tmp_path / "pool.backup", PASSPHRASE)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 12_000_000, f"{work.func} held {peak:,} bytes of rows that are 20,000,000 in all"
