"""A zip archive that is written while it is sent: stored, not compressed, so that its length is known beforehand.

Outputs are mostly compressed already or do not compress. The CRC of a file follows it (a data descriptor), because it
is known only once the file was read. Files and archives from 4 GiB on use the zip64 format. Pure: no I/O.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

LIMIT_32 = 0xFFFFFFFF
LIMIT_16 = 0xFFFF
VERSION, VERSION_64 = 20, 45
FLAGS = 0x0808
"""The CRC follows the file, and names are UTF-8."""
MADE_ON_UNIX = 3 << 8
FILE_MODE = 0o100644 << 16
_LOCAL = struct.Struct("<4s5H3I2H")
_DESCRIPTOR, _DESCRIPTOR_64 = struct.Struct("<4s3I"), struct.Struct("<4sI2Q")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END_64, _LOCATOR_64, _END = struct.Struct("<4sQ2H2I4Q"), struct.Struct("<4sIQI"), struct.Struct("<4s4H2IH")
_LOCAL_EXTRA_64 = struct.Struct("<2H2Q")


@dataclass(frozen=True, slots=True)
class ZipEntry:
    name: str
    size_bytes: int
    modified_at: datetime


class ZipLayout:
    def __init__(self, entries: Sequence[ZipEntry]) -> None:
        self._entries = entries
        self._offsets: list[int] = []
        offset = 0
        for entry in entries:
            self._offsets.append(offset)
            large = _is_large(entry)
            offset += _LOCAL.size + len(entry.name.encode()) + (_LOCAL_EXTRA_64.size if large else 0)
            offset += entry.size_bytes + (_DESCRIPTOR_64 if large else _DESCRIPTOR).size
        self._directory_offset = offset
        places = zip(entries, self._offsets, strict=True)
        self._directory_bytes = sum(
            _CENTRAL.size + len(entry.name.encode()) + len(_central_extra(entry, at)) for entry, at in places
        )

    @property
    def size_bytes(self) -> int:
        return self._directory_offset + self._directory_bytes + len(self._end())

    def header(self, index: int) -> bytes:
        """Goes before the file's bytes."""
        entry, name = self._entries[index], self._entries[index].name.encode()
        large = _is_large(entry)
        sizes, extra = (LIMIT_32, _LOCAL_EXTRA_64.pack(1, 16, 0, 0)) if large else (0, b"")
        version = VERSION_64 if large else VERSION
        head = _LOCAL.pack(
            b"PK\x03\x04", version, FLAGS, 0, *_dos_time(entry.modified_at), 0, sizes, sizes, len(name), len(extra)
        )
        return head + name + extra

    def descriptor(self, index: int, crc: int) -> bytes:
        """Goes after the file's bytes."""
        entry = self._entries[index]
        form = _DESCRIPTOR_64 if _is_large(entry) else _DESCRIPTOR
        return form.pack(b"PK\x07\x08", crc, entry.size_bytes, entry.size_bytes)

    def directory(self, crcs: Sequence[int]) -> Iterator[bytes]:
        """Goes after all files."""
        for entry, offset, crc in zip(self._entries, self._offsets, crcs, strict=True):
            name, extra = entry.name.encode(), _central_extra(entry, offset)
            size = LIMIT_32 if _is_large(entry) else entry.size_bytes
            version = VERSION_64 if extra else VERSION
            head = _CENTRAL.pack(
                b"PK\x01\x02", version | MADE_ON_UNIX, version, FLAGS, 0, *_dos_time(entry.modified_at), crc, size,
                size, len(name), len(extra), 0, 0, 0, FILE_MODE, min(offset, LIMIT_32),
            )  # fmt: skip
            yield head + name + extra
        yield self._end()

    def _end(self) -> bytes:
        count, size, offset = len(self._entries), self._directory_bytes, self._directory_offset
        end = _END.pack(
            b"PK\x05\x06", 0, 0, min(count, LIMIT_16), min(count, LIMIT_16), min(size, LIMIT_32), min(offset, LIMIT_32),
            0,
        )  # fmt: skip
        if count < LIMIT_16 and size < LIMIT_32 and offset < LIMIT_32:
            return end
        made = VERSION_64 | MADE_ON_UNIX
        end_64 = _END_64.pack(b"PK\x06\x06", _END_64.size - 12, made, VERSION_64, 0, 0, count, count, size, offset)
        return end_64 + _LOCATOR_64.pack(b"PK\x06\x07", 0, offset + size, 1) + end


def _is_large(entry: ZipEntry) -> bool:
    return entry.size_bytes >= LIMIT_32


def _central_extra(entry: ZipEntry, offset: int) -> bytes:
    numbers = [entry.size_bytes] * 2 if _is_large(entry) else []
    if offset >= LIMIT_32:
        numbers.append(offset)
    return struct.pack(f"<2H{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""


def _dos_time(at: datetime) -> tuple[int, int]:
    """As two numbers: the time, in steps of two seconds, and the day."""
    year = min(max(at.year, 1980), 2107) - 1980
    return at.hour << 11 | at.minute << 5 | at.second // 2, year << 9 | at.month << 5 | at.day
