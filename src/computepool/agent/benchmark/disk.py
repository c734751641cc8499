"""How fast the disk is on which jobs work: a file is written, brought to the disk, read again and removed."""

import contextlib
import os
import tempfile
import time
from pathlib import Path

MIB = 1024**2
FILE_BYTES = 64 * MIB
PIECE_BYTES = 4 * MIB
KEPT_FREE_BYTES = 1024 * MIB
"""A disk that is nearly full is not measured."""


def measure_disk(folder: Path, file_bytes: int = FILE_BYTES) -> tuple[float, float] | None:
    """Bytes per second, written and read; None where there is no room, or no leave to write."""
    try:
        if _free_bytes(folder) < file_bytes + KEPT_FREE_BYTES:
            return None
        with tempfile.NamedTemporaryFile(prefix="benchmark-", dir=folder, buffering=0) as file:
            written = _timed_write(file.fileno(), file_bytes)
            _drop_from_cache(file.fileno(), file_bytes)
            return file_bytes / written, file_bytes / _timed_read(file.fileno(), file_bytes)
    except OSError:
        return None


def _free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def _timed_write(fd: int, size: int) -> float:
    # Not zeros: some disks and file systems are very quick with those.
    piece = os.urandom(PIECE_BYTES)
    began, left = time.perf_counter(), size
    while left > 0:
        left -= os.write(fd, piece[:left])
    os.fsync(fd)
    return max(time.perf_counter() - began, 1e-9)


def _drop_from_cache(fd: int, size: int) -> None:
    with contextlib.suppress(OSError, AttributeError):  # macOS has no such call
        os.posix_fadvise(fd, 0, size, os.POSIX_FADV_DONTNEED)


def _timed_read(fd: int, size: int) -> float:
    began, at = time.perf_counter(), 0
    while at < size:
        piece = os.pread(fd, PIECE_BYTES, at)
        if not piece:
            raise OSError("the file is shorter than what was written")
        at += len(piece)
    return max(time.perf_counter() - began, 1e-9)
