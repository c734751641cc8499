"""As whom a job runs on the host, and where its folder must be so that it can reach it.

An ordinary user's agent runs jobs as that user, in a user namespace. An agent that is root never does: each attempt
gets a user id that belongs to nobody else, so that a job that broke out would find nothing of its own, not even
another job. Its folder then has to be where such a user can go, which root's home is not.
"""

import contextlib
import hashlib
import itertools
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from .interface import FolderUnreachable
from .layout import remove_etc
from .shared import SharedFolder

# Assigned to nobody by any distribution (systemd's table of ids calls the range unused) ...
JOB_UIDS = range(1_879_100_000, 1_879_104_096)
# ... and one that is there if the agent is root only of a container with 65,536 ids.
JOB_UIDS_IN_CONTAINER = range(61_184, 65_280)
TURN_UIDS = 1024
SYSTEM_FOLDER = Path("/var/lib/computepool")


def instance_of(state: Path) -> str:
    """A short name for this agent, the same after a restart, so that it sweeps its own remains and no other's."""
    return hashlib.sha256(os.fsencode(state.resolve())).hexdigest()[:12]


class OwnUser:
    """The agent is an ordinary user: jobs are this user's processes."""

    def __init__(self, state: Path) -> None:
        self.base = state
        self._shared = SharedFolder(state)

    def prepare(self) -> None:
        self._shared.enter(lambda: remove_etc(self.base, but_current=True), mode=0o700)

    def take_over(self) -> None:
        """The agent's own folder is never cleared away."""

    def tidy(self) -> None:
        self._shared.leave(lambda: None)

    def adopt(self, folder: Path) -> None:
        """Everything made here is the job's already."""

    def uid_for(self, folder: Path) -> int | None:
        del folder
        return None

    def must_reach(self, folders: Iterable[Path]) -> None:
        """They are this user's."""


class NobodyElse:
    """The agent is root: every attempt has its own user."""

    def __init__(self, state: Path, instance: str, system_folder: Path = SYSTEM_FOLDER, *, turn: int = 0) -> None:
        """`turn` is another one for each sandbox of an agent, so that two never begin with the same user."""
        self._uids = JOB_UIDS if _is_mapped(JOB_UIDS[-1]) else JOB_UIDS_IN_CONTAINER
        first = turn * TURN_UIDS % len(self._uids)
        self._next = itertools.cycle([*self._uids[first:], *self._uids[:first]])
        self._reachable: dict[Path, bool] = {}
        self._away = not everybody_reaches(state)
        self.base = system_folder / instance if self._away else state
        self._shared = SharedFolder(self.base)

    def prepare(self) -> None:
        self._shared.enter(lambda: remove_etc(self.base, but_current=True))
        if self._away:
            # Jobs' users pass both, whatever the agent's umask was when they were made.
            above = self.base.parent
            above.chmod(stat.S_IMODE(above.stat().st_mode) | 0o111)
            self.base.chmod(0o711)

    def take_over(self) -> None:
        self._shared.take_over()

    def tidy(self) -> None:
        self._shared.leave(self._clear if self._away else lambda: None)

    def _clear(self) -> None:
        remove_etc(self.base)
        with contextlib.suppress(OSError):
            # Attempts of which somebody still wants something stay.
            (self.base / "attempts").rmdir()
            self._shared.remove_if_empty()

    def adopt(self, folder: Path) -> None:
        taken = self._taken()
        uid = next(uid for uid in itertools.islice(self._next, len(self._uids)) if uid not in taken)
        pending = [str(folder)]
        while pending:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    os.lchown(entry.path, uid, uid)
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        # Last: an adopted folder is known by its owner.
        os.lchown(folder, uid, uid)

    def _taken(self) -> set[int]:
        """Users who have an attempt's folder already, maybe from another sandbox of this agent."""
        taken = set()
        with contextlib.suppress(OSError):
            for place in os.scandir(self.base / "attempts"):
                with contextlib.suppress(OSError):
                    taken.add(place.stat(follow_symlinks=False).st_uid)
        return taken

    def uid_for(self, folder: Path) -> int | None:
        uid = folder.stat().st_uid
        if uid not in self._uids:
            self.adopt(folder)
            uid = folder.stat().st_uid
        return uid

    def must_reach(self, folders: Iterable[Path]) -> None:
        """Raises FolderUnreachable where the job's user could not."""
        for folder in folders:
            if not self._reaches(folder):
                raise FolderUnreachable(
                    f"the user that jobs run as cannot reach {folder}; make attempts' folders in "
                    f"{self.base / 'attempts'}"
                )

    def _reaches(self, folder: Path) -> bool:
        parent = folder.parent
        if parent not in self._reachable:
            self._reachable[parent] = everybody_reaches(parent)
        return self._reachable[parent]


def everybody_reaches(folder: Path) -> bool:
    """Whether every folder on the way (those that exist) lets strangers pass."""
    return all(place.stat().st_mode & 0o001 for place in (folder, *folder.parents) if place.exists())


def _is_mapped(uid: int) -> bool:
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return True
    return any(int(first) <= uid < int(first) + int(count) for first, _, count in map(str.split, lines))
