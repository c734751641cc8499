"""A file system in memory for the tests' files, where the machine has one with enough room.

Tests make and remove some hundred thousand small files. On a disk the kernel spends a tenth of the whole run on that:
ext4, for one, looks for an inode that was not freed in the last seconds.
"""

import ctypes
import os
import shutil
import sys
import tempfile
from pathlib import Path

from computepool.agent.removal import remove_tree
from computepool.agent.sandbox.identity import SYSTEM_FOLDER

MEMORY = Path("/dev/shm")
FREE_BYTES = 4 << 30
"""A whole run of the tests needs about 1 GB."""
CLONE_NEWNS, MS_REC, MS_SLAVE = 0x20000, 0x4000, 0x80000


def memory() -> Path | None:
    """Where files are kept in memory; None where there is no such place, little room, or programs may not run."""
    try:
        mode = os.statvfs(MEMORY).f_flag
        free = shutil.disk_usage(MEMORY).free
    except OSError:
        return None
    usable = os.access(MEMORY, os.W_OK | os.X_OK) and not mode & os.ST_NOEXEC
    return MEMORY if usable and free >= FREE_BYTES else None


def remove(folder: Path) -> None:
    """With all that tests made there: nested to any depth, closed, locked."""
    remove_tree(folder)


def temporary_folder() -> Path | None:
    """A folder in memory for the temporary files of this process and its children; None if there is no such place, or
    if the caller chose one with TMPDIR. What earlier runs left is removed."""
    place = memory()
    if place is None or "TMPDIR" in os.environ:
        return None
    # Short, because the path of a socket has at most 107 characters; one for each user.
    folder = place / f"t{os.getuid()}"
    folder.mkdir(mode=0o711, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return None
    # Users that tests run programs as pass through it, whatever the umask is.
    folder.chmod(0o711)
    for left in folder.iterdir():
        if left.name.isdecimal() and not Path("/proc", left.name).exists():
            remove(left)
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None
    return folder / str(os.getpid())


def mount_system_folder() -> bool:
    """Mount a file system in memory where agents of root keep their jobs' folders, for this process and its children.

    Nobody else sees the mount, and it ends with them. False where it is not possible, or the caller chose a disk.
    """
    if memory() is None or os.geteuid() != 0 or sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None)
    SYSTEM_FOLDER.mkdir(mode=0o711, parents=True, exist_ok=True)
    target = os.fsencode(SYSTEM_FOLDER)
    return not (
        libc.unshare(CLONE_NEWNS)
        or libc.mount(b"none", b"/", None, MS_REC | MS_SLAVE, None)
        or libc.mount(b"tmpfs", target, b"tmpfs", 0, b"mode=0711")
    )
