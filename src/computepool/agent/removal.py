"""Removes a folder that a job, a bundle or an image may have shaped. It never raises: what stays is in its answer.

Everything is reached by file descriptor from the folder above, and no link is followed. At most MAX_OPEN_FOLDERS are
open at a time: what lies deeper is renamed to the top of the folder and removed from there, so neither depth nor count
costs memory. Closed folders are opened, and immutable and append-only flags are cleared. Mount points are not entered
and not unmounted: what is mounted there belongs to somebody else. The kernel tells them: before a folder is entered,
it is tried to remove it, and a mount point is busy then, whatever is in it.
"""

import contextlib
import errno
import fcntl
import itertools
import logging
import os
import secrets
import stat
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from computepool.agent.trees import ENTRY_BYTES, KeptClosed, let_in, open_below
from computepool.protocol.output_paths import show_path

log = logging.getLogger(__name__)

MAX_OPEN_FOLDERS = 32
"""Each costs two descriptors."""
MAX_SECONDS = 600.0
"""Of one call: what is not gone by then stays until the next call."""
TRIES = 4
"""At one entry: it may be locked twice over, and somebody may replace it meanwhile."""
MOUNTED = "something is mounted there"
_PARENT_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PATH_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_EMPTY = frozenset({errno.ENOTEMPTY, errno.EEXIST})
_FORBIDDEN = frozenset({errno.EPERM, errno.EACCES})
# FS_IOC_GETFLAGS and FS_IOC_SETFLAGS of linux/fs.h: their numbers name a long, the kernel takes an int.
_LONG_BYTES = struct.calcsize("l")
_GET_FLAGS, _SET_FLAGS = 0x8000_6601 | _LONG_BYTES << 16, 0x4000_6602 | _LONG_BYTES << 16
_LOCKING_FLAGS = 0x10 | 0x20  # FS_IMMUTABLE_FL, FS_APPEND_FL


@dataclass(frozen=True, slots=True)
class Remains:
    """What could not be removed of a folder."""

    path: str
    reason: str
    """Of the first thing that stayed."""
    entries: int = 0
    size_bytes: int = 0
    """On the disk, as far as it could be counted."""


def remove_tree(path: str | Path, *, seconds: float = MAX_SECONDS) -> Remains | None:
    """Remove a folder, a file or a link. None if nothing is left of it. Blocking; never raises."""
    removal = _Removal(str(path), time.monotonic() + seconds)
    try:
        return removal.run()
    except Exception as error:
        log.exception("folder.removal_fault", extra={"folder": str(path)})
        return removal.remains(f"fault of the agent: {type(error).__name__}")


def remove_trees(paths: Iterable[str], *, seconds: float = MAX_SECONDS) -> list[Remains]:
    """Of those that could not be removed; `seconds` is for all of them together, but each is tried."""
    until = time.monotonic() + seconds
    found = (remove_tree(path, seconds=max(0.0, until - time.monotonic())) for path in paths)
    return [remains for remains in found if remains is not None]


@dataclass
class _Level:
    """An open folder whose entries are being removed."""

    name: str
    fd: int
    entries: "Iterator[os.DirEntry[str]]"
    resources: contextlib.ExitStack = field(repr=False)

    @classmethod
    def open(cls, parent: int, name: str, device: int) -> "_Level":
        """Raises OSError, or KeptClosed."""
        with contextlib.ExitStack() as resources:
            fd = open_below(parent, name)
            resources.callback(os.close, fd)
            if os.fstat(fd).st_dev != device:
                raise OSError(errno.EBUSY, MOUNTED)
            entries = resources.enter_context(os.scandir(fd))
            return cls(name, fd, entries, resources.pop_all())

    def next(self) -> "os.DirEntry[str] | None":
        # A listing that breaks off is taken up by the next pass.
        with contextlib.suppress(OSError):
            return next(self.entries, None)
        return None

    def close(self) -> None:
        self.resources.close()


