"""Keeps the limits that the kernel does not keep here: disk always, memory and processes where there are no cgroups."""

import asyncio
import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from .interface import Limits, Reason
from .proctree import deleted_bytes_held_by, load_of, private_memory_of

MEMORY_SECONDS = 0.1
MEMORY_SECONDS_WHEN_LOW = 0.25
DISK_SECONDS = 1.0
# A walk through the folder may take this part of the time, and hold the event loop for this long at once.
DISK_SHARE = 0.05
SLICE_SECONDS = 0.002
# Deeper than any honest folder; whoever digs further hides something.
MAX_DEPTH = 200


class TooDeep(Exception):
    pass


async def folder_bytes(folder: Path) -> int:
    """The space a folder takes, never following links; yields to the event loop while it counts.

    It walks by file descriptor: the job is renaming things meanwhile, and must not lead the agent elsewhere.
    """
    total = 0
    started = time.monotonic()
    seen: set[tuple[int, int]] = set()
    path = [_entries(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC))]
    try:
        while path:
            fd, names = path[-1]
            if not names:
                os.close(path.pop()[0])
                continue
            name = names.pop()
            with contextlib.suppress(OSError):
                info = os.stat(name, dir_fd=fd, follow_symlinks=False)
                if (info.st_dev, info.st_ino) not in seen:
                    total += info.st_blocks * 512
                if info.st_nlink > 1:
                    seen.add((info.st_dev, info.st_ino))
                if stat.S_ISDIR(info.st_mode):
                    if len(path) >= MAX_DEPTH:
                        raise TooDeep
                    path.append(_entries(_open_below(fd, name)))
            if time.monotonic() - started > SLICE_SECONDS:
                await asyncio.sleep(0)
                started = time.monotonic()
    finally:
        for fd, _ in path:
            os.close(fd)
    return total


def _open_below(fd: int, name: str) -> int:
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, os.O_RDONLY | flags, dir_fd=fd)
    except PermissionError:
        # The job closed its own folder to its own user; open it, or it could hide there what it writes.
        handle = os.open(name, os.O_PATH | flags, dir_fd=fd)
        try:
            Path(f"/proc/self/fd/{handle}").chmod(0o700)
            return os.open(name, os.O_RDONLY | flags, dir_fd=fd)
        finally:
            os.close(handle)


def _entries(fd: int) -> tuple[int, list[str]]:
    try:
        return fd, os.listdir(fd)
    except OSError:
        return fd, []


@dataclass
class Watchdog:
    """Watches one command; calls `kill` once, with the reason, when it goes over a limit."""

    folder: Path
    limits: Limits
    pids: Callable[[], Iterable[int]]
    soft: bool
    kill: Callable[[Reason], None] = lambda reason: None
    # Memory that belongs to no process, like files in the job's own tmpfs.
    extra_memory_bytes: Callable[[], int] = int
    # RLIMIT_NPROC cannot be used for this command: count.
    count_pids: bool = False
    peak_memory_bytes: int = 0
    cpu_seconds: float = 0.0

    async def run(self) -> None:
        if self.soft:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._watch_memory())
                tasks.create_task(self._watch_disk())
        else:
            await self._watch_disk()

    async def _watch_memory(self) -> None:
        limit = self.limits.memory_bytes
        while True:
            pids = list(self.pids())
            load = load_of(pids)
            extra = self.extra_memory_bytes()
            used = load.memory_bytes + extra
            if used > limit:
                # Pages that several processes share were counted more than once, cached files too.
                used = private_memory_of(pids) + extra
            self.peak_memory_bytes = max(self.peak_memory_bytes, used)
            self.cpu_seconds = max(self.cpu_seconds, load.cpu_seconds)
            if used > limit:
                return self.kill("memory")
            if self.count_pids and load.processes > self.limits.pids:
                return self.kill("pids")
            await asyncio.sleep(MEMORY_SECONDS if used > limit / 2 else MEMORY_SECONDS_WHEN_LOW)

    async def _watch_disk(self) -> None:
        pause = DISK_SECONDS
        device = self.folder.stat().st_dev
        while True:
            await asyncio.sleep(pause)
            started = time.monotonic()
            try:
                used = await folder_bytes(self.folder)
            except TooDeep:
                return self.kill("disk")
            except OSError:
                return None  # the folder is gone, and the command with it
            if used + deleted_bytes_held_by(self.pids(), device) > self.limits.disk_bytes:
                return self.kill("disk")
            pause = max(DISK_SECONDS, (time.monotonic() - started) / DISK_SHARE)
