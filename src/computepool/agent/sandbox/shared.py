"""A folder that several programs of one agent use at once: the agent itself, and beside it `doctor` or `join`.

Each holds a shared lock while it is there, which the kernel takes back however it ends. Whoever finds itself alone may
change what the others rely on; nobody else may.
"""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Callable
from pathlib import Path

LOCK = "sandbox.lock"


class SharedFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = folder / LOCK
        self._fd = -1
        self._ours = False

    def enter(self, if_alone: Callable[[], None], *, mode: int = 0o711) -> None:
        """Make the folder if need be, and stay. `if_alone` runs before anybody else can come in.

        It has this mode whatever the umask is; what is above it has not.
        """
        while self._fd < 0:
            # Missing if the last one out cleared it away in this moment.
            with contextlib.suppress(FileNotFoundError):
                with contextlib.suppress(FileExistsError):
                    self._folder.mkdir(parents=True, mode=mode)
                    self._ours = True
                    self._folder.chmod(mode)
                self._fd = self._take_lock(if_alone)

    def _take_lock(self, if_alone: Callable[[], None]) -> int:
        """-1 if the lock that was taken is one that the last one out has thrown away."""
        fd = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            alone = _try_alone(fd)
            if not alone:
                fcntl.flock(fd, fcntl.LOCK_SH)
            if not os.path.samestat(os.fstat(fd), self._lock.stat()):
                os.close(fd)
                return -1
            if alone:
                if_alone()
                fcntl.flock(fd, fcntl.LOCK_SH)
        except BaseException:
            with contextlib.suppress(OSError):
                os.close(fd)
            raise
        return fd

    def take_over(self) -> None:
        """What earlier runs left is ours from now on, to be cleared away like what we made."""
        self._ours = True

    def leave(self, clear: Callable[[], None]) -> None:
        """`clear` runs if nobody else is there, and one of those who were here had made the folder or taken it over."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        try:
            if self._ours:
                # For whoever is last: the lock's file also says that the folder may go.
                os.pwrite(fd, b"left\n", 0)
            # A shared lock is gone even if this fails: of two who leave at once, the second is alone.
            if _try_alone(fd) and os.fstat(fd).st_size:
                clear()
        finally:
            os.close(fd)

    def remove_if_empty(self) -> None:
        """Only within `clear`."""
        if os.listdir(self._folder) == [LOCK]:  # noqa: PTH208 - names are all we need
            # Renamed first: a program that comes now makes a folder of its own, and knows that it has to clear it away.
            removed = self._folder.with_name(f".{self._folder.name}-{secrets.token_hex(4)}")
            self._folder.rename(removed)
            (removed / LOCK).unlink()
            removed.rmdir()


def _try_alone(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
