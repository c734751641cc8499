"""Promise 25: archives cannot escape or bomb."""

import io
import os
import stat
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import archives, hostile_archives
from support.archives import Arena, Member, ZipEntry, file, folder, hardlink, symlink
from support.hostile_archives import WRITERS, Hostile, all_hostile
from support.proofs import figure

from computepool.agent.archive import ArchiveLimits, ArchiveRefused, Extracted, extract
from computepool.agent.archive.model import DISK_BLOCK_BYTES, Entry, Kind
from computepool.agent.archive.tar_reader import MAX_GZIP_MEMBERS
from computepool.agent.archive.tree import Tree

MIB = 1024 * 1024
HOSTILE = all_hostile()
SMALL = ArchiveLimits(max_bytes=16 * MIB, max_entries=2_000, ratio_free_bytes=2 * MIB)


@pytest.fixture(scope="module")
def shared_arena(tmp_path_factory: pytest.TempPathFactory) -> list[Arena]:
    """Making an arena takes longer than any archive here, so a clean one is used again."""
    return [Arena(tmp_path_factory.mktemp("arena"))]


@pytest.fixture
def arena(shared_arena: list[Arena], tmp_path: Path) -> Iterator[Arena]:
    yield shared_arena[0]
    shared_arena[0].clear()
    if shared_arena[0].changes_outside():
        shared_arena[0] = Arena(tmp_path)


def attempt(arena: Arena, content: bytes, limits: ArchiveLimits = SMALL) -> str:
    """Unpack, and check what must hold for any archive whatever. Tells the refusal's code, or an empty text."""
    arena.clear()
    arena.put(content)
    refusal: ArchiveRefused | None = None
    try:
        extract(arena.archive, arena.target, limits=limits)
    except ArchiveRefused as refused:
        refusal = refused
    assert arena.changes_outside() == []
    assert arena.faults_inside() == []
    if refusal is None:
        return ""
    assert not arena.target.exists(), "a refusal leaves nothing"
    assert str(refusal).isprintable()
    return refusal.code


def test_there_are_enough_hostile_archives_and_no_two_share_a_name() -> None:
    assert len({case.name for case in HOSTILE}) == len(HOSTILE) >= 400


@pytest.mark.parametrize("case", HOSTILE, ids=[case.name for case in HOSTILE])
def test_hostile_archive_writes_nothing_outside(case: Hostile, arena: Arena) -> None:
    code = attempt(arena, case.build(arena))
    assert code in (case.reasons or {""})


@pytest.mark.parametrize("case", HOSTILE[::12], ids=[case.name for case in HOSTILE[::12]])
def test_refused_archive_leaves_an_existing_target_as_it_was(case: Hostile, arena: Arena) -> None:
    arena.target.mkdir()
    arena.put(case.build(arena))
    if case.reasons:
        with pytest.raises(ArchiveRefused):
            extract(arena.archive, arena.target, limits=SMALL)
        assert list(arena.target.iterdir()) == []
    else:
        extract(arena.archive, arena.target, limits=SMALL)
    assert arena.changes_outside() == []


def naive_escapes(case: Hostile, root: Path) -> bool:
    root.mkdir()
    arena = Arena(root)
    arena.put(case.build(arena))
    arena.target.mkdir()
    try:
        with tarfile.open(arena.archive) as archive:
            # Python 3.11.2, as Debian 12 has it, knows no filters: that is what the newer name for none means.
            archive.extraction_filter = getattr(tarfile, "fully_trusted_filter", None)
            archive.extractall(arena.target)
    except (tarfile.TarError, OSError, KeyError, RecursionError):
        pass  # what it wrote before it gave up counts
    return arena.changes_outside() != []


