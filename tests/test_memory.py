"""Temporary files of tests go to memory only where it is safe and wanted."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support import memory

from computepool.agent.sandbox.identity import SYSTEM_FOLDER


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(memory, "MEMORY", tmp_path)
    monkeypatch.setattr(memory, "FREE_BYTES", 1)
    monkeypatch.setattr(tempfile, "tempdir", tempfile.tempdir)
    monkeypatch.setenv("TMPDIR", "/before")
    monkeypatch.delenv("TMPDIR")
    return tmp_path / f"t{os.getuid()}"


def test_files_go_to_a_folder_of_the_user_that_others_can_pass_through(place: Path) -> None:
    before = os.umask(0o077)
    try:
        folder = memory.temporary_folder()
    finally:
        os.umask(before)
    assert folder == place / str(os.getpid())
    assert tempfile.gettempdir() == str(place)
    assert place.stat().st_mode & 0o777 == 0o711


def test_what_an_earlier_run_left_is_removed_and_what_a_run_uses_is_not(place: Path) -> None:
    (place / str(os.getppid())).mkdir(parents=True)
    (place / "999999999").mkdir()
    subprocess.run(
        ["sh", "-c", "for i in $(seq 300); do mkdir -p a/b/c/d/e; cd a/b/c/d/e; done"],
        cwd=place / "999999999",
        check=True,
    )
    memory.temporary_folder()
    assert [left.name for left in place.iterdir()] == [str(os.getppid())]


def test_the_callers_own_choice_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/chosen")
    memory.temporary_folder()
    assert os.environ["TMPDIR"] == "/chosen"
    assert not place.exists()


def test_too_little_room_or_no_such_place_means_the_disk(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "FREE_BYTES", 1 << 60)
    memory.temporary_folder()
    monkeypatch.setattr(memory, "MEMORY", place / "missing")
    memory.temporary_folder()
    assert "TMPDIR" not in os.environ


def test_a_link_that_somebody_else_put_there_is_not_followed(place: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    place.symlink_to(tmp_path / "theirs")
    memory.temporary_folder()
    assert "TMPDIR" not in os.environ


def test_system_folder_of_a_run_is_in_memory_and_nobody_elses() -> None:
    if os.geteuid() != 0:
        pytest.skip("root: only root mounts")
    program = "from support import memory; print(memory.mount_system_folder()); print(*open('/proc/mounts'))"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    before = Path("/proc/mounts").read_text()
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    mounted, *mounts = done.stdout.splitlines()
    assert (mounted == "True") == any(line.split()[:3] == ["tmpfs", str(SYSTEM_FOLDER), "tmpfs"] for line in mounts)
    assert mounted == "True" or memory.memory() is None
    assert Path("/proc/mounts").read_text() == before
