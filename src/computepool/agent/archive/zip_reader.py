"""Reads zip files entry by entry, in bounded memory.

The standard library's zipfile loads the whole central directory at once and trusts it about the sizes. Here it is
read as a stream, each entry is compared with its local header, and entries must follow each other in the file, as
every ordinary packer writes them: so no two can share bytes, which is what the densest zip bombs are made of.
"""

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from computepool.agent.archive.model import COPY_BYTES, ArchiveLimits, ArchiveRefused, Entry, Kind, Reason

END = struct.Struct("<4s4H2LH")
END64_LOCATOR = struct.Struct("<4sLQL")
END64 = struct.Struct("<4sQ2H2L4Q")
CENTRAL = struct.Struct("<4s6H3L5H2L")
LOCAL = struct.Struct("<4s5H3L2H")

MAX_COMMENT_BYTES = 0xFFFF
STORED, DEFLATED = 0, 8
ENCRYPTED_FLAGS = 0x0001 | 0x0040 | 0x2000
PATCH_FLAG = 0x0020
UTF8_FLAG = 0x0800
UNIX = 3
ZIP64_EXTRA = 1
IN_ZIP64 = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Directory:
    entries: int
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of the central directory."""

    name: bytes
    raw_name: bytes
    flags: int
    method: int
    crc: int
    packed_bytes: int
    unpacked_bytes: int
    unix_mode: int
    offset: int


def read_zip(archive: BinaryIO, index: BinaryIO, limits: ArchiveLimits) -> Iterator[Entry]:
    """`archive` and `index` are the same file opened twice: one reads the content, the other the directory."""
    directory = _find_directory(index)
    if directory.entries > limits.max_entries:
        raise ArchiveRefused(Reason.TOO_MANY_ENTRIES)
    position = 0
    for record in _records(index, directory):
        if record.offset < position:
            raise ArchiveRefused(Reason.OVERLAPPING, record.name)
        start = _data_start(archive, record)
        position = start + record.packed_bytes
        if position > directory.start:
            raise ArchiveRefused(Reason.OVERLAPPING, record.name)
        data = _data(archive, record, limits)
        yield _entry(record, data)
        for _unread in data:
            pass


def _find_directory(index: BinaryIO) -> Directory:
    file_bytes = index.seek(0, os.SEEK_END)
    tail_start = max(0, file_bytes - END.size - MAX_COMMENT_BYTES)
    index.seek(tail_start)
    tail = index.read(END.size + MAX_COMMENT_BYTES)
    at = tail.rfind(b"PK\5\6")
    if at < 0 or at + END.size > len(tail):
        raise ArchiveRefused(Reason.TRUNCATED, detail="the zip has no directory at its end")
    _, disk, first_disk, _, entries, size, start, comment = END.unpack_from(tail, at)
    end = tail_start + at
    if end + END.size + comment != file_bytes:
        raise ArchiveRefused(Reason.CORRUPT, detail="data behind the end")
    if entries == 0xFFFF or IN_ZIP64 in (size, start):
        entries, size, start, end = _find_directory64(index, end)
    elif disk or first_disk:
        raise ArchiveRefused(Reason.UNSUPPORTED, detail="a zip in several parts")
    if start + size != end:
        raise ArchiveRefused(Reason.CORRUPT, detail="the zip's directory is not where it says")
    return Directory(entries, start, size)


def _find_directory64(index: BinaryIO, end: int) -> tuple[int, int, int, int]:
    at = end - END64_LOCATOR.size
    signature, _, record_at, _ = END64_LOCATOR.unpack(_at(index, at, END64_LOCATOR.size))
    if signature != b"PK\6\7":
        raise ArchiveRefused(Reason.CORRUPT, detail="the zip's directory is not where it says")
    fields = END64.unpack(_at(index, record_at, END64.size))
    if fields[0] != b"PK\6\6" or record_at + 12 + fields[1] != at:
        raise ArchiveRefused(Reason.CORRUPT, detail="the zip's directory is not where it says")
    return fields[7], fields[8], fields[9], record_at


def _records(index: BinaryIO, directory: Directory) -> Iterator[Record]:
    index.seek(directory.start)
    left = directory.size
    for _ in range(directory.entries):
        fixed = _exactly(index, CENTRAL.size)
        (signature, made_by, _, flags, method, _, _, crc, packed, unpacked, name_size, extra_size, comment_size, _, _,
         attributes, offset) = CENTRAL.unpack(fixed)  # fmt: skip
        if signature != b"PK\1\2":
            raise ArchiveRefused(Reason.CORRUPT, detail="the zip's directory is damaged")
        variable = _exactly(index, name_size + extra_size + comment_size)
        left -= CENTRAL.size + len(variable)
        raw_name = variable[:name_size]
        extra = variable[name_size : name_size + extra_size]
        unpacked, packed, offset = _wide(extra, unpacked, packed, offset, raw_name)
        mode = attributes >> 16 if made_by >> 8 == UNIX else 0
        name = _decoded(raw_name, flags)
        yield Record(name, raw_name, flags, method, crc, packed, unpacked, mode, offset)
    if left != 0:
        raise ArchiveRefused(Reason.CORRUPT, detail="the zip's directory is damaged")


def _wide(extra: bytes, unpacked: int, packed: int, offset: int, name: bytes) -> tuple[int, int, int]:
    """Values that do not fit in 32 bits stand in an extra field, in this order, and only those."""
    if IN_ZIP64 not in (unpacked, packed, offset):
        return unpacked, packed, offset
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        if kind == ZIP64_EXTRA:
            if at + 4 + size > len(extra):
                break
            wide = iter(struct.unpack_from(f"<{size // 8}Q", extra, at + 4))
            try:
                return (
                    next(wide) if unpacked == IN_ZIP64 else unpacked,
                    next(wide) if packed == IN_ZIP64 else packed,
                    next(wide) if offset == IN_ZIP64 else offset,
                )
            except StopIteration:
                break
        at += 4 + size
    raise ArchiveRefused(Reason.CORRUPT, name, detail="a size is missing")


def _decoded(raw_name: bytes, flags: int) -> bytes:
    if raw_name.isascii():
        return raw_name
    try:
        return raw_name.decode("utf-8" if flags & UTF8_FLAG else "cp437").encode()
    except UnicodeDecodeError:
        raise ArchiveRefused(Reason.BAD_NAME, raw_name, detail="not the UTF-8 that it says") from None


def _data_start(archive: BinaryIO, record: Record) -> int:
    fixed = _at(archive, record.offset, LOCAL.size)
    signature, _, flags, method, _, _, _, _, _, name_size, extra_size = LOCAL.unpack(fixed)
    if signature != b"PK\3\4":
        raise ArchiveRefused(Reason.CORRUPT, record.name, detail="the entry is not where the directory says")
    if (flags | record.flags) & ENCRYPTED_FLAGS:
        raise ArchiveRefused(Reason.ENCRYPTED, record.name)
    if (flags | record.flags) & PATCH_FLAG:
        raise ArchiveRefused(Reason.UNSUPPORTED, record.name, detail="patched data")
    if method != record.method or _exactly(archive, name_size) != record.raw_name:
        raise ArchiveRefused(Reason.CORRUPT, record.name, detail="the entry differs from the directory")
    if method not in (STORED, DEFLATED):
        raise ArchiveRefused(Reason.UNSUPPORTED, record.name, detail=f"compression method {method}")
    archive.seek(extra_size, os.SEEK_CUR)
    return archive.tell()


def _entry(record: Record, data: Iterator[bytes]) -> Entry:
    if b"\\" in record.name:
        # A zip from a careless Windows packer: neither a file of that name nor a folder is surely meant.
        raise ArchiveRefused(Reason.BAD_NAME, record.name, detail="backslashes in a zip")
    kind = stat.S_IFMT(record.unix_mode)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
        raise ArchiveRefused(Reason.SPECIAL_FILE, record.name)
    if record.name.endswith(b"/") or kind == stat.S_IFDIR:
        if record.unpacked_bytes or kind == stat.S_IFLNK:
            raise ArchiveRefused(Reason.CORRUPT, record.name, detail="a folder with content")
        return Entry(record.name, Kind.FOLDER)
    if kind == stat.S_IFLNK:
        if record.unpacked_bytes > COPY_BYTES:
            raise ArchiveRefused(Reason.NAME_TOO_LONG, record.name)
        return Entry(record.name, Kind.SYMLINK, link=b"".join(data))
    return Entry(record.name, Kind.FILE, executable=bool(record.unix_mode & 0o100), data=data)


def _data(archive: BinaryIO, record: Record, limits: ArchiveLimits) -> Iterator[bytes]:
    """The content, held to the announced size and checksum."""
    if record.unpacked_bytes > limits.max_bytes:
        raise ArchiveRefused(Reason.TOO_BIG, record.name)
    left, crc = record.unpacked_bytes, 0
    packed = _packed(archive, record)
    for chunk in packed if record.method == STORED else _inflated(packed, record):
        left -= len(chunk)
        if left < 0:
            raise ArchiveRefused(Reason.CORRUPT, record.name, detail="larger than it says")
        crc = zlib.crc32(chunk, crc)
        yield chunk
    if left or crc != record.crc:
        raise ArchiveRefused(Reason.CORRUPT, record.name, detail="size or checksum is wrong")


def _packed(archive: BinaryIO, record: Record) -> Iterator[bytes]:
    left = record.packed_bytes
    while left > 0:
        chunk = archive.read(min(left, COPY_BYTES))
        if not chunk:
            raise ArchiveRefused(Reason.TRUNCATED, record.name)
        left -= len(chunk)
        yield chunk


def _inflated(packed: Iterator[bytes], record: Record) -> Iterator[bytes]:
    inflater = zlib.decompressobj(-15)
    try:
        for piece in packed:
            waiting = piece
            while waiting:
                if inflater.eof:
                    raise ArchiveRefused(Reason.CORRUPT, record.name, detail="data behind the end")
                chunk = inflater.decompress(waiting, COPY_BYTES)
                waiting = inflater.unconsumed_tail or inflater.unused_data
                if chunk:
                    yield chunk
        while not inflater.eof:
            # Output may be held back when the last input was taken at a full buffer.
            chunk = inflater.decompress(b"", COPY_BYTES)
            if not chunk:
                raise ArchiveRefused(Reason.TRUNCATED, record.name)
            yield chunk
    except zlib.error as error:
        raise ArchiveRefused(Reason.CORRUPT, record.name, detail=str(error)) from None


def _at(file: BinaryIO, offset: int, size: int) -> bytes:
    if offset < 0 or offset >= 1 << 63:
        raise ArchiveRefused(Reason.CORRUPT, detail="an offset outside the file")
    file.seek(offset)
    return _exactly(file, size)


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise ArchiveRefused(Reason.TRUNCATED)
    return data
