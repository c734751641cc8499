"""The small pure parts: environment, layout, cores, folder sizes."""

import asyncio
import os
from pathlib import Path

import pytest
from support.ordinary_user import ordinary_folder, ordinary_user

from computepool.agent.sandbox.cgroup_tree import Mount, read_mounts
from computepool.agent.sandbox.environment import job_environment
from computepool.agent.sandbox.layout import build_etc, owners_arguments, problem_with_command, remove_etc
from computepool.agent.sandbox.lookup import problem_on_host
from computepool.agent.sandbox.space import folder_bytes
from computepool.agent.sandbox.watchdog import DISK_LONGEST_SECONDS, DISK_SECONDS, pause_after
from computepool.agent.trees import ENTRY_BYTES, MAX_DEPTH, KeptClosed, TooDeep, open_folder


def test_environment_is_what_the_job_gave_and_a_few_defaults():
    given = {"SEED": "1", "PATH": "/usr/bin", "LD_PRELOAD": "x.so", "NVIDIA_VISIBLE_DEVICES": "all", "A=B": "x"}
    assert job_environment(given, home="/job", tmp="/tmp") == {
        "SEED": "1",
        "PATH": "/usr/bin",
        "HOME": "/job",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
    }


@pytest.mark.parametrize("name", ["LD_LIBRARY_PATH", "LD_AUDIT", "NVIDIA_DRIVER_CAPABILITIES", "COMPUTEPOOL_RUN"])
def test_environment_never_chooses_code_or_gpus(name):
    assert name not in job_environment({name: "x"}, home="/", tmp="/")
    assert job_environment({f"X{name}": "x"}, home="/", tmp="/")[f"X{name}"] == "x"


def look_up(name: str, folder: Path) -> tuple[int, str] | None:
    return problem_with_command(name, cwd="/job/work", search_path="/usr/bin:/bin", folder=folder)


def test_commands_are_found_as_a_shell_would(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "greet.sh").write_text("#!/bin/sh\n")
    (tmp_path / "work" / "greet.sh").chmod(0o755)
    (tmp_path / "work" / "plain").write_text("text")
    (tmp_path / "work" / "link").symlink_to("/job/elsewhere")
    for fine in (
        "sh",
        "/bin/sh",
        "/usr/bin/env",
        "./greet.sh",
        "/job/work/greet.sh",
        "../work/greet.sh",
        "./link",
        "/tmp/x",
    ):
        assert look_up(fine, tmp_path) is None, fine
    for missing in ("no-such-command", "./nothing", "/job/nothing", "/usr/bin/nothing", "/root/bin/python", "greet.sh"):
        assert look_up(missing, tmp_path) == (127, "command not found"), missing
    assert look_up("./plain", tmp_path) == (126, "is not executable")
    assert look_up("/usr/bin", tmp_path) == (126, "is not executable")


def test_commands_on_the_host_are_found_as_a_shell_would(tmp_path):
    (tmp_path / "program").write_text("#!/bin/sh\n")
    (tmp_path / "program").chmod(0o755)
    (tmp_path / "plain").write_text("text")
    (tmp_path / "folder").mkdir()
    (tmp_path / "nowhere").symlink_to("missing")
    (tmp_path / "link").symlink_to("program")

    def look(name, path="/usr/bin:/bin"):
        return problem_on_host(name, cwd=str(tmp_path), search_path=path)

    for fine in ("sh", "/bin/sh", "./program", "./link", f"{tmp_path}/program"):
        assert look(fine) is None, fine
    assert look("program", "/bin:") is None  # an empty place is where one is
    for missing in ("program", "no-such-command", "./nowhere", "/usr/bin/nothing", "./program/x"):
        assert look(missing) == (127, "command not found"), missing
    for closed in ("./plain", "./folder"):
        assert look(closed) == (126, "is not executable"), closed
    assert look("plain", f"{tmp_path}:/bin") == (126, "is not executable")


def test_etc_holds_nothing_that_only_root_may_read(tmp_path):
    host = tmp_path / "host"
    (host / "ssl" / "certs").mkdir(parents=True)
    (host / "ssl" / "certs" / "ca.pem").write_text("public")
    (host / "ssl" / "certs" / "private.pem").write_text("private")
    (host / "ssl" / "certs" / "private.pem").chmod(0o600)
    (host / "services").write_text("http 80/tcp\n")
    (host / "magic").write_text("closed")
    (host / "magic").chmod(0o640)
    (host / "shadow").write_text("root:hash")
    (host / "passwd").write_text("alice:x:1000:1000::/home/alice:/bin/sh\n")
    etc = build_etc(tmp_path, host)
    assert (etc / "ssl" / "certs" / "ca.pem").read_text() == "public"
    assert (etc / "services").exists()
    assert not (etc / "ssl" / "certs" / "private.pem").exists()
    assert not (etc / "magic").exists()
    assert not (etc / "shadow").exists()
    assert "alice" not in (etc / "passwd").read_text()