def test_naive_extraction_escapes_in_the_same_arena(tmp_path: Path) -> None:
    """The control: were the arena blind, this would find nothing."""
    suspects = [
        case
        for family in (
            hostile_archives.path_tricks,
            hostile_archives.link_tricks,
            hostile_archives.hardlink_tricks,
            hostile_archives.overflow_tricks,
        )
        for case in family()
        if not case.name.startswith("zip") and case.stays_in_arena
    ]
    escaped = [case.name for number, case in enumerate(suspects) if naive_escapes(case, tmp_path / str(number))]
    assert len(escaped) >= 80
    for trick in ("path-", "absolute-", "folder-", "write-through-", "write-over-link-", "nested-dots-", "hardlink-"):
        assert any(trick in name for name in escaped), f"no {trick} trick escapes: the arena would not notice"


@pytest.mark.parametrize("planted", ["folder", "file", "parent-of-link"])
def test_link_that_somebody_plants_meanwhile_is_not_followed(planted: str, arena: Arena) -> None:
    """Who fills the folder is asked for entry after entry; between two of them it is changed under its feet."""
    arena.target.mkdir()

    def entries() -> Iterator[Entry]:
        yield Entry(b"d/first", Kind.FILE, data=iter([b"1"]))
        yield Entry(b"elsewhere/x", Kind.FILE, data=iter([b"1"]))
        if planted == "file":
            (arena.target / "d" / "second").symlink_to(arena.box / "canary.txt")
        else:
            (arena.target / "d").rename(arena.target / "moved")
            (arena.target / "d").symlink_to(arena.box)
        if planted == "parent-of-link":
            yield Entry(b"d/canaries/link", Kind.SYMLINK, link=b"x")
        else:
            yield Entry(b"d/second", Kind.FILE, data=iter([b"escaped"]))

    root = os.open(arena.target, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with Tree(root, SMALL, MIB) as tree, pytest.raises(ArchiveRefused):
            tree.add_all(entries())
    finally:
        os.close(root)
    assert arena.changes_outside() == []


# Names that nobody thought of.

nasty_parts = st.sampled_from(
    [b"..", b".", b"", b"a", b"b", b"link", b"a\0", b"\xff", b"\\", b"..\\", b"...", b" ", b"C:", b"x" * 256, b"\n"]
)
parts = st.one_of(nasty_parts, st.binary(min_size=0, max_size=6))
paths = st.lists(parts, min_size=1, max_size=6).map(b"/".join)
members = st.builds(
    lambda name, kind, link, data, mode: Member(
        name,
        data if kind == tarfile.REGTYPE else b"",
        kind,
        link if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else b"",
        mode,
    ),
    paths,
    st.sampled_from([tarfile.REGTYPE, tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE]),
    paths,
    st.binary(max_size=20),
    st.integers(0, 0o7777),
)


@settings(max_examples=300, deadline=None)
@given(found=st.lists(members, min_size=1, max_size=8), form=st.sampled_from(["tar", "tar.gz", "pax"]))
def test_random_members_write_nothing_outside(shared_arena: list[Arena], found: list[Member], form: str) -> None:
    attempt(shared_arena[0], WRITERS[form](found))


inside_names = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4).map("/".join)
inside_links = st.lists(st.sampled_from(["..", "a", "b", "c", ".", "..", ".."]), min_size=1, max_size=7).map("/".join)


@settings(max_examples=100, deadline=None)
@given(
    found=st.lists(st.tuples(inside_names, st.one_of(st.none(), inside_links)), min_size=1, max_size=10),
    form=st.sampled_from(["tar", "zip"]),
)
def test_links_that_are_unpacked_lead_nowhere_outside(
    shared_arena: list[Arena], found: list[tuple[str, str | None]], form: str
) -> None:
    """Few names, so that links cross each other; whoever is refused is left out, so that something is unpacked."""
    taken: list[Member] = []
    for name, target in found:
        more = [*taken, file(name) if target is None else symlink(name, target)]
        if attempt(shared_arena[0], WRITERS[form](more)) == "":
            taken = more


