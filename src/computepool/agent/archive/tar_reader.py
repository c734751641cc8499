"""Reads tar and tar.gz as a stream, in bounded memory.

The standard library's tarfile reads an extended header of any announced size into memory, keeps every member, and
in the versions that Python 3.11 ships has known endless loops on hostile headers. A tar header is one struct, so
it is read here, strictly: what is unusual is refused, not guessed.
"""

import io
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from computepool.agent.archive.model import COPY_BYTES, MIB, ArchiveLimits, ArchiveRefused, Entry, Kind, Reason

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BLOCK = 512
ZERO_BLOCK = bytes(BLOCK)
MAX_PADDING_BYTES = 1 * MIB
"""Zeros after the end marker; tar fills up its last record with them."""
MAX_GZIP_MEMBERS = 100_000
META_HEADERS_PER_ENTRY = 3
"""A long name, a long link and one extended header may stand before an entry."""

REGULAR_TYPES = (b"0", b"\0", b"7")
LONG_NAME, LONG_LINK, EXTENDED, GLOBAL = b"L", b"K", b"x", b"g"


class Gunzip(io.RawIOBase):
    """The unpacked bytes of a gzip file; stops as soon as there are more of them than allowed."""

    def __init__(self, packed: BinaryIO, max_bytes: int) -> None:
        self._packed = packed
        self._left = max_bytes
        self._waiting = b""
        self._inflater = zlib.decompressobj(31)
        self._members = 1

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer).cast("B")
        if len(view) == 0:
            return 0
        while True:
            if self._inflater.eof and not self._next_member():
                return 0
            if not self._waiting:
                self._waiting = self._packed.read(COPY_BYTES)
            if not self._waiting and not self._inflater.unconsumed_tail:
                raise ArchiveRefused(Reason.TRUNCATED)
            try:
                out = self._inflater.decompress(self._waiting, len(view))
            except zlib.error as error:
                raise ArchiveRefused(Reason.CORRUPT, detail=str(error)) from None
            self._waiting = self._inflater.unconsumed_tail
            if out:
                self._left -= len(out)
                if self._left < 0:
                    raise ArchiveRefused(Reason.BOMB)
                view[: len(out)] = out
                return len(out)

    def _next_member(self) -> bool:
        """Gzip files may be joined, and padded with zeros; anything else behind the end is damage."""
        rest = self._inflater.unused_data or self._packed.read(COPY_BYTES)
        while rest and not rest.strip(b"\0"):
            rest = self._packed.read(COPY_BYTES)
        if not rest:
            return False
        self._members += 1
        if self._members > MAX_GZIP_MEMBERS:
            raise ArchiveRefused(Reason.CORRUPT, detail="too many gzip members")
        self._inflater = zlib.decompressobj(31)
        self._waiting = rest
        return True


def gunzip(packed: BinaryIO, archive_bytes: int, limits: ArchiveLimits) -> io.BufferedReader:
    """A stream that ends in a refusal, not in a full memory."""
    headers = limits.max_entries * BLOCK * 2 * (META_HEADERS_PER_ENTRY + 1)
    allowed = limits.bytes_allowed(archive_bytes)
    # Headers and padding are no file content, but a bomb can be made of them as well.
    overhead = min(headers, max(limits.ratio_free_bytes, limits.max_ratio * archive_bytes)) + MAX_PADDING_BYTES
    return io.BufferedReader(Gunzip(packed, allowed + overhead), COPY_BYTES)


def read_tar(stream: BinaryIO | io.BufferedReader, limits: ArchiveLimits) -> Iterator[Entry]:
    """Entries in the order of the archive; the data of one must be taken before the next."""
    headers_left = limits.max_entries * (META_HEADERS_PER_ENTRY + 1)
    extended: dict[bytes, bytes] = {}
    while True:
        header = _exactly(stream, BLOCK)
        if header == ZERO_BLOCK:
            if extended:
                raise ArchiveRefused(Reason.CORRUPT, detail="a header without its entry")
            _check_end(stream)
            return
        headers_left -= 1
        if headers_left < 0:
            raise ArchiveRefused(Reason.TOO_MANY_ENTRIES)
        kind = header[156:157]
        size = _checked_size(header)
        if kind in (LONG_NAME, LONG_LINK, EXTENDED, GLOBAL):
            _read_meta(kind, _payload(stream, size, limits), extended)
            continue
        name = extended.get(b"path", _name(header))
        if b"size" in extended:
            size = _decimal(extended[b"size"], name)
        link = extended.get(b"linkpath", _text(header[157:257]))
        extended = {}
        data = _data(stream, size, name)
        yield _entry(kind, header, name, link, size, data)
        for _unread in data:
            pass
        _skip_padding(stream, size, name)


