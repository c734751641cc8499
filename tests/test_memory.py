"""Temporary files of tests go to memory only where it is safe and wanted."""

import os
import tempfile
from pathlib import Path

import pytest
from support import memory


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(memory, "MEMORY", tmp_path)
    monkeypatch.setattr(memory, "FREE_BYTES", 1)
    monkeypatch.setattr(tempfile, "tempdir", tempfile.tempdir)
    monkeypatch.setenv("TMPDIR", "/before")
    monkeypatch.delenv("TMPDIR")
    return tmp_path / f"tests-{os.getuid()}"


def test_files_go_to_a_folder_of_the_user_that_others_can_pass_through(place: Path) -> None:
    before = os.umask(0o077)
    try:
        memory.keep_temporary_files_in_memory()
        memory.keep_temporary_files_in_memory()
    finally:
        os.umask(before)
    assert tempfile.gettempdir() == str(place)
    assert place.stat().st_mode & 0o777 == 0o711


def test_the_callers_own_choice_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/chosen")
    memory.keep_temporary_files_in_memory()
    assert os.environ["TMPDIR"] == "/chosen"
    assert not place.exists()


def test_too_little_room_or_no_such_place_means_the_disk(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "FREE_BYTES", 1 << 60)
    memory.keep_temporary_files_in_memory()
    monkeypatch.setattr(memory, "MEMORY", place / "missing")
    memory.keep_temporary_files_in_memory()
    assert "TMPDIR" not in os.environ


def test_a_link_that_somebody_else_put_there_is_not_followed(place: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    place.symlink_to(tmp_path / "theirs")
    memory.keep_temporary_files_in_memory()
    assert "TMPDIR" not in os.environ
