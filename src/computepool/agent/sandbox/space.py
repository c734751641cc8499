"""The space that a job's folder takes, whatever the job does to it meanwhile.

It is walked by file descriptor: the job is renaming things, and must not lead the agent elsewhere. Where the job is
the agent's own user, it may close its folders to that user; they are opened again. Who closes them again and again, or
digs deeper than anybody honest, hides something.
"""

import asyncio
import contextlib
import os
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# How long a walk may hold the event loop at once.
SLICE_SECONDS = 0.002
# Each step down costs the agent two descriptors.
MAX_DEPTH = 100
OPENING_TRIES = 3
# Everything with a name takes room, also where the file system counts no blocks for it.
ENTRY_BYTES = 4096
# One more name of a file that was counted.
NAME_BYTES = 256
# A folder that may be neither read nor entered; systems without such handles cannot be helped there.
_HANDLE = getattr(os, "O_PATH", os.O_RDONLY)
_FOLDER_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Uncountable(Exception):
    """The job keeps the agent from counting."""


class TooDeep(Uncountable):
    pass


class KeptClosed(Uncountable):
    pass


def open_folder(folder: Path) -> int:
    """Its descriptor; to be had before the job can close it."""
    return os.open(folder, os.O_RDONLY | _FOLDER_FLAGS)


async def folder_bytes(root: int, *, enough: int = sys.maxsize) -> int:
    """Of everything below an open folder, never following links; yields to the event loop while it counts.

    Once it is more than `enough`, the rest does not matter. Raises Uncountable.
    """
    total = 0
    started = time.monotonic()
    linked: set[tuple[int, int]] = set()
    path = [_Folder.open(root, ".")]
    try:
        while path and total <= enough:
            name = next(path[-1].names, None)
            if name is None:
                path.pop().close()
                continue
            # What is gone by now takes no room.
            with contextlib.suppress(OSError):
                info = _look_at(path[-1].fd, name)
                total += _bytes_of(info, linked)
                if stat.S_ISDIR(info.st_mode):
                    if len(path) >= MAX_DEPTH:
                        raise TooDeep
                    path.append(_Folder.open(path[-1].fd, name))
            if time.monotonic() - started > SLICE_SECONDS:
                await asyncio.sleep(0)
                started = time.monotonic()
    finally:
        for folder in path:
            folder.close()
    return total


@dataclass(frozen=True)
class _Folder:
    fd: int
    names: Iterator[str]
    resources: contextlib.ExitStack

    @classmethod
    def open(cls, parent: int, name: str) -> "_Folder":
        with contextlib.ExitStack() as resources:
            fd = _open_below(parent, name)
            resources.callback(os.close, fd)
            # Name by name: a list of a million would hold the event loop for long.
            entries = resources.enter_context(os.scandir(fd))
            return cls(fd, (entry.name for entry in entries), resources.pop_all())

    def close(self) -> None:
        self.resources.close()


def _bytes_of(info: os.stat_result, linked: set[tuple[int, int]]) -> int:
    if info.st_nlink > 1 and not stat.S_ISDIR(info.st_mode):
        if (info.st_dev, info.st_ino) in linked:
            return NAME_BYTES
        linked.add((info.st_dev, info.st_ino))
    return max(ENTRY_BYTES, info.st_blocks * 512)


def _look_at(fd: int, name: str) -> os.stat_result:
    for _ in range(OPENING_TRIES):
        try:
            return os.stat(name, dir_fd=fd, follow_symlinks=False)
        except PermissionError:
            _let_in(fd)
    raise KeptClosed


def _open_below(parent: int, name: str) -> int:
    for _ in range(OPENING_TRIES):
        try:
            return os.open(name, os.O_RDONLY | _FOLDER_FLAGS, dir_fd=parent)
        except PermissionError:
            _let_in(parent)
        with contextlib.suppress(PermissionError):
            handle = os.open(name, _HANDLE | _FOLDER_FLAGS, dir_fd=parent)
            try:
                # A handle takes no fchmod, but it has a name.
                _let_in(f"/proc/self/fd/{handle}")
            finally:
                os.close(handle)
    raise KeptClosed


def _let_in(place: int | str) -> None:
    """Open a folder to its own user again, as far as that is us."""
    with contextlib.suppress(OSError):
        os.chmod(place, stat.S_IMODE(os.stat(place).st_mode) | 0o700)  # noqa: PTH101, PTH116 - it may be a descriptor
