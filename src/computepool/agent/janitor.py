"""Removes what attempts leave, behind their backs: folders may be large, and nobody waits for it."""

import asyncio
import contextlib
import logging
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from computepool.agent.attempt import Attempt
from computepool.agent.workshop import Workshop

log = logging.getLogger(__name__)

TRIES = 5
RETRY_SECONDS = 0.5


class Janitor:
    def __init__(self, shop: Workshop) -> None:
        self._shop = shop
        self._folders: list[str] = []
        self._task: asyncio.Task[None] | None = None

    def remove(self, attempt: Attempt) -> None:
        """Everything of it: the journal at once, so that a restarted agent does not meet it again."""
        self._shop.journal.forget(attempt.id)
        attempt.spool.remove()
        self.clear_folder(attempt)

    def clear_folder(self, attempt: Attempt) -> None:
        if attempt.folder is not None:
            self._folders.append(attempt.folder)
            attempt.folder = None
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(self._clear())

    async def _clear(self) -> None:
        while self._folders:
            # All that came together goes in one trip to a thread.
            folders, self._folders = self._folders, []
            for attempt in range(TRIES):
                folders = await self._shop.offload(remove_folders, folders)
                if not folders:
                    break
                # A thread that was unpacking there when its attempt was stopped may not be done yet.
                await asyncio.sleep(RETRY_SECONDS * (attempt + 1))
            for folder in folders:
                log.warning("folder.left", extra={"folder": folder})

    async def sweep(self, kept: Iterable[str | None]) -> None:
        """At the start: folders of attempts that nobody knows any more."""
        keep = set(kept)
        strays = [
            str(path)
            for place in self._shop.job_folders()
            if place.is_dir()
            for path in place.iterdir()
            if str(path) not in keep
        ]
        if strays:
            await self._shop.offload(remove_folders, strays)
        self._shop.journal.sweep_strays()
        self._shop.cache.clear_partial()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def remove_folders(folders: list[str]) -> list[str]:
    """Those that could not be removed. Never follows a link, whatever the job put there."""
    return [folder for folder in folders if not _remove_folder(folder)]


def _remove_folder(folder: str) -> bool:
    shutil.rmtree(folder, onerror=_open_up)
    return not os.path.lexists(folder)


def _open_up(function: Callable[..., object], path: str, _: object) -> None:
    """A job may have closed its own folders; they are opened and tried once more."""
    with contextlib.suppress(OSError):
        parent = Path(path).parent
        if not parent.is_symlink():
            parent.chmod(0o700)
        if not Path(path).is_symlink():
            Path(path).chmod(0o700)
        if function in {os.rmdir, os.unlink}:
            function(path)
        else:
            shutil.rmtree(path, ignore_errors=True)
