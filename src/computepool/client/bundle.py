"""Packs a folder into a bundle: a tar.gz whose bytes, and so whose digest, depend on the content alone.

What goes in: every file that `.gitignore` (nested ones, and those above the folder up to the repository's root) and
`.computepoolignore` leave in. The latter has the same syntax and the last word: it can leave more out, or take
something back with `!`. Never packed: `.git` and the pool's own `.computepool`. Left out unless a rule takes it back:
`__pycache__`, which changes with every run, and `.venv`, which only works on the machine that made it. Results of
earlier runs are left out too: the folders that downloads of outputs made, and what lies in `out/` where the job's
outputs are `out/**` (the folder itself goes along, empty). All else, `node_modules` for one, is packed if it is not
ignored. A tracked file that `.gitignore` names is left out as well.
"""

import contextlib
import hashlib
import os
import stat
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from computepool.client.listing import (
    BundleError,
    BundleFile,
    Identity,
    Listing,
    list_files,
    list_named,
    list_parts,
    shown,
)

__all__ = [
    "Bundle",
    "BundleError",
    "BundleFile",
    "Listing",
    "list_files",
    "pack",
    "pack_files",
    "pack_parts",
    "result_folders",
]

MIB = 1024**2
DEFAULT_MAX_BYTES = 2048 * MIB
"""Of content, before compression: what a person sees in the folder."""

COMPRESSION_LEVEL = 1
"""Measured on source trees: level 1 makes 3.5:1 at 100 MB/s, level 6 makes 4.1:1 at 31 MB/s. An upload is faster
with 6 only on lines below 20 Mbit/s or so, and there by a sixth."""
MAX_RATIO = 100
DENSE_FROM_BYTES = 64 * MIB
"""An agent takes what unpacks to 200 times its size for a bomb; so a folder of zeros is packed uncompressed."""

COPY_BYTES = 256 * 1024
TRIES = 3
LARGEST_SHOWN = 5
BLOCK = tarfile.BLOCKSIZE

GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""No time, no file name, no operating system."""
READ_FLAGS = (
    os.O_RDONLY
    # What was a file when the folder was listed may be a link or a pipe by now: follow none, wait for none.
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


@dataclass(frozen=True, slots=True)
class Bundle:
    digest: str
    """`sha256:` and 64 hexadecimal digits, of the packed bytes."""
    size_bytes: int
    file_count: int
    path: Path | None
    """None when it was packed into an open file."""
    content_bytes: int
    notices: tuple[str, ...]


class FileChangedError(Exception):
    """A file was not the same before and after it was read."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


ListEntries = Callable[[frozenset[Identity]], Listing]


