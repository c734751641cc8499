"""Folders nested deeper than any path is long."""

import os
from pathlib import Path


def dig(folder: Path, levels: int) -> None:
    """Make `folder`, and so many folders one inside the other below it."""
    folder.mkdir(parents=True)
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for _ in range(levels):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
    finally:
        os.close(here)


DIG = """
import os
for _ in range({levels}):
    os.mkdir("d")
    os.chdir("d")
"""
"""The same as a script of a job, where it stands."""
