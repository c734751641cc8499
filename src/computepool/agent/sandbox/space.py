"""The space that a job's folder takes, whatever the job does to it meanwhile."""

import contextlib
import os
import stat
import sys

from computepool.agent.pieces import Steps, in_slices
from computepool.agent.trees import ENTRY_BYTES, walk

# One more name of a file that was counted.
NAME_BYTES = 256


async def folder_bytes(root: int, *, enough: int = sys.maxsize) -> int:
    """Of everything below an open folder; yields to the event loop while it counts.

    Once it is more than `enough`, the rest does not matter. Raises Uncountable.
    """
    return await in_slices(_folder_bytes(root, enough))


def _folder_bytes(root: int, enough: int) -> Steps[int]:
    total = 0
    linked: set[tuple[int, int]] = set()
    with contextlib.closing(walk(root)) as entries:
        for _, _, info in entries:
            total += _bytes_of(info, linked)
            if total > enough:
                break
            yield
    return total


def _bytes_of(info: os.stat_result, linked: set[tuple[int, int]]) -> int:
    if info.st_nlink > 1 and not stat.S_ISDIR(info.st_mode):
        if (info.st_dev, info.st_ino) in linked:
            return NAME_BYTES
        linked.add((info.st_dev, info.st_ino))
    return max(ENTRY_BYTES, info.st_blocks * 512)
