"""Files that must survive a power cut, and files that are nobody else's."""

import contextlib
import os
import stat
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Make names that were just made, moved or removed in it durable. A synced file may have no name otherwise."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private(path: Path) -> None:
    """Nobody but its owner may read or write it, from the first moment: it is made here if there is none.

    A file that exists is never opened: closing a database's file would let go of the locks that SQLite has on it.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        keep_private(path)


def keep_private(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError, PermissionError):  # none there; somebody else's, who decides
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            path.chmod(mode & 0o700)
