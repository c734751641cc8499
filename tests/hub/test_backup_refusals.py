import stat
import struct
from pathlib import Path

import pytest
from sqlalchemy import text
from support.backups import (
    CHUNK,
    HEADER,
    KINDS,
    PASSPHRASE,
    Place,
    assert_untouched,
    backup,
    lively,
    opened,
    places,
    sealed,
    spread,
)

from computepool.hub.backup import BackupError, restore
from computepool.hub.sealed_stream import MAGIC


@pytest.fixture
def place(tmp_path, postgres_server):
    with places(tmp_path, postgres_server) as make:
        yield make


@pytest.mark.parametrize("kind", KINDS)
def test_restore_refuses_a_database_that_is_not_empty(place, tmp_path, kind):
    old, new = lively(place(kind)), place(kind)
    backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    new.settings.home.mkdir()
    new.execute(text("CREATE TABLE somebody_elses (id INTEGER)"))
    with pytest.raises(BackupError, match="not empty"):
        restore(new.settings, tmp_path / "pool.backup", PASSPHRASE)
    assert new.table_names() == ["somebody_elses"]
    assert not new.key_file.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_failed_restore_leaves_nothing_behind_and_can_be_repeated(place, tmp_path, kind):
    old, new = lively(place(kind)), place(kind)
    backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    lines = opened(tmp_path / "pool.backup")
    too_few = [line for number, line in enumerate(lines) if number != 3]
    contradictory = [line if "action0" not in line else lines[lines.index(line) + 1] for line in lines]
    for changed, complaint in [
        (too_few, "Not every row of audit"),
        (contradictory, "did not take the backup"),
        (lines[:-1], "no end"),
        ([*lines, {"table": "more", "columns": []}], "after its end"),
    ]:
        sealed(tmp_path / "changed.backup", changed)
        with pytest.raises(BackupError, match=complaint):
            restore(new.settings, tmp_path / "changed.backup", PASSPHRASE)
        assert_untouched(new)
    new.key_file.symlink_to(tmp_path / "nowhere")
    with pytest.raises(BackupError, match="in the way"):
        restore(new.settings, tmp_path / "pool.backup", PASSPHRASE)
    new.key_file.unlink()
    assert_untouched(new)
    restore(new.settings, tmp_path / "pool.backup", PASSPHRASE)
    assert new.all_rows()["jobs"]


def test_wrong_passphrase_changes_nothing(place, tmp_path):
    old, new = lively(place("sqlite")), place("sqlite")
    backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    with pytest.raises(BackupError, match="passphrase is wrong"):
        restore(new.settings, tmp_path / "pool.backup", PASSPHRASE.upper())
    assert not new.settings.home.exists()


def test_short_passphrase_makes_no_backup(place, tmp_path):
    old = lively(place("sqlite"))
    with pytest.raises(BackupError, match="at least 8 characters"):
        backup(old.settings, tmp_path / "pool.backup", "")
    assert not list(tmp_path.glob("*backup*"))


def test_damaged_backups_are_refused_and_change_nothing(place, tmp_path):
    old, new = lively(place("sqlite")), place("sqlite")
    whole = spread(old, tmp_path / "whole.backup")
    cuts = [0, 5, HEADER - 1, HEADER, HEADER + 40, HEADER + CHUNK, HEADER + 2 * CHUNK, len(whole) - 1]
    damaged = {f"cut at {at}": whole[:at] for at in cuts}
    flips = [3, len(MAGIC), HEADER - 1, HEADER, HEADER + CHUNK + 7, len(whole) - 1]
    damaged |= {f"flip at {at}": whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in flips}
    first, second = whole[HEADER : HEADER + CHUNK], whole[HEADER + CHUNK : HEADER + 2 * CHUNK]
    rest = whole[HEADER + 2 * CHUNK :]
    damaged |= {
        "reordered": whole[:HEADER] + second + first + rest,
        "repeated": whole[:HEADER] + first + first + second + rest,
        "left out": whole[:HEADER] + first + rest,
        "more": whole + b"x",
        "twice": whole + whole,
        "costly": MAGIC + struct.pack(">BBB", 40, 8, 1) + whole[len(MAGIC) + 3 :],
    }
    file = tmp_path / "damaged.backup"
    for how, content in damaged.items():
        file.write_bytes(content)
        assert refused(new, file), how
        if new.settings.home.exists():
            assert_untouched(new)
    file.write_bytes(whole)
    restore(new.settings, file, PASSPHRASE)


def refused(place: Place, file: Path) -> bool:
    try:
        restore(place.settings, file, PASSPHRASE)
    except BackupError:
        return True
    return False


