"""Writes entries below one folder, and nowhere else.

Every step is made relative to an open folder and follows no link, so there is no path for the kernel to resolve:
neither a symbolic link in the archive, nor one that somebody puts there meanwhile, nor a path longer than the kernel
resolves can lead out. Files are only ever created, never opened again. Symbolic links are made when all else is
there. A link may climb (`..`) only at its beginning and not above the top, and it starts from a real folder; so
wherever it arrives is inside, and so is every chain of such links.
"""

import errno
import os
import stat
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from computepool.agent.archive.model import (
    DISK_BLOCK_BYTES,
    ArchiveLimits,
    ArchiveRefused,
    Entry,
    Kind,
    Reason,
)

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER_MODE = 0o755
FILE_MODE = 0o644
PROGRAM_MODE = 0o755

NO_SUCH_FILE = "a hard link must follow the file that it links to"
CONFLICT_ERRORS = (errno.EEXIST, errno.ENOTDIR, errno.ELOOP)
NAME_ERRORS = (errno.EILSEQ, errno.EINVAL, errno.ENAMETOOLONG)
"""What file systems say of a name that they cannot store: the archive's fault, not the machine's."""


class Tree:
    """A folder being filled. Remembers the way to the last entry, since the next one is mostly near."""

    def __init__(self, root: int, limits: ArchiveLimits, bytes_allowed: int) -> None:
        self._root = root
        self._limits = limits
        self._bytes_allowed = bytes_allowed
        self._way: list[tuple[bytes, int]] = []
        self._links: list[tuple[tuple[bytes, ...], bytes]] = []
        self._entries = 0
        self._disk_left = limits.disk_bytes
        self.files = 0
        self.bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._step_back(0)

    def add_all(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            try:
                self._add(entry)
            except OSError as error:
                _blame(error, entry.name)
                raise
        for parts, target in self._links:
            try:
                os.symlink(target, parts[-1], dir_fd=self._folder(parts[:-1]))
            except OSError as error:
                _blame(error, b"/".join(parts))
                raise

    def _add(self, entry: Entry) -> None:
        parts = split_path(entry.name, self._limits)
        self._count(entry.name)
        if entry.kind is Kind.FOLDER:
            self._folder(parts)
            return
        if not parts or entry.name.endswith((b"/", b"/.")):
            raise ArchiveRefused(Reason.BAD_NAME, entry.name, detail="a file with the name of a folder")
        self.files += 1
        self._take_disk(1, entry.name)
        if entry.kind is Kind.FILE:
            self._write(parts, entry)
        elif entry.kind is Kind.HARDLINK:
            self._link(parts, entry)
        else:
            check_link(entry.name, entry.link, len(parts) - 1, self._limits)
            if len(self._links) >= self._limits.max_links:
                raise ArchiveRefused(Reason.TOO_MANY_ENTRIES, entry.name, detail="symbolic links")
            self._folder(parts[:-1])
            self._links.append((parts, entry.link))

    def _write(self, parts: tuple[bytes, ...], entry: Entry) -> None:
        mode = PROGRAM_MODE if entry.executable else FILE_MODE
        file = os.open(parts[-1], CREATE_FLAGS, 0o600, dir_fd=self._folder(parts[:-1]))
        size = 0
        try:
            for chunk in entry.data:
                size += len(chunk)
                self.bytes += len(chunk)
                self._take_disk(_extra_blocks(size) - _extra_blocks(size - len(chunk)), entry.name)
                if self.bytes > self._bytes_allowed:
                    over = self.bytes > self._limits.max_bytes
                    raise ArchiveRefused(Reason.TOO_BIG if over else Reason.BOMB, entry.name)
                _write_all(file, chunk)
            os.fchmod(file, mode)
        finally:
            os.close(file)

    def _link(self, parts: tuple[bytes, ...], entry: Entry) -> None:
        """A hard link to a file that this archive has brought already; all files here are such."""
        source = split_path(entry.link, self._limits)
        if not source:
            raise ArchiveRefused(Reason.BAD_LINK, entry.name)
        try:
            # A copy, because the way to the new name may step back over this folder and close it.
            source_folder = os.dup(self._folder(source[:-1], make=False))
        except (FileNotFoundError, NotADirectoryError):
            raise ArchiveRefused(Reason.BAD_LINK, entry.name, detail=NO_SUCH_FILE) from None
        try:
            folder = self._folder(parts[:-1])
            if not stat.S_ISREG(os.stat(source[-1], dir_fd=source_folder, follow_symlinks=False).st_mode):
                raise ArchiveRefused(Reason.BAD_LINK, entry.name, detail=NO_SUCH_FILE)
            os.link(source[-1], parts[-1], src_dir_fd=source_folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            raise ArchiveRefused(Reason.BAD_LINK, entry.name, detail=NO_SUCH_FILE) from None
        finally:
            os.close(source_folder)

    def _folder(self, parts: tuple[bytes, ...], *, make: bool = True) -> int:
        """The open folder at a path, made where it is missing."""
        same = 0
        for (name, _), wanted in zip(self._way, parts, strict=False):
            if name != wanted:
                break
            same += 1
        self._step_back(same)
        here = self._way[-1][1] if self._way else self._root
        for name in parts[same:]:
            here = self._enter(here, name, make)
            self._way.append((name, here))
        return here

    def _enter(self, here: int, name: bytes, make: bool) -> int:
        if not make:
            return os.open(name, FOLDER_FLAGS, dir_fd=here)
        try:
            os.mkdir(name, FOLDER_MODE, dir_fd=here)
        except FileExistsError:
            return os.open(name, FOLDER_FLAGS, dir_fd=here)
        self._count(name)
        self._take_disk(1, name)
        folder = os.open(name, FOLDER_FLAGS, dir_fd=here)
        os.fchmod(folder, FOLDER_MODE)
        return folder

    def _step_back(self, depth: int) -> None:
        while len(self._way) > depth:
            os.close(self._way.pop()[1])

    def _count(self, name: bytes) -> None:
        self._entries += 1
        if self._entries > self._limits.max_entries:
            raise ArchiveRefused(Reason.TOO_MANY_ENTRIES, name)

    def _take_disk(self, blocks: int, name: bytes) -> None:
        self._disk_left -= blocks * DISK_BLOCK_BYTES
        if self._disk_left < 0:
            raise ArchiveRefused(Reason.OVER_DISK, name)


def _extra_blocks(size: int) -> int:
    """Those of a file beyond the one that it takes for being there."""
    return max(0, size - 1) // DISK_BLOCK_BYTES


def _write_all(file: int, data: bytes) -> None:
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, memoryview(data)[written:])


def split_path(path: bytes, limits: ArchiveLimits) -> tuple[bytes, ...]:
    """The parts of a relative path that goes only downwards."""
    if not path or b"\0" in path:
        raise ArchiveRefused(Reason.BAD_NAME, path)
    if len(path) > limits.max_path_bytes:
        raise ArchiveRefused(Reason.NAME_TOO_LONG, path)
    if path.startswith(b"/"):
        raise ArchiveRefused(Reason.OUTSIDE, path)
    parts = tuple(part for part in path.split(b"/") if part not in (b"", b"."))
    if b".." in parts:
        raise ArchiveRefused(Reason.OUTSIDE, path)
    if len(parts) > limits.max_depth:
        raise ArchiveRefused(Reason.TOO_DEEP, path)
    if any(len(part) > limits.max_name_bytes for part in parts):
        raise ArchiveRefused(Reason.NAME_TOO_LONG, path)
    return parts


def check_link(path: bytes, target: bytes, depth: int, limits: ArchiveLimits) -> None:
    """A target that, from a folder `depth` below the top, cannot leave the top, whatever else is a link."""
    if not target or b"\0" in target:
        raise ArchiveRefused(Reason.BAD_LINK, path)
    parts = [part for part in target.split(b"/") if part not in (b"", b".")]
    if len(target) > limits.max_path_bytes or any(len(part) > limits.max_name_bytes for part in parts):
        raise ArchiveRefused(Reason.NAME_TOO_LONG, path)
    climbs = 0
    while climbs < len(parts) and parts[climbs] == b"..":
        climbs += 1
    if target.startswith(b"/") or climbs > depth:
        raise ArchiveRefused(Reason.LINK_OUTSIDE, path)
    if b".." in parts[climbs:]:
        raise ArchiveRefused(Reason.LINK_OUTSIDE, path, detail="`..` after a folder name")


def _blame(error: OSError, name: bytes) -> None:
    """Refuse what is the archive's own contradiction; anything else is this machine's trouble."""
    if error.errno in CONFLICT_ERRORS:
        raise ArchiveRefused(Reason.DUPLICATE, name) from error
    if error.errno in NAME_ERRORS:
        raise ArchiveRefused(Reason.BAD_NAME, name) from error
    if error.errno == errno.EMLINK:
        raise ArchiveRefused(Reason.TOO_MANY_ENTRIES, name, detail="hard links to one file") from error