@settings(max_examples=300, deadline=None)
@given(
    form=st.sampled_from(list(WRITERS)),
    damage=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_damaged_archives_are_refused_or_unpacked_but_nothing_else(
    shared_arena: list[Arena], form: str, damage: list[tuple[float, int]]
) -> None:
    found = [folder("a"), file("a/b", b"x" * 600), symlink("a/c", "b"), file("d", b"y" * 10, 0o755)]
    damaged = bytearray(WRITERS[form](found))
    for place, byte in damage:
        damaged[int(place * len(damaged))] = byte
    attempt(shared_arena[0], bytes(damaged))


# Bombs. The numbers are what the process may grow by; Python and zlib need some megabytes of their own.

ALLOWED_GROWTH = 24 * MIB


def test_gzip_bomb_is_stopped_early_in_little_memory(tmp_path: Path) -> None:
    size = 100 * MIB
    pieces = [archives.raw_header(b"zeros", size), *[bytes(MIB)] * (size // MIB), bytes(1024)]
    archives.gzip_stream(tmp_path / "bomb", iter(pieces))
    assert (tmp_path / "bomb").stat().st_size < MIB
    outcome, grown = archives.measured_extract(tmp_path / "bomb", tmp_path / "target", ratio_free_bytes=8 * MIB)
    assert outcome == "bomb"
    assert grown < ALLOWED_GROWTH
    assert [path.name for path in tmp_path.iterdir()] == ["bomb"]


@pytest.mark.parametrize("kind", [b"L", b"K", b"x", b"g"])
def test_header_bomb_is_refused_unread(kind: bytes, tmp_path: Path) -> None:
    size = 100 * MIB
    archives.gzip_stream(tmp_path / "bomb", iter([archives.raw_header(b"h", size, kind=kind), *[b"n" * MIB] * 100]))
    outcome, grown = archives.measured_extract(tmp_path / "bomb", tmp_path / "target")
    assert outcome == "name_too_long"
    assert grown < ALLOWED_GROWTH


def test_flood_of_headers_is_stopped(tmp_path: Path) -> None:
    """No file at all: only extended headers, each within its own limit."""
    record = archives.pax_record(b"comment", b"n" * (MIB - 100))
    one = archives.raw_header(b"h", len(record), kind=b"g") + archives.padded(record)
    archives.gzip_stream(tmp_path / "bomb", iter([one] * 100))
    outcome, grown = archives.measured_extract(tmp_path / "bomb", tmp_path / "target", ratio_free_bytes=8 * MIB)
    assert outcome == "bomb"
    assert grown < ALLOWED_GROWTH


def test_zip_bomb_is_stopped_early_in_little_memory(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for number in range(12):
            archive.writestr(f"zeros{number}", bytes(8 * MIB))
    outcome, grown = archives.measured_extract(tmp_path / "bomb", tmp_path / "target", ratio_free_bytes=8 * MIB)
    assert outcome == "bomb"
    assert grown < ALLOWED_GROWTH


def test_zip_that_announces_42_gigabytes_is_refused_unwritten(tmp_path: Path) -> None:
    extra = (1).to_bytes(2, "little") + (8).to_bytes(2, "little") + (42 * 1024 * MIB).to_bytes(8, "little")
    content = archives.raw_zip([ZipEntry(b"a", b"x", size=0xFFFFFFFF, extra=extra)])
    assert attempt(Arena(tmp_path), content) == "too_big"


def test_archives_inside_an_archive_stay_closed(tmp_path: Path) -> None:
    """As in 42.zip, which is 16 zips of 16 zips: what is inside is a file like any other."""
    inner = archives.make_zip([file("zeros", bytes(MIB))])
    arena = Arena(tmp_path)
    assert attempt(arena, archives.make_zip([file(f"{number}.zip", inner) for number in range(16)])) == ""
    assert sorted(path.suffix for path in arena.target.iterdir()) == [".zip"] * 16


def test_directory_of_a_zip_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "many").write_bytes(archives.many_members(60_000))
    outcome, grown = archives.measured_extract(tmp_path / "many", tmp_path / "target", max_entries=10_000)
    assert outcome == "too_many_entries"
    assert grown < ALLOWED_GROWTH


@pytest.mark.parametrize(
    ("found", "limits"),
    [
        ([file(f"f{number}") for number in range(11)], ArchiveLimits(max_entries=10)),
        ([folder("a")] * 11, ArchiveLimits(max_entries=10)),
        ([file("a/b/c/d/e/f/g/h/i/j/k")], ArchiveLimits(max_entries=10)),
        ([symlink(f"l{number}", "x") for number in range(6)], ArchiveLimits(max_links=5)),
        ([file("f"), *[hardlink(f"l{number}", "f") for number in range(10)]], ArchiveLimits(max_entries=10)),
    ],
    ids=["files", "same-folder", "implied-folders", "links", "hardlinks"],
)
def test_too_many_entries_are_refused(found: list[Member], limits: ArchiveLimits, arena: Arena) -> None:
    assert attempt(arena, archives.tar(found), limits) == "too_many_entries"


def test_bytes_are_counted_over_all_files(tmp_path: Path) -> None:
    found = [file(f"f{number}", os.urandom(1000)) for number in range(11)]
    arena = Arena(tmp_path)
    assert attempt(arena, archives.tar(found), ArchiveLimits(max_bytes=10_999)) == "too_big"
    assert attempt(arena, archives.tar(found), ArchiveLimits(max_bytes=11_000)) == ""


def test_space_on_disk_is_counted_in_blocks_with_all_that_holds_no_bytes(arena: Arena) -> None:
    """A million empty files take room too, and a byte takes a block."""
    found = [file("f", b"x" * 4097), file("empty"), folder("d"), symlink("l", "f"), hardlink("h", "f")]
    enough = 6 * DISK_BLOCK_BYTES
    assert attempt(arena, archives.tar(found), ArchiveLimits(disk_bytes=enough - 1)) == "over_disk"
    assert attempt(arena, archives.tar(found), ArchiveLimits(disk_bytes=enough)) == ""
    bomb = archives.make_zip([file(str(number), bytes(MIB)) for number in range(40)])
    assert attempt(arena, bomb, ArchiveLimits(disk_bytes=10 * MIB)) == "over_disk"


def count_calls(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[str]:
    """Grows with each call of a function."""
    calls: list[str] = []
    real = getattr(module, name)

    def counted(*arguments: object, **named: object) -> object:
        calls.append(name)
        return real(*arguments, **named)

    monkeypatch.setattr(module, name, counted)
    return calls


def test_many_gzip_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = zlib.compressobj(1, zlib.DEFLATED, 31).flush()
    members = count_calls(monkeypatch, zlib, "decompressobj")
    assert attempt(Arena(tmp_path), empty * 200_000) == "corrupt"
    assert len(members) <= MAX_GZIP_MEMBERS


def test_alternating_deep_paths_take_a_walk_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst case for walking folder by folder: the next entry is never near."""
    found = [file("/".join([f"way{number % 2}"] + ["d"] * 60 + [f"f{number}"])) for number in range(1500)]
    arena, content = Arena(tmp_path), archives.tar(found)
    opened = count_calls(monkeypatch, os, "open")
    assert attempt(arena, content) == ""
    assert len(opened) <= 1500 * 64


# What ordinary archives get.


def test_ordinary_tar_of_the_standard_library_is_unpacked(arena: Arena) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name in ("src/main.py", "src/" + "deep/" * 20 + "x.py", "naïve/" + "ß" * 60 + ".txt"):
            info = tarfile.TarInfo(name)
            info.size = 5
            archive.addfile(info, io.BytesIO(b"hello"))
        link = tarfile.TarInfo("again")
        link.type, link.linkname = tarfile.LNKTYPE, "src/main.py"
        archive.addfile(link)
    assert attempt(arena, out.getvalue()) == ""
    assert (arena.target / "again").read_bytes() == b"hello"
    assert (arena.target / "again").stat().st_nlink == 2
    assert (arena.target / "naïve" / ("ß" * 60 + ".txt")).read_bytes() == b"hello"


def test_ordinary_zip_of_the_standard_library_is_unpacked(arena: Arena) -> None:
    out = io.BytesIO()
    big = os.urandom(700_000) + bytes(900_000)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("empty")
        archive.writestr("src/main.py", b"print(1)\n")
        with archive.open(zipfile.ZipInfo("src/ü.bin"), "w", force_zip64=True) as stream:
            stream.write(big)
    assert attempt(arena, out.getvalue()) == ""
    assert (arena.target / "src" / "ü.bin").read_bytes() == big
    assert (arena.target / "empty").is_dir()


def test_streamed_zip_with_sizes_after_the_data_is_unpacked(tmp_path: Path) -> None:
    class Pipe(io.RawIOBase):
        content = b""

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            piece = bytes(memoryview(data))  # type: ignore[arg-type]
            self.content += piece
            return len(piece)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"one")
        archive.writestr("b", b"two")
    arena = Arena(tmp_path)
    assert attempt(arena, pipe.content) == ""
    assert (arena.target / "b").read_bytes() == b"two"


@pytest.mark.proof
def test_zip_with_more_entries_than_sixteen_bits_is_unpacked(tmp_path: Path) -> None:
    entries = figure(660, 66_000)
    (tmp_path / "many").write_bytes(archives.many_members(entries))
    assert extract(tmp_path / "many", tmp_path / "target") == Extracted(files=entries, bytes=0)


def test_modes_are_normalised_and_links_kept(arena: Arena) -> None:
    found = [file("tool", b"#!", 0o6711), file("data", b"", 0o600), folder("d"), symlink("d/up", "../data")]
    assert attempt(arena, archives.tar(found)) == ""
    assert stat.S_IMODE((arena.target / "tool").stat().st_mode) == 0o755
    assert stat.S_IMODE((arena.target / "data").stat().st_mode) == 0o644
    assert stat.S_IMODE(arena.target.stat().st_mode) == 0o755
    assert os.readlink(arena.target / "d" / "up") == "../data"  # noqa: PTH115


def test_modes_do_not_depend_on_the_umask(arena: Arena) -> None:
    before = os.umask(0o077)
    try:
        assert attempt(arena, archives.tar([file("a/b"), file("c", b"", 0o700)])) == ""
    finally:
        os.umask(before)


def test_result_counts_files_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(archives.tar([folder("d"), file("d/one", b"12345"), symlink("two", "d")]))
    assert extract(tmp_path / "a", tmp_path / "target") == Extracted(files=2, bytes=5)


def test_target_with_files_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(archives.tar([file("x")]))
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "mine").write_text("keep")
    with pytest.raises(FileExistsError):
        extract(tmp_path / "a", tmp_path / "target")
    assert [path.name for path in (tmp_path / "target").iterdir()] == ["mine"]


def test_target_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(archives.tar([file("x")]))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "target").symlink_to("elsewhere")
    with pytest.raises(FileExistsError):
        extract(tmp_path / "a", tmp_path / "target")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_refusal_tells_what_is_wrong_where_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(archives.tar([file("../x\x1b[2J")]))
    with pytest.raises(ArchiveRefused) as caught:
        extract(tmp_path / "a", tmp_path / "target")
    assert caught.value.code == "outside"
    assert caught.value.entry == "../x\\x1b[2J"
    assert "without `..`" in str(caught.value)


def test_memory_for_a_large_file_is_that_of_a_piece(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(archives.tar([file("big", os.urandom(20 * MIB))]))
    tracemalloc.start()
    extract(tmp_path / "a", tmp_path / "target")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * MIB


def test_no_file_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for number, found in enumerate(([file("a/b/c/d")], [file("a/b/c/d"), file("../x")], [hardlink("a", "b/c")])):
        arena_root = tmp_path / str(number)
        arena_root.mkdir()
        attempt(Arena(arena_root), archives.tar(found))
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
