"""Keeps the limits that the kernel does not keep here: disk always, memory and processes where there are no cgroups."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from computepool.agent.pieces import in_slices
from computepool.agent.trees import Uncountable

from .interface import Limits, Reason
from .proctree import deleted_bytes_held_by, files_in_flight, load_of, memory_files_held_by, memory_of
from .space import folder_bytes

MEMORY_SECONDS = 0.1
MEMORY_SECONDS_WHEN_LOW = 0.25
MEMORY_FILES_SECONDS = 1.0
DISK_SECONDS = 1.0
# A walk through the folder may take this part of the time, but a big folder is not left alone for longer than this.
DISK_SHARE = 0.05
DISK_LONGEST_SECONDS = 10.0
# Files that are sent to somebody are taken out of the socket soon, unless they are to be hidden there.
HIDDEN_LOOKS = 3


def pause_after(walk_seconds: float) -> float:
    return min(max(DISK_SECONDS, walk_seconds / DISK_SHARE), DISK_LONGEST_SECONDS)


def free_bytes_at(root: int) -> int:
    disk = os.fstatvfs(root)
    return disk.f_bavail * disk.f_frsize


@dataclass
class Watchdog:
    """Watches one command; calls `kill` once, with the reason, when it goes over a limit."""

    # Of its folder, opened before the command ran; whoever opened it closes it.
    root: int
    limits: Limits
    pids: Callable[[], Iterable[int]]
    soft: bool
    kill: Callable[[Reason], None] = lambda reason: None
    # Memory that belongs to no process, like files in the job's own tmpfs.
    extra_memory_bytes: Callable[[], int] = int
    # RLIMIT_NPROC cannot be used for this command: count.
    count_pids: bool = False
    peak_memory_bytes: int = 0
    # As it was at the last look.
    memory_bytes: int = 0
    cpu_seconds: float = 0.0
    # Of the disk that the folder is on.
    free_bytes: Callable[[int], int] = free_bytes_at
    _free_at_first: int = 0
    _looks_with_files_in_flight: int = 0

    async def run(self) -> None:
        self._free_at_first = self.free_bytes(self.root)
        if self.soft:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._watch_memory())
                tasks.create_task(self._watch_disk())
        else:
            await self._watch_disk()

    async def _watch_memory(self) -> None:
        limit = self.limits.memory_bytes
        looked_at, in_files = -MEMORY_FILES_SECONDS, 0
        while True:
            pids = list(self.pids())
            load = await in_slices(load_of(pids))
            if time.monotonic() - looked_at >= MEMORY_FILES_SECONDS:
                try:
                    in_files = await in_slices(memory_files_held_by(pids))
                except Uncountable:
                    return self.kill("memory")
                looked_at = time.monotonic()
            extra = self.extra_memory_bytes() + in_files
            used = load.memory_bytes + extra
            if used > limit:
                # Pages that several processes share were counted more than once, cached files too, and mapped files in
                # memory both as files and as pages.
                memory = await in_slices(memory_of(pids))
                used = memory.own_bytes + max(memory.shared_bytes, extra)
            self.memory_bytes = used
            self.peak_memory_bytes = max(self.peak_memory_bytes, used)
            self.cpu_seconds = max(self.cpu_seconds, load.cpu_seconds)
            if used > limit:
                return self.kill("memory")
            if self.count_pids and load.processes > self.limits.pids:
                return self.kill("pids")
            await asyncio.sleep(MEMORY_SECONDS if used > limit / 2 else MEMORY_SECONDS_WHEN_LOW)

    async def _watch_disk(self) -> None:
        pause = DISK_SECONDS
        while True:
            await asyncio.sleep(pause)
            started = time.monotonic()
            if await self._is_over_disk():
                return self.kill("disk")
            pause = pause_after(time.monotonic() - started)

    async def _is_over_disk(self) -> bool:
        limit = self.limits.disk_bytes
        try:
            used = await folder_bytes(self.root, enough=limit)
        except Uncountable:
            return True
        except OSError:
            # The folder is gone, or this machine is in trouble of its own; the next look tells.
            return False
        pids = list(self.pids())
        try:
            used += await in_slices(deleted_bytes_held_by(pids, os.fstat(self.root).st_dev))
            return used > limit or await self._hides_more(pids, used)
        except Uncountable:
            return True

    async def _hides_more(self, pids: list[int], used: int) -> bool:
        """A deleted file that lies in a socket takes room and is in no list of open files. Its size is not to be had,
        but what the disk has lost is: more than the job may have, while it leaves files lying there, is its own doing.
        """
        free = self.free_bytes(self.root)
        if not await in_slices(files_in_flight(pids)):
            self._looks_with_files_in_flight = 0
            return False
        self._looks_with_files_in_flight += 1
        lost = self._free_at_first - free - used
        return self._looks_with_files_in_flight >= HIDDEN_LOOKS and lost > self.limits.disk_bytes
