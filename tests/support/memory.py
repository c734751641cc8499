"""A file system in memory for the tests' files, where the machine has one with enough room.

Tests make and remove some hundred thousand small files. On a disk the kernel spends a tenth of the whole run on that:
ext4, for one, looks for an inode that was not freed in the last seconds.
"""

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
FREE_BYTES = 4 << 30
"""A whole run of the tests needs about 1 GB."""


def memory() -> Path | None:
    """Where files are kept in memory; None where there is no such place, little room, or programs may not run."""
    try:
        mode = os.statvfs(MEMORY).f_flag
        free = shutil.disk_usage(MEMORY).free
    except OSError:
        return None
    usable = os.access(MEMORY, os.W_OK | os.X_OK) and not mode & os.ST_NOEXEC
    return MEMORY if usable and free >= FREE_BYTES else None


def keep_temporary_files_in_memory() -> None:
    """For this process and its children, unless the caller chose a folder with TMPDIR."""
    place = memory()
    if place is None or "TMPDIR" in os.environ:
        return
    # One for each user, and short: paths of sockets have at most 107 characters.
    folder = place / f"tests-{os.getuid()}"
    folder.mkdir(mode=0o711, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return
    # Users that tests run programs as pass through it, whatever the umask is.
    folder.chmod(0o711)
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None
