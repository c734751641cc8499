"""The folders that jobs work in: made ahead of time, so that a job does not wait for it, and removed behind its back.

Each is made new and used once. What a job did to its folder, in rights and attributes too, goes with the folder.
"""

import asyncio
import contextlib
import itertools
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from computepool.agent.placement import CHECKPOINT, OUTPUT, WORK
from computepool.agent.ports import Offload
from computepool.agent.removal import MAX_SECONDS, Remains, remove_trees
from computepool.agent.sandbox.interface import Sandbox
from computepool.agent.unremoved import UnremovedFolders

READY = ".ready"
READY_LIMIT = 32
READY_AT_START = 2
TRIES = 5
RETRY_SECONDS = 0.5
START_SECONDS = 30.0
"""For what is to be removed at the start and at the end; what takes longer is removed while the agent works."""


class JobFolders:
    def __init__(self, offload: Offload, unremoved: UnremovedFolders) -> None:
        self._offload = offload
        self._unremoved = unremoved
        self._ready: dict[Path, list[str]] = defaultdict(list)
        self._numbers = itertools.count()
        self._dirty: list[str] = []
        self._in_hand: list[str] = []
        self._closed = False
        self._wanted: list[Sandbox] = []
        self._task: asyncio.Task[None] | None = None

    def take(self, sandbox: Sandbox, attempt_id: str) -> Path:
        """A clean folder for this attempt. May raise OSError."""
        place = sandbox.attempts_folder
        folder = place / attempt_id
        self._wanted.append(sandbox)
        ready = self._ready[place]
        while ready:
            with contextlib.suppress(FileNotFoundError):
                os.rename(ready.pop(), folder)  # noqa: PTH104 - on the way of every job
                return folder
        _make(str(folder))
        return folder

    def give_back(self, folder: str) -> None:
        """Remove it, some time soon; and make as many new ones as were taken, in the same trip."""
        self._dirty.append(folder)
        self._work()

    def _work(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._tidy())

    async def _tidy(self) -> None:
        while self._dirty:
            self._in_hand, self._dirty = self._dirty, []
            wanted, self._wanted = self._wanted[-READY_LIMIT:], []
            remains = await self._offload(self._remove_and_make, self._in_hand, wanted)
            for attempt in range(TRIES):
                self._in_hand = [one.path for one in remains]
                if not remains:
                    break
                # A thread that was unpacking there when its attempt was stopped may not be done yet.
                await asyncio.sleep(RETRY_SECONDS * (attempt + 1))
                remains = await self._offload(remove_folders, self._in_hand)
            if remains:
                await self._unremoved.note(self._in_hand, remains)
            self._in_hand = []

    def _remove_and_make(self, dirty: list[str], wanted: Sequence[Sandbox]) -> list[Remains]:
        for sandbox in wanted:
            self._make_ready(sandbox)
        return remove_folders(dirty)

    def _make_ready(self, sandbox: Sandbox) -> None:
        ready = self._ready[sandbox.attempts_folder]
        if len(ready) < READY_LIMIT and not self._closed:
            folder = f"{sandbox.attempts_folder}/{READY}/{next(self._numbers)}"
            # With a full disk there are none ahead of time; the job that needs one meets the error itself.
            with contextlib.suppress(OSError):
                _make(folder)
                sandbox.adopt(Path(folder))
                ready.append(folder)

    async def begin(self, sandboxes: Sequence[Sandbox], kept: Iterable[str]) -> None:
        """At the start: away with the folders of attempts that nobody knows any more. What stays is remembered."""
        found, remains = await self._offload(self._begin, sandboxes, frozenset(kept))
        await self._unremoved.note(found, remains, from_before=True)

    def _begin(self, sandboxes: Sequence[Sandbox], kept: frozenset[str]) -> tuple[list[str], list[Remains]]:
        found: list[str] = []
        for place in dict.fromkeys(sandbox.attempts_folder for sandbox in sandboxes):
            with contextlib.suppress(OSError):
                found += [str(path) for path in place.iterdir() if str(path) not in kept]
        remains = remove_folders(found, seconds=START_SECONDS)
        for sandbox in sandboxes:
            with contextlib.suppress(OSError):
                Path(sandbox.attempts_folder, READY).mkdir(mode=0o711, parents=True, exist_ok=True)
            for _ in range(READY_AT_START):
                self._make_ready(sandbox)
        return found, remains

    async def add(self, sandbox: Sandbox, kept: Iterable[str]) -> None:
        """One that came later. Where others work already there is nothing to clear away."""
        if sandbox.attempts_folder not in self._ready:
            await self.begin([sandbox], kept)

    async def close(self) -> None:
        """Away with what is given back, and with what no job will take any more."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        ready = [f"{place}/{READY}" for place in self._ready]
        await self._offload(remove_folders, [*self._in_hand, *self._dirty, *ready], seconds=START_SECONDS)


def _make(folder: str) -> None:
    os.mkdir(folder, 0o700)  # noqa: PTH102
    for name in (WORK, OUTPUT, CHECKPOINT):
        os.mkdir(f"{folder}/{name}", 0o755)  # noqa: PTH102


def remove_folders(folders: Iterable[str], *, seconds: float = MAX_SECONDS) -> list[Remains]:
    """What could not be removed of them. Most jobs leave nothing: then a few calls do, and no search."""
    return remove_trees([folder for folder in folders if not _is_removed_empty(folder)], seconds=seconds)


def _is_removed_empty(folder: str) -> bool:
    try:
        for name in (WORK, OUTPUT, CHECKPOINT):
            os.rmdir(f"{folder}/{name}")  # noqa: PTH106
        os.rmdir(folder)  # noqa: PTH106
    except OSError:
        return False
    return True
