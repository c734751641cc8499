"""Archives with any bytes in any field, and a place to unpack them where a single write outside is noticed."""

import gzip
import hashlib
import io
import os
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

TarFormat = Literal[0, 1, 2]
LEVELS_ABOVE = 12
"""Folders of the arena above the target: `../` as often as a test dares still ends among canaries."""
SECRET = b"nobody may change this\n"


@dataclass(frozen=True)
class Member:
    """One entry of an archive to be made; `kind` is tar's type flag."""

    name: bytes
    data: bytes = b""
    kind: bytes = tarfile.REGTYPE
    link: bytes = b""
    mode: int = 0o644


def file(name: bytes | str, data: bytes = b"planted", mode: int = 0o644) -> Member:
    return Member(_raw(name), data, mode=mode)


def folder(name: bytes | str) -> Member:
    return Member(_raw(name), kind=tarfile.DIRTYPE, mode=0o755)


def symlink(name: bytes | str, target: bytes | str) -> Member:
    return Member(_raw(name), kind=tarfile.SYMTYPE, link=_raw(target), mode=0o777)


def hardlink(name: bytes | str, target: bytes | str) -> Member:
    return Member(_raw(name), kind=tarfile.LNKTYPE, link=_raw(target))


def _raw(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else os.fsencode(text)


# Writers: the standard library's where it can, by hand where it would not write such a thing.


def tar(members: list[Member], *, form: TarFormat = tarfile.GNU_FORMAT) -> bytes:
    return b"".join(tar_member(member, form) for member in members) + bytes(1024)


def tar_member(member: Member, form: TarFormat = tarfile.GNU_FORMAT) -> bytes:
    info = tarfile.TarInfo(member.name.decode("utf-8", "surrogateescape"))
    info.type, info.mode, info.size = member.kind, member.mode, len(member.data)
    info.linkname = member.link.decode("utf-8", "surrogateescape")
    return info.tobuf(form, "utf-8", "surrogateescape") + padded(member.data)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


def pax_tar(members: list[Member]) -> bytes:
    """Names and link targets in extended headers, where no length holds them and NUL is just a byte."""
    out = bytearray()
    for member in members:
        records = pax_record(b"path", member.name)
        if member.link:
            records += pax_record(b"linkpath", member.link)
        out += raw_header(b"pax", len(records), kind=b"x") + padded(records)
        out += raw_header(b"short", len(member.data), kind=member.kind, mode=member.mode) + padded(member.data)
    return bytes(out) + bytes(1024)


def pax_record(key: bytes, value: bytes) -> bytes:
    body = b" " + key + b"=" + value + b"\n"
    length = len(body)
    while len(str(length)) + len(body) != length:
        length = len(str(length)) + len(body)
    return str(length).encode() + body


def raw_header(
    name: bytes, size: int | bytes, *, kind: bytes = b"0", link: bytes = b"", mode: int | bytes = 0o644
) -> bytes:
    """A tar header with any bytes in any field, and a right checksum."""
    size_field = size if isinstance(size, bytes) else b"%011o\0" % size
    mode_field = mode if isinstance(mode, bytes) else b"%07o\0" % mode
    head = name[:100].ljust(100, b"\0") + mode_field + b"0000000\0" * 2 + size_field + b"00000000000\0"
    tail = kind + link[:100].ljust(100, b"\0") + b"ustar\x0000" + bytes(80 + 155 + 12)
    checksum = sum(head) + sum(tail) + 8 * 32
    return head + b"%06o\0 " % checksum + tail


def tar_gz(members: list[Member]) -> bytes:
    return gzip.compress(tar(members), 6, mtime=0)


def make_zip(members: list[Member]) -> bytes:
    """A zip with the same members; a link is a file with its target for content, as Info-ZIP does it."""
    kinds = {
        tarfile.REGTYPE: stat.S_IFREG,
        tarfile.DIRTYPE: stat.S_IFDIR,
        tarfile.SYMTYPE: stat.S_IFLNK,
        tarfile.CHRTYPE: stat.S_IFCHR,
        tarfile.BLKTYPE: stat.S_IFBLK,
        tarfile.FIFOTYPE: stat.S_IFIFO,
    }
    entries = []
    for member in members:
        name = member.name + b"/" if member.kind == tarfile.DIRTYPE and not member.name.endswith(b"/") else member.name
        entries.append(ZipEntry(name, member.link or member.data, mode=kinds[member.kind] | member.mode))
    return raw_zip(entries)


@dataclass
class ZipEntry:
    """A zip entry whose every field can lie."""

    name: bytes
    data: bytes = b""
    mode: int = stat.S_IFREG | 0o644
    method: int = 8
    flags: int = 0x0800
    size: int | None = None
    packed: bytes | None = None
    crc: int | None = None
    local_name: bytes | None = None
    local_flags: int | None = None
    offset: int | None = None
    extra: bytes = b""
    made_by: int = 3
    packed_size: int | None = None
    fields: tuple[int, int, int] = field(default=(0, 0, 0), init=False)

    def local(self) -> bytes:
        raw = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = self.packed
        if packed is None:
            packed = self.data if self.method != 8 else raw.compress(self.data) + raw.flush()
        crc = zlib.crc32(self.data) if self.crc is None else self.crc
        size = len(self.data) if self.size is None else self.size
        self.fields = (crc, len(packed) if self.packed_size is None else self.packed_size, size)
        name = self.name if self.local_name is None else self.local_name
        flags = self.flags if self.local_flags is None else self.local_flags
        head = struct.pack("<4s5H3L2H", b"PK\3\4", 20, flags, self.method, 0, 33, *self.fields, len(name), 0)
        return head + name + packed

    def central(self, offset: int) -> bytes:
        at = offset if self.offset is None else self.offset
        head = struct.pack(
            "<4s6H3L5H2L", b"PK\1\2", self.made_by << 8 | 20, 20, self.flags, self.method, 0, 33, *self.fields,
            len(self.name), len(self.extra), 0, 0, 0, (self.mode << 16) & 0xFFFFFFFF, at,
        )  # fmt: skip
        return head + self.name + self.extra


def raw_zip(entries: list[ZipEntry], *, count: int | None = None) -> bytes:
    body, central = bytearray(), bytearray()
    for entry in entries:
        offset = len(body)
        if entry.offset is None:
            body += entry.local()
        else:
            entry.local()
        central += entry.central(offset)
    total = len(entries) if count is None else count
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, total & 0xFFFF, total & 0xFFFF, len(central), len(body), 0)
    return bytes(body + central) + end


