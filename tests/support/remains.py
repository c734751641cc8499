"""What agents of tests leave outside of their own folders.

An agent that is root keeps its jobs' folders below /var/lib/computepool, where their users can go, and finds them there
again after a restart. An agent of a test never comes back.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from computepool.agent.sandbox.identity import SYSTEM_FOLDER, instance_of

DEPTH = 5
"""How far below the folder of a run an agent's folder is: test, pool, machine, agent, and one to spare."""


def clear_system_folder(below: Path) -> None:
    """Remove what agents with a folder below this one kept there, and nothing of anybody else."""
    kept = {place.name for place in SYSTEM_FOLDER.iterdir()} if SYSTEM_FOLDER.is_dir() else set()
    if not kept:
        return
    for folder in _folders(below.resolve(), DEPTH):
        if (name := instance_of(folder)) in kept:
            shutil.rmtree(SYSTEM_FOLDER / name, ignore_errors=True)


def _folders(place: Path, depth: int) -> Iterator[Path]:
    yield place
    if depth:
        try:
            found = [Path(entry.path) for entry in os.scandir(place) if entry.is_dir(follow_symlinks=False)]
        except OSError:
            return
        for each in found:
            yield from _folders(each, depth - 1)
