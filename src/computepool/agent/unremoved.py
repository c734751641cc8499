"""Folders that could not be removed: remembered over restarts, counted, named to the owner, and tried again."""

import contextlib
import json
import logging
import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from computepool.agent.home import write_atomically
from computepool.agent.ports import Offload
from computepool.agent.removal import MAX_SECONDS, Remains, remove_trees

log = logging.getLogger(__name__)

UNREMOVED_FILE = "unremoved.json"
RETRY_SECONDS = 600.0


class UnremovedFolders:
    """`file` keeps them for the next run, and for whoever asks while no agent runs."""

    def __init__(self, offload: Offload, file: Path | None = None) -> None:
        self._offload = offload
        self._file = file
        self._remains = {remains.path: remains for remains in read_unremoved(file)} if file is not None else {}
        self._from_before = frozenset(self._remains)
        self._next_at = -math.inf
        self.on_change: Callable[[], None] = lambda: None

    @property
    def remains(self) -> tuple[Remains, ...]:
        return tuple(self._remains.values())

    @property
    def new_bytes(self) -> int:
        """Of those that this run of the agent has left; earlier ones were not free when it measured its disk."""
        return sum(one.size_bytes for path, one in self._remains.items() if path not in self._from_before)

    async def remove(self, paths: Sequence[str], *, seconds: float = MAX_SECONDS) -> bool:
        """Whether all of them are gone; what is not is remembered."""
        remains = await self._offload(remove_trees, paths, seconds=seconds)
        await self.note(paths, remains)
        return not remains

    async def note(self, paths: Iterable[str], remains: Iterable[Remains], *, from_before: bool = False) -> None:
        """All of `paths` were tried, and this is what stayed."""
        before = dict(self._remains)
        for path in paths:
            self._remains.pop(path, None)
        for one in remains:
            self._remains[one.path] = one
            if one.path not in before:
                log.warning("folder.left", extra={"folder": one.path, "reason": one.reason, "bytes": one.size_bytes})
                if from_before:
                    self._from_before |= {one.path}
        if self._remains != before:
            if self._file is not None:
                await self._offload(_write, self._file, self.remains)
            self.on_change()

    def is_due(self, now: float) -> bool:
        """Whether it is time to try again. `now` is a monotonic clock's."""
        return bool(self._remains) and now >= self._next_at

    async def retry(self, now: float) -> None:
        self._next_at = math.inf
        try:
            await self.remove(tuple(self._remains))
        finally:
            self._next_at = now + RETRY_SECONDS


def read_unremoved(file: Path) -> list[Remains]:
    """Those that are still there. An unreadable file is an empty one."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        return [Remains(**one) for one in json.loads(file.read_text()) if os.path.lexists(one["path"])]
    return []


def _write(file: Path, remains: Sequence[Remains]) -> None:
    with contextlib.suppress(OSError):
        write_atomically(file, json.dumps([asdict(one) for one in remains]).encode())