def test_chunks_of_two_backups_do_not_mix(place, tmp_path):
    old, new = lively(place("sqlite")), place("sqlite")
    one = spread(old, tmp_path / "one.backup")
    backup(old.settings, tmp_path / "two.backup", PASSPHRASE)
    two = (tmp_path / "two.backup").read_bytes()
    (tmp_path / "mixed.backup").write_bytes(one[: HEADER + CHUNK] + two[HEADER + CHUNK :])
    with pytest.raises(BackupError, match="part 2"):
        restore(new.settings, tmp_path / "mixed.backup", PASSPHRASE)
    assert_untouched(new)


def test_backup_replaces_an_older_backup_and_nothing_else(place, tmp_path):
    old = lively(place("sqlite"))
    file = tmp_path / "pool.backup"
    backup(old.settings, file, PASSPHRASE)
    backup(old.settings, file, PASSPHRASE)
    database = old.settings.home / "pool.db"
    with pytest.raises(BackupError, match="not a backup"):
        backup(old.settings, database, PASSPHRASE)
    assert database.read_bytes().startswith(b"SQLite")


def test_backup_that_fails_midway_leaves_the_older_one(place, tmp_path):
    old = lively(place("sqlite"))
    file = tmp_path / "pool.backup"
    backup(old.settings, file, PASSPHRASE)
    before = file.read_bytes()
    old.execute(text("UPDATE users SET created_at = 'yesterday' WHERE name LIKE '2%'"))
    with pytest.raises(BackupError, match="The table users holds a value that makes no sense"):
        backup(old.settings, file, PASSPHRASE)
    with pytest.raises(BackupError, match="No such file"):
        backup(old.settings, tmp_path / "no folder" / "pool.backup", PASSPHRASE)
    assert file.read_bytes() == before
    assert [found.name for found in tmp_path.glob("*pool.backup*")] == ["pool.backup"]


def test_backup_needs_a_database_a_schema_and_the_right_key(place, tmp_path):
    nowhere = place("sqlite", secret_key="x" * 40)
    with pytest.raises(BackupError, match="no database"):
        backup(nowhere.settings, tmp_path / "pool.backup", PASSPHRASE)
    assert not nowhere.settings.home.exists()
    empty = place("postgresql", secret_key="x" * 40)
    with pytest.raises(BackupError, match="empty"):
        backup(empty.settings, tmp_path / "pool.backup", PASSPHRASE)
    old = lively(place("sqlite"))
    old.key_file.write_text("y" * 40)
    with pytest.raises(BackupError, match="does not open"):
        backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    old.key_file.unlink()
    with pytest.raises(BackupError, match="no secret key"):
        backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    assert not old.key_file.exists()


def test_configured_secret_key_comes_back_as_a_file_or_must_agree(place, tmp_path):
    old = lively(place("sqlite", secret_key="k" * 40))
    backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    other = place("sqlite", secret_key="o" * 40)
    with pytest.raises(BackupError, match="COMPUTEPOOL_SECRET_KEY is set"):
        restore(other.settings, tmp_path / "pool.backup", PASSPHRASE)
    same = place("sqlite", secret_key="k" * 40)
    assert restore(same.settings, tmp_path / "pool.backup", PASSPHRASE).secret_key_file is None
    assert not same.key_file.exists()
    unset = place("sqlite")
    info = restore(unset.settings, tmp_path / "pool.backup", PASSPHRASE)
    assert info.secret_key_file == unset.key_file
    assert unset.key_file.read_text() == "k" * 40
    assert stat.S_IMODE(unset.key_file.stat().st_mode) == 0o600


def test_another_secret_key_in_the_home_folder_is_never_overwritten(place, tmp_path):
    old, new = lively(place("sqlite")), place("sqlite")
    backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    new.settings.home.mkdir()
    new.key_file.write_text("z" * 40)
    with pytest.raises(BackupError, match="another secret key"):
        restore(new.settings, tmp_path / "pool.backup", PASSPHRASE)
    assert new.key_file.read_text() == "z" * 40
    assert not (new.settings.home / "pool.db").exists()


@pytest.mark.parametrize("newer", [{"format": 2}, {"revision": "9999"}])
def test_backup_of_a_newer_version_is_refused(place, tmp_path, newer):
    old, new = lively(place("sqlite")), place("sqlite")
    backup(old.settings, tmp_path / "pool.backup", PASSPHRASE)
    header, *rest = opened(tmp_path / "pool.backup")
    sealed(tmp_path / "newer.backup", [header | newer | {"hub_version": "9.9"}, *rest])
    with pytest.raises(BackupError, match=r"newer version of ComputePool \(9.9\)"):
        restore(new.settings, tmp_path / "newer.backup", PASSPHRASE)
    assert not new.settings.home.exists()


def test_restore_of_something_else_says_so(place, tmp_path):
    new = place("sqlite")
    (tmp_path / "notes.txt").write_text("milk, bread")
    with pytest.raises(BackupError, match="not a backup"):
        restore(new.settings, tmp_path / "notes.txt", PASSPHRASE)
    with pytest.raises(BackupError, match="No such file"):
        restore(new.settings, tmp_path / "missing", PASSPHRASE)
