"""A job's checkpoint folder, read at one moment: what changed since the last time is copied aside, and then hashed.
Of a job that is gone no copy is needed.

The job may be hostile: like its outputs, its folder is read through directory descriptors, and no link is followed.
"""

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from computepool.agent.outputs import Allowance, Collected, OutputsRefused, Walk, hashed, open_file, opened
from computepool.agent.pieces import Steps
from computepool.agent.removal import remove_tree
from computepool.protocol.limits import CHECKPOINT_FILES_LIMIT

_PIECE_BYTES = 1 << 20
FILES = "files"
"""Below the folder that copies are put into."""


@dataclass(frozen=True, slots=True)
class FileLook:
    """What tells, without reading it, that a file is the same as before."""

    inode: int
    size_bytes: int
    changed_ns: int
    disk_bytes: int = field(default=0, compare=False)
    """What a copy takes: a hole takes nothing."""


@dataclass(frozen=True)
class Known:
    """A file as it was last saved."""

    look: FileLook
    file: Collected


def look_at(folder: Path, place: str, limit_bytes: int | None = None) -> Steps[dict[str, FileLook]]:
    """Every regular file below `place` in the job's folder, together not larger than the limit, holes included.

    Blocking. Raises OutputsRefused.
    """
    found: dict[str, FileLook] = {}
    allowance = Allowance(limit_bytes)
    with opened(str(folder)) as root:
        for entry in Walk().files(root, place, None):
            yield
            if entry is None:
                continue
            where, relative = entry
            if len(found) == CHECKPOINT_FILES_LIMIT:
                raise OutputsRefused(f"a checkpoint has at most {CHECKPOINT_FILES_LIMIT} files: pack them")
            with open_file(root, where) as file:
                info = os.fstat(file.fileno())
            allowance.take(info.st_size)
            found[relative] = FileLook(
                info.st_ino, info.st_size, max(info.st_mtime_ns, info.st_ctime_ns), info.st_blocks * 512
            )
    return found


def find_changed(looks: Mapping[str, FileLook], known: Mapping[str, Known]) -> list[str]:
    return [path for path, look in looks.items() if path not in known or known[path].look != look]


def copy_files(folder: Path, place: str, paths: Sequence[str], staging: Path) -> Steps[None]:
    """Blocking: the job stands still meanwhile."""
    if (remains := remove_tree(staging)) is not None:
        raise OSError(errno.EIO, f"it could not be emptied ({remains.reason})", str(staging))
    with opened(str(folder)) as root:
        for path in paths:
            target = staging / FILES / path
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open_file(root, f"{place}/{path}") as source, target.open("xb") as copy:
                yield from _copy(source, copy)


def _copy(source: BinaryIO, copy: BinaryIO) -> Steps[None]:
    """Holes stay holes: the copy takes no more room than the job was given."""
    # Not through the file's buffer: that would not know where it is.
    fd, at = source.fileno(), 0
    size = os.fstat(fd).st_size
    while at < size:
        try:
            at = os.lseek(fd, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            break  # only a hole is left
        end = os.lseek(fd, at, os.SEEK_HOLE)
        copy.seek(at)
        while at < end and (piece := os.pread(fd, min(_PIECE_BYTES, end - at), at)):
            copy.write(piece)
            at += len(piece)
            yield
        if at < end:
            break  # it has become shorter
    copy.truncate(size)


def hash_files(folder: Path, place: str, paths: Sequence[str]) -> Steps[dict[str, Collected]]:
    """Of the copies, below FILES, or of what lies still in the job's folder. Blocking, but the job runs on."""
    if not paths:
        return {}
    found = {}
    with opened(str(folder)) as root:
        for path in sorted(paths):
            found[path] = yield from hashed(root, f"{place}/{path}", path)
    return found