def _entry(kind: bytes, header: bytes, name: bytes, link: bytes, size: int, data: Iterator[bytes]) -> Entry:
    if kind in REGULAR_TYPES:
        if kind == b"\0" and name.endswith(b"/") and size == 0:  # how tar wrote folders before 1988
            return Entry(name, Kind.FOLDER)
        return Entry(name, Kind.FILE, executable=bool(_number(header[100:108], name) & 0o100), data=data)
    if kind in (b"3", b"4", b"6"):
        raise ArchiveRefused(Reason.SPECIAL_FILE, name)
    if kind == b"S":
        raise ArchiveRefused(Reason.SPARSE_FILE, name)
    if kind not in (b"1", b"2", b"5"):
        raise ArchiveRefused(Reason.UNSUPPORTED, name, detail=f"tar entry of type {kind!r}")
    if size != 0:
        raise ArchiveRefused(Reason.CORRUPT, name, detail="a folder or link with content")
    if kind == b"5":
        return Entry(name, Kind.FOLDER)
    return Entry(name, Kind.SYMLINK if kind == b"2" else Kind.HARDLINK, link=link)


def _read_meta(kind: bytes, payload: bytes, extended: dict[bytes, bytes]) -> None:
    if kind == LONG_NAME:
        extended[b"path"] = _text(payload)
        return
    if kind == LONG_LINK:
        extended[b"linkpath"] = _text(payload)
        return
    for key, value in _records(payload):
        if key.startswith(b"GNU.sparse."):
            raise ArchiveRefused(Reason.SPARSE_FILE)
        if key in (b"path", b"linkpath", b"size"):
            if kind == GLOBAL:
                raise ArchiveRefused(Reason.UNSUPPORTED, detail="a path or size for all entries at once")
            extended[key] = value


def _records(payload: bytes) -> Iterator[tuple[bytes, bytes]]:
    """`LENGTH KEY=VALUE\\n`, the length counting the whole record."""
    at = 0
    while at < len(payload):
        space = payload.find(b" ", at, at + 20)
        length = payload[at:space] if space > at else b""
        if not length.isdigit():
            raise ArchiveRefused(Reason.CORRUPT, detail="a malformed extended header")
        end = at + int(length)
        equals = payload.find(b"=", space + 1, end)
        if end > len(payload) or equals < 0 or payload[end - 1 : end] != b"\n":
            raise ArchiveRefused(Reason.CORRUPT, detail="a malformed extended header")
        yield payload[space + 1 : equals], payload[equals + 1 : end - 1]
        at = end


def _payload(stream: BinaryIO | io.BufferedReader, size: int, limits: ArchiveLimits) -> bytes:
    if size > limits.max_meta_bytes:
        raise ArchiveRefused(Reason.NAME_TOO_LONG, detail="an extended header of more than 1 MiB")
    payload = _exactly(stream, size)
    _skip_padding(stream, size, None)
    return payload


def _data(stream: BinaryIO | io.BufferedReader, size: int, name: bytes) -> Iterator[bytes]:
    left = size
    while left > 0:
        chunk = stream.read(min(left, COPY_BYTES))
        if not chunk:
            raise ArchiveRefused(Reason.TRUNCATED, name)
        left -= len(chunk)
        yield chunk


def _skip_padding(stream: BinaryIO | io.BufferedReader, size: int, name: bytes | None) -> None:
    padding = -size % BLOCK
    if len(stream.read(padding)) != padding:
        raise ArchiveRefused(Reason.TRUNCATED, name)


def _check_end(stream: BinaryIO | io.BufferedReader) -> None:
    """Read on to the end, so that a gzip checksum is checked and nothing hides behind the end marker."""
    seen = 0
    while chunk := stream.read(COPY_BYTES):
        seen += len(chunk)
        if seen > MAX_PADDING_BYTES or chunk.strip(b"\0"):
            raise ArchiveRefused(Reason.CORRUPT, detail="data behind the end")


def _exactly(stream: BinaryIO | io.BufferedReader, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise ArchiveRefused(Reason.TRUNCATED)
    return data


def is_tar_header(header: bytes) -> bool:
    return len(header) == BLOCK and (header == ZERO_BLOCK or _checksum_matches(header))


def _checksum_matches(header: bytes) -> bool:
    stored = header[148:156].strip(b" \0")
    if not stored or stored.strip(b"01234567"):
        return False
    return int(stored, 8) == sum(header) - sum(header[148:156]) + 8 * 0x20


def _checked_size(header: bytes) -> int:
    if not _checksum_matches(header):
        raise ArchiveRefused(Reason.CORRUPT, detail="a header's checksum is wrong")
    return _number(header[124:136], _name(header))


def _number(field: bytes, name: bytes) -> int:
    if field[0] == 0x80:  # base 256, for what does not fit in octal; 0xff would be a negative number
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if digits.strip(b"01234567"):
        raise ArchiveRefused(Reason.CORRUPT, name, detail="a malformed number")
    return int(digits, 8) if digits else 0


def _decimal(value: bytes, name: bytes) -> int:
    if not value.isdigit() or len(value) > 20:
        raise ArchiveRefused(Reason.CORRUPT, name, detail="a malformed size")
    return int(value)


def _name(header: bytes) -> bytes:
    name = _text(header[0:100])
    # GNU's own format keeps times where POSIX keeps the front of a long path.
    prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]
