"""Bundles: what goes in, that equal content has an equal digest, and that agents unpack what clients pack."""

import gzip
import hashlib
import io
import os
import random
import socket
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
from pathlib import Path

import pytest
from support.waiting import patience

from computepool.agent.archive import ArchiveLimits, extract
from computepool.client import bundle, listing
from computepool.client.bundle import BundleError, list_files, pack, pack_files

MIB = 1024 * 1024


def fill(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def names(folder: Path, *excludes: str) -> list[str]:
    return [entry.name for entry in list_files(folder, extra_excludes=excludes).files]


def digest(folder: Path) -> str:
    return pack(folder, io.BytesIO()).digest


def tree(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything that a bundle keeps of a folder."""
    seen: dict[str, tuple[object, ...]] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            seen[name] = ("link", os.readlink(path))  # noqa: PTH115
        elif path.is_dir():
            seen[name] = ("folder",)
        else:
            seen[name] = ("file", path.read_bytes(), bool(path.stat().st_mode & stat.S_IXUSR))
    return seen


# The digest.


def test_equal_content_has_an_equal_digest_whatever_the_times_order_and_modes(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"b/two.py": "2", "a.py": "1", "b/c/three": b"\0\1", "d.txt": "4"}
    one = fill(tmp_path / "one", files)
    two = fill(tmp_path / "two", dict(reversed(files.items())))
    os.utime(two / "a.py", (1, 1))
    (two / "a.py").chmod(0o600)
    (two / "b").chmod(0o700)
    assert digest(one) == digest(two)


def test_digest_is_the_sha256_of_the_bytes_and_is_the_same_everywhere_before_compression(tmp_path: Path) -> None:
    fill(tmp_path / "w", {"main.py": "print(6*7)\n"})
    found = pack(tmp_path / "w", tmp_path / "out.tar.gz")
    content = (tmp_path / "out.tar.gz").read_bytes()
    assert found.path == tmp_path / "out.tar.gz"
    assert found.digest == "sha256:" + hashlib.sha256(content).hexdigest()
    assert (found.size_bytes, found.file_count, found.content_bytes) == (len(content), 1, 11)
    plain = hashlib.sha256(gzip.decompress(content)).hexdigest()
    assert plain == "0f29f2f815c57cbce1e7ed40d23e4518b1d47491aa26debec1c0a589ab9eaed2"


@pytest.mark.parametrize("change", ["content", "name", "mode", "link", "empty-folder"])
def test_other_content_has_another_digest(change: str, tmp_path: Path) -> None:
    work = fill(tmp_path, {"a": "1", "b": "2"})
    (work / "l").symlink_to("a")
    before = digest(work)
    if change == "content":
        (work / "a").write_text("3")
    elif change == "name":
        (work / "a").rename(work / "c")
    elif change == "mode":
        (work / "a").chmod(0o755)
    elif change == "link":
        (work / "l").unlink()
        (work / "l").symlink_to("b")
    else:
        (work / "out").mkdir()
    assert digest(work) != before


# Round trips.


def messy_folder(folder: Path, seed: int) -> Path:
    rng = random.Random(seed)
    places = [folder]
    folder.mkdir()
    odd = [
        "plain",
        "with space",
        "ünïcode",
        "-dash",
        "new\nline",
        "q'uote",
        "back\\slash",
        "long" * 60,
        os.fsdecode(b"\xff"),
    ]
    for _ in range(60):
        place = rng.choice(places)
        path = place / f"{rng.choice(odd)}{rng.randrange(1000)}"
        kind = rng.random()
        if os.path.lexists(path) or len(os.fsencode(path.relative_to(folder))) > 900:
            continue
        if kind < 0.2:
            path.mkdir()
            places.append(path)
        elif kind < 0.35:
            goal = rng.choice([entry for place in places for entry in place.iterdir()] or [folder / "nothing"])
            path.symlink_to(os.path.relpath(goal, path.parent))
        else:
            path.write_bytes(rng.randbytes(rng.choice([0, 1, 511, 512, 513, 300_000])))
            path.chmod(rng.choice([0o644, 0o755]))
    return folder


@pytest.mark.parametrize("seed", range(12))
def test_what_is_packed_is_what_is_unpacked(seed: int, tmp_path: Path) -> None:
    work = messy_folder(tmp_path / "work", seed)
    packed = pack(work, tmp_path / "bundle")
    got = extract(tmp_path / "bundle", tmp_path / "unpacked")
    assert tree(tmp_path / "unpacked") == tree(work)
    assert (got.files, got.bytes) == (packed.file_count, packed.content_bytes)
    assert digest(tmp_path / "unpacked") == packed.digest


def test_ordinary_tar_reads_a_bundle(tmp_path: Path) -> None:
    fill(tmp_path / "w", {"a/b.txt": "hello", "c" * 150: "long"})
    pack(tmp_path / "w", tmp_path / "bundle.tar.gz")
    with tarfile.open(tmp_path / "bundle.tar.gz") as archive:
        assert archive.getnames() == ["a", "a/b.txt", "c" * 150]


def test_empty_folder_is_a_bundle_too(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    assert pack(tmp_path / "w", tmp_path / "bundle").file_count == 0
    assert extract(tmp_path / "bundle", tmp_path / "out").files == 0


def test_folder_that_compresses_like_a_bomb_is_packed_so_that_agents_take_it(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    with (tmp_path / "w" / "zeros").open("wb") as zeros:
        zeros.truncate(80 * MIB)
    assert pack(tmp_path / "w", tmp_path / "bundle").size_bytes > 80 * MIB
    assert extract(tmp_path / "bundle", tmp_path / "out").bytes == 80 * MIB


def test_limits_of_the_client_are_within_those_of_the_agent() -> None:
    agent = ArchiveLimits()
    assert agent.max_depth == listing.MAX_DEPTH
    assert agent.max_path_bytes == listing.MAX_PATH_BYTES
    assert agent.max_name_bytes == listing.MAX_NAME_BYTES
    assert agent.max_entries == listing.MAX_ENTRIES
    assert agent.max_links == listing.MAX_LINKS
    assert agent.max_bytes >= bundle.DEFAULT_MAX_BYTES
    assert agent.max_ratio > bundle.MAX_RATIO
    assert agent.ratio_free_bytes >= bundle.DENSE_FROM_BYTES


def test_deepest_path_that_is_packed_is_unpacked(tmp_path: Path) -> None:
    work = fill(tmp_path / "w", {"/".join(["d"] * 63 + ["f"]): "deep"})
    pack(work, tmp_path / "bundle")
    assert extract(tmp_path / "bundle", tmp_path / "out").files == 1
    fill(work, {"/".join(["d"] * 64 + ["f"]): "too deep"})
    with pytest.raises(BundleError, match="64 folders") as caught:
        pack(work, tmp_path / "bundle")
    assert caught.value.code == "path_too_long"


# Links and other things that are no files.


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("l", "a"),
        ("l", "./sub/../a"),
        ("sub/l", "../a"),
        ("l", "sub"),
        ("l", "missing"),
        ("sub/deep/l", "../.."),
        ("l", "a/"),
    ],
)
def test_relative_link_inside_is_kept_as_a_link(link: str, target: str, tmp_path: Path) -> None:
    work = fill(tmp_path / "w", {"a": "A", "sub/deep/b": "B"})
    (work / link).symlink_to(target)
    pack(work, tmp_path / "bundle")
    extract(tmp_path / "bundle", tmp_path / "out")
    got = tmp_path / "out" / link
    assert got.is_symlink()
    assert got.exists() == (work / link).exists()
    if got.exists():
        assert got.resolve().relative_to(tmp_path / "out") == (work / link).resolve().relative_to(work)


def test_link_over_another_link_leads_where_it_led(tmp_path: Path) -> None:
    work = fill(tmp_path / "w", {"x/y/z": "Z", "x/other": "O", "other": "wrong"})
    (work / "short").symlink_to("x/y")
    (work / "l").symlink_to("short/../other")
    pack(work, tmp_path / "bundle")
    extract(tmp_path / "bundle", tmp_path / "out")
    assert (tmp_path / "out" / "l").read_text() == "O"


@pytest.mark.parametrize("target", ["/etc/hostname", "..", "../outside", "sub/../../outside", "sub/deep/../../../w/a"])
def test_link_that_would_break_elsewhere_is_an_error_that_names_it(target: str, tmp_path: Path) -> None:
    work = fill(tmp_path / "w", {"a": "A", "sub/deep/b": "B"})
    (work / "sub" / "deep").mkdir(exist_ok=True)
    (work / "mine").symlink_to(target)
    if target == "sub/deep/../../../w/a":
        assert list_files(work).files  # it comes back in, so it can be written as a link that never left
        return
    with pytest.raises(BundleError, match=r"the link mine -> ") as caught:
        pack(work, tmp_path / "bundle")
    assert caught.value.code == "bad_link"
    assert "relative link" in str(caught.value.hint)
    fill(work, {".computepoolignore": "mine"})
    assert "mine" not in names(work)


def test_sockets_and_pipes_are_left_out_with_a_notice(tmp_path: Path) -> None:
    work = fill(tmp_path / "w", {"a": "A"})
    os.mkfifo(work / "pipe")
    before = Path.cwd()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(work)  # the path of a socket must be short
        server.bind("socket")
        os.chdir(before)
        found = pack(work, tmp_path / "bundle")
    assert found.file_count == 1
    assert [notice.split()[0] for notice in found.notices] == ["pipe", "socket"]


# What goes wrong.


def test_too_big_a_folder_is_refused_with_its_largest_files_and_a_way_out(tmp_path: Path) -> None:
    work = fill(tmp_path / "w", {f"f{size}": bytes(size) for size in (10, 5000, 300, 70, 2000, 40, 90)})
    with pytest.raises(BundleError) as caught:
        pack(work, tmp_path / "bundle", max_bytes=7000)
    assert caught.value.code == "too_big"
    assert "f5000 (4.9 KiB), f2000 (2.0 KiB), f300 (300 B), f90 (90 B), f70 (70 B)" in caught.value.message
    assert ".computepoolignore" in str(caught.value.hint)
    assert "inputs" in str(caught.value.hint)
    assert [path.name for path in tmp_path.iterdir()] == ["w"]
    assert pack(work, tmp_path / "bundle", extra_excludes=["f5000"], max_bytes=7000).file_count == 6


UNPRIVILEGED_PACK = """
import io, os, sys
from pathlib import Path
from computepool.client.bundle import BundleError, pack
if os.getuid() == 0:
    os.setuid(65534)  # the superuser can read everything
try:
    pack(Path(sys.argv[1]), io.BytesIO())
except BundleError as error:
    sys.stdout.write(f"{error.code}: {error} {error.hint}")
"""


@pytest.mark.parametrize("what", ["locked/b", "locked", ".gitignore"])
def test_unreadable_file_is_named(what: str) -> None:
    # Not below tmp_path, which only its owner may enter.
    with tempfile.TemporaryDirectory() as place:
        work = fill(Path(place), {"a": "A", "locked/b": "B", ".gitignore": "x"})
        work.chmod(0o755)
        (work / what).chmod(0)
        command = [sys.executable, "-c", UNPRIVILEGED_PACK, str(work)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        (work / what).chmod(0o755)
    assert done.stdout.startswith("unreadable: cannot read"), done.stderr
    assert what in done.stdout
    assert ".computepoolignore" in done.stdout


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="does not exist"):
        pack(tmp_path / "nowhere", io.BytesIO())
    with pytest.raises(BundleError, match="is not a folder"):
        pack(fill(tmp_path, {"a": ""}) / "a", io.BytesIO())


def test_file_that_changes_once_is_packed_as_it_is_then(tmp_path: Path) -> None:
    """The output grows the file the first time it is written to: a change in the middle of packing."""
    work = fill(tmp_path / "w", {"a": os.urandom(3 * MIB), "b": "1"})

    class Meddling(io.BytesIO):
        meddled = False

        def write(self, data: object) -> int:
            if not self.meddled:
                self.meddled = True
                (work / "b").write_text("12")
            return super().write(data)  # type: ignore[arg-type]

    out = Meddling()
    out.write(b"kept")
    (work / "b").write_text("1")
    out.meddled = False
    found = pack(work, out)
    assert out.getvalue()[:4] == b"kept"
    (tmp_path / "bundle").write_bytes(out.getvalue()[4:])
    assert found.digest == digest(work)
    extract(tmp_path / "bundle", tmp_path / "out")
    assert (tmp_path / "out" / "b").read_text() == "12"


def test_file_that_is_rewritten_while_it_is_read_is_packed_whole(tmp_path: Path) -> None:
    work = fill(tmp_path / "w", {"a": os.urandom(3 * MIB)})
    new = os.urandom(3 * MIB)

    class Meddling(io.BytesIO):
        def write(self, data: object) -> int:
            written = super().write(data)  # type: ignore[arg-type]
            if self.tell() > MIB and (work / "a").read_bytes() != new:
                (work / "a").write_bytes(new)
            return written

    out = Meddling()
    pack(work, out)
    (tmp_path / "bundle").write_bytes(out.getvalue())
    extract(tmp_path / "bundle", tmp_path / "out")
    assert (tmp_path / "out" / "a").read_bytes() == new


def test_file_that_keeps_changing_is_named(tmp_path: Path) -> None:
    work = fill(tmp_path / "w", {"a": os.urandom(3 * MIB), "train.log": "1"})

    class Meddling(io.BytesIO):
        def write(self, data: object) -> int:
            with (work / "train.log").open("a") as log:
                log.write("more")
            return super().write(data)  # type: ignore[arg-type]

    with pytest.raises(BundleError, match=r"train\.log keeps changing") as caught:
        pack(work, Meddling())
    assert caught.value.code == "file_changed"


def test_file_that_becomes_a_pipe_does_not_hang_the_packer(tmp_path: Path) -> None:
    work = fill(tmp_path / "w", {"a": os.urandom(3 * MIB), "b": "1"})

    class Meddling(io.BytesIO):
        def write(self, data: object) -> int:
            if (work / "b").is_file():
                (work / "b").unlink()
                os.mkfifo(work / "b")
            return super().write(data)  # type: ignore[arg-type]

    found: list[int] = []
    packing = threading.Thread(target=lambda: found.append(pack(work, Meddling()).file_count), daemon=True)
    packing.start()
    packing.join(patience())
    assert found == [1]


def test_bundle_does_not_pack_itself_or_the_one_before(tmp_path: Path) -> None:
    work = fill(tmp_path, {"a": "A"})
    first = pack(work, work / "bundle.tar.gz")
    second = pack(work, work / "bundle.tar.gz")
    assert first.digest == second.digest
    assert sorted(path.name for path in work.iterdir()) == ["a", "bundle.tar.gz"]


# Single files.


def test_single_script_is_packed_under_its_name(tmp_path: Path) -> None:
    fill(tmp_path, {"script.py": "print(1)", "lib/util.py": "x"})
    (tmp_path / "alias.py").symlink_to("script.py")
    files = [(tmp_path / "alias.py", "main.py"), (tmp_path / "lib" / "util.py", "lib/util.py")]
    found = pack_files(files, tmp_path / "bundle")
    assert found.file_count == 2
    extract(tmp_path / "bundle", tmp_path / "out")
    assert (tmp_path / "out" / "main.py").read_text() == "print(1)"
    assert not (tmp_path / "out" / "main.py").is_symlink()
    assert pack_files(files[::-1], io.BytesIO()).digest == found.digest


@pytest.mark.parametrize("name", ["", "/abs", "../up", "a/../b", "a//b", ".", "a\0b", "a/"])
def test_single_file_needs_a_proper_name(name: str, tmp_path: Path) -> None:
    fill(tmp_path, {"a": "A"})
    with pytest.raises(BundleError, match="not a name for a file"):
        pack_files([(tmp_path / "a", name)], io.BytesIO())


def test_single_file_must_be_a_file_and_only_once(tmp_path: Path) -> None:
    fill(tmp_path, {"a": "A"})
    with pytest.raises(BundleError, match=r"cannot read .*missing\.py"):
        pack_files([(tmp_path / "missing.py", "m.py")], io.BytesIO())
    with pytest.raises(BundleError, match="is not a file"):
        pack_files([(tmp_path, "m.py")], io.BytesIO())
    with pytest.raises(BundleError, match="two files"):
        pack_files([(tmp_path / "a", "m"), (tmp_path / "a", "m")], io.BytesIO())