def pack(
    folder: Path,
    target: BinaryIO | Path,
    *,
    extra_excludes: Iterable[str] = (),
    result_folders: Iterable[str] = (),
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Bundle:
    """Pack a folder. An open target must be seekable; a path gets the bundle when it is whole, or not at all."""
    excludes, results = tuple(extra_excludes), tuple(result_folders)

    def entries(outputs: frozenset[Identity]) -> Listing:
        return list_files(folder, extra_excludes=excludes, result_folders=results, outputs=outputs)

    return _pack_to(target, entries, max_bytes)


def result_folders(outputs: Iterable[str]) -> tuple[str, ...]:
    """Of a job's output patterns those that mean all of a folder: what lies there before is of an earlier run."""
    heads = (pattern.removesuffix("/**") for pattern in outputs if pattern.endswith("/**"))
    return tuple(head for head in heads if not set("*?[") & set(head))


def pack_files(
    files: Sequence[tuple[Path, str]], target: BinaryIO | Path, *, max_bytes: int = DEFAULT_MAX_BYTES
) -> Bundle:
    """Pack single files under chosen names, for a job that is one script. Links are packed as what they lead to."""
    return _pack_to(target, lambda _outputs: list_named(files), max_bytes)


def pack_parts(
    parts: Sequence[tuple[Path, str]],
    target: Path,
    *,
    extra_excludes: Iterable[str] = (),
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Bundle:
    """Pack files and folders under chosen names; `.` is the top. `extra_excludes` hold for what is packed there."""
    excludes = tuple(extra_excludes)
    return _pack_to(target, lambda outputs: list_parts(parts, extra_excludes=excludes, outputs=outputs), max_bytes)


def _pack_to(target: BinaryIO | Path, list_entries: ListEntries, max_bytes: int) -> Bundle:
    if not isinstance(target, Path):
        return _pack(target, None, list_entries, max_bytes)
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    partial = Path(name)
    try:
        with os.fdopen(handle, "w+b") as out:
            bundle = _pack(out, target, list_entries, max_bytes)
        partial.replace(target)
    except BaseException:
        partial.unlink()
        raise
    return bundle


def _pack(out: BinaryIO, path: Path | None, list_entries: ListEntries, max_bytes: int) -> Bundle:
    start = out.tell()
    outputs = _identities(out, path)
    changed = ""
    for _ in range(TRIES):
        listing = list_entries(outputs)
        _check_size(listing, max_bytes)
        try:
            packed = _write(out, start, listing, compress=True)
            if listing.size_bytes > max(DENSE_FROM_BYTES, MAX_RATIO * packed.size_bytes):
                packed = _write(out, start, listing, compress=False)
        except FileChangedError as error:
            changed = error.name
            continue
        return Bundle(
            digest=f"sha256:{packed.sha256.hexdigest()}",
            size_bytes=packed.size_bytes,
            file_count=len(listing.files),
            path=path,
            content_bytes=listing.size_bytes,
            notices=listing.notices,
        )
    raise BundleError(
        "file_changed",
        f"{shown(changed)} keeps changing while it is packed",
        "Stop the program that writes it, or name it in .computepoolignore.",
    )


class _Packed:
    """The bytes on their way out: compressed, counted and hashed."""

    def __init__(self, out: BinaryIO, *, compress: bool) -> None:
        self._out = out
        self._deflater = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS) if compress else None
        self._crc = 0
        self._plain_bytes = 0
        self.sha256 = hashlib.sha256()
        self.size_bytes = 0
        if compress:
            self._emit(GZIP_HEADER)

    def write(self, data: bytes) -> None:
        if self._deflater is None:
            self._emit(data)
            return
        self._crc = zlib.crc32(data, self._crc)
        self._plain_bytes += len(data)
        self._emit(self._deflater.compress(data))

    def finish(self) -> None:
        if self._deflater is not None:
            self._emit(self._deflater.flush())
            self._emit(self._crc.to_bytes(4, "little") + (self._plain_bytes & 0xFFFFFFFF).to_bytes(4, "little"))

    def _emit(self, data: bytes) -> None:
        if data:
            self._out.write(data)
            self.sha256.update(data)
            self.size_bytes += len(data)


def _write(out: BinaryIO, start: int, listing: Listing, *, compress: bool) -> _Packed:
    out.seek(start)
    out.truncate()
    packed = _Packed(out, compress=compress)
    for entry in listing.entries:
        packed.write(_header(entry))
        if not entry.is_folder and entry.link is None:
            for chunk in _content(entry):
                packed.write(chunk)
            packed.write(bytes(-entry.size_bytes % BLOCK))
    packed.write(bytes(2 * BLOCK))
    packed.finish()
    return packed


def _header(entry: BundleFile) -> bytes:
    """No owner, no times, two modes. GNU's format, for it stores any name as the bytes that it is."""
    info = tarfile.TarInfo(entry.name)
    info.size = entry.size_bytes
    info.mode = 0o755 if entry.executable or entry.is_folder else 0o644
    if entry.is_folder:
        info.type = tarfile.DIRTYPE
    elif entry.link is not None:
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.link, 0o777
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def _content(entry: BundleFile) -> Iterator[bytes]:
    """A file's bytes: exactly as many as were listed, and none changed while reading."""
    try:
        handle = os.open(entry.source, READ_FLAGS)
    except PermissionError as error:
        raise BundleError(
            "unreadable",
            f"cannot read {shown(entry.name)}: {error.strerror}",
            "Make it readable (`chmod u+r`), or name it in .computepoolignore.",
        ) from None
    except OSError:
        raise FileChangedError(entry.name) from None
    with os.fdopen(handle, "rb", buffering=0) as file:
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode) or before.st_size != entry.size_bytes:
            raise FileChangedError(entry.name)
        left = entry.size_bytes
        while left > 0:
            chunk = file.read(min(left, COPY_BYTES))
            if not chunk:
                raise FileChangedError(entry.name)
            left -= len(chunk)
            yield chunk
        after = os.fstat(handle)
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise FileChangedError(entry.name)


def _check_size(listing: Listing, max_bytes: int) -> None:
    if listing.size_bytes <= max_bytes:
        return
    largest = sorted(listing.files, key=lambda entry: -entry.size_bytes)[:LARGEST_SHOWN]
    names = ", ".join(f"{shown(entry.name)} ({_size(entry.size_bytes)})" for entry in largest)
    raise BundleError(
        "too_big",
        f"the folder holds {_size(listing.size_bytes)}, and a bundle at most {_size(max_bytes)}; the largest: {names}",
        "Name what the job does not need in .computepoolignore, or store large data once and give it as `inputs`.",
    )


def _size(count: int) -> str:
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            break
        value /= 1024
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def _identities(out: BinaryIO, path: Path | None) -> frozenset[Identity]:
    """The bundle itself may lie in the folder, as may an older one that it replaces."""
    found: set[Identity] = set()
    with contextlib.suppress(OSError):  # a file in memory has none
        state = os.fstat(out.fileno())
        found.add((state.st_dev, state.st_ino))
    if path is not None:
        with contextlib.suppress(OSError):
            state = path.stat()
            found.add((state.st_dev, state.st_ino))
    return frozenset(found)