class _Removal:
    def __init__(self, path: str, until: float) -> None:
        self._path = path
        self._until = until
        self._parent = -1
        self._device = -1
        self._numbers = itertools.count()
        self._token = f".moved-{secrets.token_hex(4)}-"
        self._changes = 0
        self._reason = ""
        self._entries = 0
        self._size_bytes = 0

    def run(self) -> Remains | None:
        folder, name = os.path.split(self._path.rstrip("/"))
        try:
            self._parent = os.open(folder or ".", _PARENT_FLAGS)
        except FileNotFoundError:
            return None
        except OSError as error:
            return self.remains(error.strerror or type(error).__name__)
        try:
            self._device = os.fstat(self._parent).st_dev
            return self._run(name)
        finally:
            os.close(self._parent)

    def _run(self, name: str) -> Remains | None:
        parent = self._parent
        while True:
            before = self._changes
            self._reason, self._entries, self._size_bytes = "", 0, 0
            if not self._remove_entry(parent, name, is_folder=True):
                self._empty(parent, name)
                if self._try_rmdir(parent, name):
                    return None
            elif not self._reason:
                return None
            # What was moved to the top, or has appeared there since, is for the next pass.
            if self._changes == before or self._is_late():
                return self.remains("files appear in it as fast as they are removed")

    def remains(self, reason: str) -> Remains:
        return Remains(self._path, self._reason or reason, self._entries, self._size_bytes)

    def _empty(self, parent: int, name: str) -> None:
        """One pass over all that is below; nothing is visited twice."""
        levels: list[_Level] = []
        try:
            self._enter(levels, parent, name)
            while levels and not self._is_late():
                level = levels[-1]
                entry = level.next()
                if entry is None:
                    levels.pop().close()
                    if levels and not self._try_rmdir(levels[-1].fd, level.name):
                        # What is in it has told why; it takes room itself.
                        self._count(levels[-1].fd, level.name)
                elif not self._remove_entry(level.fd, entry.name, is_folder=_is_folder(entry)):
                    if len(levels) < MAX_OPEN_FOLDERS:
                        self._enter(levels, level.fd, entry.name)
                    else:
                        self._move_up(levels, entry.name)
        finally:
            for level in levels:
                level.close()

    def _is_late(self) -> bool:
        if time.monotonic() < self._until:
            return False
        self._reason = self._reason or "there was not enough time to remove all of it"
        return True

    def _enter(self, levels: list[_Level], parent: int, name: str) -> None:
        try:
            levels.append(_Level.open(parent, name, self._device))
        except FileNotFoundError:
            return
        except KeptClosed:
            self._stays(parent, name, "it is closed, and cannot be opened")
        except OSError as error:
            self._stays(parent, name, error.strerror)

    def _move_up(self, levels: list[_Level], name: str) -> None:
        top, here = levels[0].fd, levels[-1].fd
        for _ in range(TRIES):
            try:
                os.rename(name, f"{self._token}{next(self._numbers)}", src_dir_fd=here, dst_dir_fd=top)
            except FileNotFoundError:
                return None
            except OSError as error:
                # A folder that moves is itself written to.
                if error.errno in _FORBIDDEN and any((_unlock(top), self._unlock(here, name))):
                    continue
                return self._stays(here, name, error.strerror)
            else:
                self._changes += 1
                return None
        return self._stays(here, name, os.strerror(errno.EPERM))

    def _remove_entry(self, parent: int, name: str, *, is_folder: bool) -> bool:
        """False if it is a folder with something in it. What cannot be removed is counted, and passed over."""
        problem: str | None = "it changes while it is removed"
        for _ in range(TRIES):
            try:
                if is_folder:
                    os.rmdir(name, dir_fd=parent)
                else:
                    os.unlink(name, dir_fd=parent)
            except FileNotFoundError:
                return True
            except OSError as error:
                problem = MOUNTED if error.errno == errno.EBUSY else error.strerror
                if is_folder and error.errno in _NOT_EMPTY:
                    return False
                if is_folder and error.errno == errno.ENOTDIR:
                    is_folder = False
                elif not is_folder and (error.errno == errno.EISDIR or _is_folder_below(parent, name)):
                    is_folder = True
                elif error.errno not in _FORBIDDEN or not self._unlock(parent, name):
                    break
            else:
                self._changes += 1
                return True
        self._stays(parent, name, problem)
        return True

    def _unlock(self, parent: int, name: str) -> bool:
        """Whether something changed that may have kept the entry from being removed."""
        # The folder above the one to be removed is not ours to change.
        return any((parent != self._parent and _unlock(parent), _unlock_below(parent, name)))

    def _try_rmdir(self, parent: int, name: str) -> bool:
        """Of a folder that was emptied as far as possible."""
        try:
            os.rmdir(name, dir_fd=parent)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno not in _NOT_EMPTY:
                self._reason = self._reason or _shown(name, error.strerror)
            return False
        self._changes += 1
        return True

    def _stays(self, parent: int, name: str, reason: str | None) -> None:
        self._reason = self._reason or _shown(name, reason)
        self._count(parent, name)

    def _count(self, parent: int, name: str) -> None:
        self._entries += 1
        with contextlib.suppress(OSError):
            blocks = os.stat(name, dir_fd=parent, follow_symlinks=False).st_blocks
            self._size_bytes += max(ENTRY_BYTES, blocks * 512)


def _shown(name: str, reason: str | None) -> str:
    return f"{show_path(name)}: {reason or 'it cannot be removed'}"


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_folder_below(parent: int, name: str) -> bool:
    """Some systems forbid unlinking a folder with the same number as everything else that they forbid."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _unlock(fd: int) -> bool:
    """Whether this folder was closed or locked until now."""
    before = os.fstat(fd).st_mode
    opened = before & 0o700 != 0o700
    if opened:
        let_in(fd)
        opened = os.fstat(fd).st_mode != before
    return _clear_flags(fd) or opened


def _unlock_below(parent: int, name: str) -> bool:
    """The same for one entry. Only plain files and folders have flags; nothing else is ever opened."""
    with contextlib.ExitStack() as resources, contextlib.suppress(OSError):
        handle = os.open(name, _PATH_FLAGS, dir_fd=parent)
        resources.callback(os.close, handle)
        mode = os.fstat(handle).st_mode
        place = f"/proc/self/fd/{handle}"
        closed = stat.S_ISDIR(mode) and mode & 0o700 != 0o700
        if closed:
            let_in(place)
        if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
            fd = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            resources.callback(os.close, fd)
            return _clear_flags(fd) or (closed and os.fstat(fd).st_mode != mode)
    return False


def _clear_flags(fd: int) -> bool:
    """Immutable and append-only, where the system has them and we may."""
    if sys.platform != "linux":
        return False
    try:
        (flags,) = struct.unpack("i4x", fcntl.ioctl(fd, _GET_FLAGS, bytes(8)))
        if not flags & _LOCKING_FLAGS:
            return False
        fcntl.ioctl(fd, _SET_FLAGS, struct.pack("i4x", flags & ~_LOCKING_FLAGS))
    except OSError:
        return False
    return True
