"""The space that a job's folder takes, whatever the job does to it meanwhile."""

import asyncio
import contextlib
import os
import stat
import sys
import time

from computepool.agent.trees import ENTRY_BYTES, walk

# How long a walk may hold the event loop at once.
SLICE_SECONDS = 0.002
# One more name of a file that was counted.
NAME_BYTES = 256


async def folder_bytes(root: int, *, enough: int = sys.maxsize) -> int:
    """Of everything below an open folder; yields to the event loop while it counts.

    Once it is more than `enough`, the rest does not matter. Raises Uncountable.
    """
    total = 0
    started = time.monotonic()
    linked: set[tuple[int, int]] = set()
    with contextlib.closing(walk(root)) as entries:
        for _, _, info in entries:
            total += _bytes_of(info, linked)
            if total > enough:
                break
            if time.monotonic() - started > SLICE_SECONDS:
                await asyncio.sleep(0)
                started = time.monotonic()
    return total


def _bytes_of(info: os.stat_result, linked: set[tuple[int, int]]) -> int:
    if info.st_nlink > 1 and not stat.S_ISDIR(info.st_mode):
        if (info.st_dev, info.st_ino) in linked:
            return NAME_BYTES
        linked.add((info.st_dev, info.st_ino))
    return max(ENTRY_BYTES, info.st_blocks * 512)
