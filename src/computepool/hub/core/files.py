"""Files that must survive a power cut."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Make names that were just made, moved or removed in it durable. A synced file may have no name otherwise."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