# The arena.


class Arena:
    """A tree of canaries around a target that does not exist yet."""

    def __init__(self, root: Path) -> None:
        self.root = root / "arena"
        box = self.root.joinpath(*(f"level{number}" for number in range(LEVELS_ABOVE)))
        box.mkdir(parents=True)
        for place in [*box.parents, box]:
            if place == root or self.root not in (place, *place.parents):
                continue
            (place / "canary.txt").write_bytes(SECRET)
            (place / "canaries").mkdir()
            (place / "canaries" / "inner.txt").write_bytes(SECRET)
        self.box = box
        self.target = box / "target"
        self.archive = root / "archive"
        self._before = self.look()

    def clear(self) -> None:
        shutil.rmtree(self.target, ignore_errors=True)

    def put(self, content: bytes) -> Path:
        self.archive.write_bytes(content)
        return self.archive

    def look(self) -> dict[str, tuple[object, ...]]:
        """Everything outside the target that a write could change. A folder's times tell of files come and gone."""
        seen: dict[str, tuple[object, ...]] = {}
        for path in self._walk(self.root):
            state = path.lstat()
            facts: tuple[object, ...] = (state.st_mode, state.st_uid, state.st_gid)
            if stat.S_ISREG(state.st_mode):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                facts = (*facts, state.st_nlink, state.st_mtime_ns, state.st_ino, content)
            elif stat.S_ISLNK(state.st_mode):
                facts = (*facts, os.fsencode(path.readlink()))
            elif path != self.box:
                facts = (*facts, state.st_mtime_ns)
            seen[str(path.relative_to(self.root))] = facts
        return seen

    def _walk(self, place: Path) -> Iterator[Path]:
        yield place
        for path in sorted(place.iterdir()):
            if path == self.target:
                continue
            if not path.is_symlink() and path.is_dir():
                yield from self._walk(path)
            else:
                yield path

    def changes_outside(self) -> list[str]:
        after = self.look()
        return sorted(path for path in {*self._before, *after} if self._before.get(path) != after.get(path))

    def faults_inside(self) -> list[str]:
        """What an unpacked tree must not hold: ways out, special files, odd permissions."""
        faults = []
        if not self.target.exists():
            return []
        top = os.path.realpath(self.target)
        for path in self._walk_target(self.target):
            state = path.lstat()
            if stat.S_ISLNK(state.st_mode):
                if not _stays_inside(path, top):
                    faults.append(f"{path} leads out")
            elif not stat.S_ISREG(state.st_mode) and not stat.S_ISDIR(state.st_mode):
                faults.append(f"{path} is special")
            elif stat.S_IMODE(state.st_mode) not in (0o644, 0o755):
                faults.append(f"{path} has mode {stat.S_IMODE(state.st_mode):o}")
        return faults

    def _walk_target(self, place: Path) -> Iterator[Path]:
        yield place
        for path in place.iterdir():
            if not path.is_symlink() and path.is_dir():
                yield from self._walk_target(path)
            else:
                yield path


def _stays_inside(link: Path, top: str) -> bool:
    """Ask the kernel, from the link's own folder, where it leads; a broken or endless link leads nowhere."""
    try:
        opened = os.open(link, os.O_PATH)
    except OSError:
        return True
    try:
        real = str(Path(f"/proc/self/fd/{opened}").readlink())
    finally:
        os.close(opened)
    return real == top or real.startswith(top + "/")


# Memory, measured in a process of its own.

MEASURE = """
import re, sys
from pathlib import Path
from typing import Literal
from computepool.agent.archive import ArchiveLimits, ArchiveRefused, extract
def peak(): return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
before = peak()
try:
    extract(Path(sys.argv[1]), Path(sys.argv[2]), limits=ArchiveLimits(**eval(sys.argv[3])))
    outcome = "unpacked"
except ArchiveRefused as refused:
    outcome = refused.code
print(outcome, peak() - before)
"""


def measured_extract(archive: Path, target: Path, **limits: int) -> tuple[str, int]:
    """What became of it, and by how many bytes the process grew at its highest."""
    command = [sys.executable, "-c", MEASURE, str(archive), str(target), repr(limits)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    outcome, grown = done.stdout.split()
    return outcome, int(grown)


def gzip_stream(path: Path, pieces: Iterator[bytes]) -> None:
    """A gzip file written piece by piece, so that making a bomb does not need the memory that it is about."""
    with gzip.open(path, "wb", compresslevel=9) as out:
        for piece in pieces:
            out.write(piece)


def many_members(count: int) -> bytes:
    one = io.BytesIO()
    with zipfile.ZipFile(one, "w") as archive:
        for number in range(count):
            archive.writestr(f"f{number}", b"")
    return one.getvalue()
