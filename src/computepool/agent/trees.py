"""Folders that a job may be changing meanwhile: opened and walked by file descriptor, never following a link.

Where the job is the agent's own user, it may close its folders to that user; they are opened again. Who closes them
again and again, or digs deeper than anybody honest, hides something.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

# Each step down costs the agent two descriptors.
MAX_DEPTH = 100
OPENING_TRIES = 3
# Everything with a name takes room, also where the file system counts no blocks for it.
ENTRY_BYTES = 4096
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


def walk(
    root: int, *, enters: Callable[[str], bool] = lambda path: True
) -> Generator[tuple[int, str, os.stat_result], None, None]:
    """(its folder's descriptor, its path, what it is) of everything below an open folder, never following links.

    A folder comes before what is in it; one whose path `enters` declines is not looked into. Paths are relative to the
    root, as `name_of` wants them. Close the iterator. Raises Uncountable.
    """
    way = [_Folder.open(root, ".", "")]
    try:
        while way:
            name = next(way[-1].names, None)
            if name is None:
                way.pop().close()
                continue
            # What is gone by now takes no room.
            with contextlib.suppress(OSError):
                here = way[-1]
                info, path = _look_at(here.fd, name), f"{here.prefix}{name}"
                yield here.fd, path, info
                if stat.S_ISDIR(info.st_mode) and enters(path):
                    if len(way) >= MAX_DEPTH:
                        raise TooDeep
                    way.append(_Folder.open(here.fd, name, f"{path}/"))
    finally:
        for folder in way:
            folder.close()


def name_of(path: str) -> str:
    return path[path.rfind("/") + 1 :]


@dataclass(frozen=True)
class _Folder:
    fd: int
    names: Iterator[str]
    prefix: str
    resources: contextlib.ExitStack

    @classmethod
    def open(cls, parent: int, name: str, prefix: str) -> "_Folder":
        with contextlib.ExitStack() as resources:
            fd = open_below(parent, name)
            resources.callback(os.close, fd)
            # Name by name: a list of a million would hold the event loop for long.
            entries = resources.enter_context(os.scandir(fd))
            return cls(fd, (entry.name for entry in entries), prefix, resources.pop_all())

    def close(self) -> None:
        self.resources.close()


def _look_at(fd: int, name: str) -> os.stat_result:
    for _ in range(OPENING_TRIES):
        try:
            return os.stat(name, dir_fd=fd, follow_symlinks=False)
        except PermissionError:
            let_in(fd)
    raise KeptClosed


def open_below(parent: int, name: str) -> int:
    """A folder, without following a link; opened to its own user first, where it is closed. Raises KeptClosed."""
    for _ in range(OPENING_TRIES):
        try:
            return os.open(name, os.O_RDONLY | _FOLDER_FLAGS, dir_fd=parent)
        except PermissionError:
            let_in(parent)
        with contextlib.suppress(PermissionError):
            handle = os.open(name, _HANDLE | _FOLDER_FLAGS, dir_fd=parent)
            try:
                # A handle takes no fchmod, but it has a name.
                let_in(f"/proc/self/fd/{handle}")
            finally:
                os.close(handle)
    raise KeptClosed


def let_in(place: int | str) -> None:
    """Open a folder to its own user again, as far as that is us."""
    with contextlib.suppress(OSError):
        os.chmod(place, stat.S_IMODE(os.stat(place).st_mode) | 0o700)  # noqa: PTH101, PTH116 - it may be a descriptor