def test_etc_follows_the_hosts(tmp_path):
    host = tmp_path / "host"
    host.mkdir()
    (host / "timezone").write_text("Asia/Kolkata")
    etc = build_etc(tmp_path, host)
    inode = etc.stat().st_ino
    assert build_etc(tmp_path, host).stat().st_ino == inode  # nothing had changed, so nothing was done
    (host / "timezone").write_text("Europe/Paris")
    os.utime(host / "timezone", (1, 1))
    changed = build_etc(tmp_path, host)
    assert (changed / "timezone").read_text() == "Europe/Paris"
    assert (etc / "timezone").read_text() == "Asia/Kolkata"  # a job may be looking at it
    remove_etc(tmp_path, but_current=True, host=host)
    assert [path.name for path in tmp_path.iterdir() if path != host] == [changed.name]
    assert changed.stat().st_mode & 0o777 == 0o755


def test_hidden_folders_are_covered_only_where_they_would_show(tmp_path):
    shown = Path("/usr/share")
    arguments = " ".join(owners_arguments((), [shown, tmp_path]))
    assert f"--tmpfs {shown} --remount-ro {shown}" in arguments
    assert f"--tmpfs {tmp_path}" not in arguments


def space_of(folder: Path, **more: int) -> int:
    root = open_folder(folder)
    try:
        return asyncio.run(folder_bytes(root, **more))
    finally:
        os.close(root)


def test_folder_size_counts_each_file_once_and_follows_no_link(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "big").write_bytes(b"x" * 1_000_000)
    size = space_of(tmp_path)
    assert 1_000_000 <= size < 1_100_000
    os.link(tmp_path / "a" / "b" / "big", tmp_path / "again")
    (tmp_path / "away").symlink_to("/usr")
    assert space_of(tmp_path) < size + 10_000


def test_folder_size_refuses_a_bottomless_folder(tmp_path):
    place = tmp_path
    for _ in range(MAX_DEPTH + 5):
        place = place / "d"
        place.mkdir()
    with pytest.raises(TooDeep):
        space_of(tmp_path)


def test_folder_size_sees_into_a_folder_that_was_closed(tmp_path):
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "big").write_bytes(b"x" * 500_000)
    (tmp_path / "closed").chmod(0)
    assert space_of(tmp_path) >= 500_000


def test_everything_with_a_name_takes_room_even_without_a_byte(tmp_path):
    for number in range(100):
        (tmp_path / f"f{number}").touch()
        (tmp_path / f"l{number}").symlink_to("x")
        (tmp_path / f"d{number}").mkdir()
    assert space_of(tmp_path) >= 300 * ENTRY_BYTES
    assert space_of(tmp_path, enough=10 * ENTRY_BYTES) == 11 * ENTRY_BYTES  # and no more is looked at


@pytest.mark.parametrize("mode", [0o000, 0o100, 0o400, 0o500, 0o600])
def test_folders_that_an_ordinary_users_job_closed_are_counted_all_the_same(mode):
    with ordinary_folder() as home, ordinary_user():
        place = home / "job" / "closed" / "deep"
        place.mkdir(parents=True)
        (place / "big").write_bytes(b"x" * 500_000)
        root = open_folder(home / "job")
        for folder in (place, place.parent, home / "job"):
            folder.chmod(mode)
        try:
            assert asyncio.run(folder_bytes(root)) >= 500_000
        finally:
            os.close(root)


def test_folder_that_cannot_be_opened_again_hides_something():
    with ordinary_folder() as home:
        closed = home / "closed"
        closed.mkdir()
        if os.geteuid() == 0:
            closed.chmod(0)  # root's, so that the ordinary user cannot help it
        else:
            pytest.skip("root: makes the folder that another user cannot open")
        with ordinary_user(), pytest.raises(KeptClosed):
            space_of(home)


def test_big_folder_is_looked_at_less_often_but_never_left_alone():
    assert pause_after(0.001) == DISK_SECONDS
    assert DISK_SECONDS < pause_after(0.1) < DISK_LONGEST_SECONDS
    assert pause_after(1000) == DISK_LONGEST_SECONDS


def test_mounts_of_a_container_are_understood(tmp_path):
    """In a container only a part of the hierarchy is mounted, and membership is told relative to the whole."""
    (tmp_path / "mountinfo").write_text(
        "30 29 0:26 /docker/abc /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n"
        "31 29 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n"
        "32 29 0:28 / /proc rw - proc proc rw\n"
    )
    (tmp_path / "cgroup").write_text("4:memory:/docker/abc/agent\n3:cpu,cpuacct:/\n0::/\n")
    memory, cpu = read_mounts(tmp_path / "mountinfo", tmp_path / "cgroup")
    top = Path("/sys/fs/cgroup")
    assert memory == Mount(frozenset({"memory"}), top / "memory", top / "memory" / "agent", 1)
    assert cpu == Mount(frozenset({"cpu", "cpuacct"}), top / "cpu,cpuacct", top / "cpu,cpuacct", 1)
