"""Puts a saved checkpoint back into a job's folder, before any command of the job runs."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from computepool.protocol.manifest import Saved
from computepool.protocol.output_paths import find_path_problem


class BadCheckpoint(Exception):
    """It does not fit into the job's folder."""


def make_checkpoint_folder(job_folder: Path, place: str) -> Path:
    """The folder, whatever the bundle has put in its way. Nothing outside of the job's own folder is touched."""
    folder = job_folder
    for name in place.split("/"):
        if name in ("", ".", ".."):
            raise BadCheckpoint(f"{place!r} does not lead into the job's folder")
        folder = folder / name
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            folder.unlink()
        folder.mkdir(exist_ok=True)
    return folder


def restore(job_folder: Path, place: str, saved: Saved, files: Mapping[str, Path]) -> None:
    """`files` are the checked contents, by digest. What the bundle brought there is replaced. Blocking."""
    folder = make_checkpoint_folder(job_folder, place)
    shutil.rmtree(folder)
    folder.mkdir()
    for file in saved.files:
        if find_path_problem(file.path) is not None:
            raise BadCheckpoint(f"{file.path!r} cannot be a file of a checkpoint")
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(files[file.digest], target)
        os.utime(target)
