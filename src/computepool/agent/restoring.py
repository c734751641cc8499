"""Puts a saved checkpoint back into a job's folder, before any command of the job runs."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from computepool.agent.removal import remove_tree
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


def empty_checkpoint_folder(job_folder: Path, place: str) -> None:
    """What the bundle brought there is replaced. Blocking."""
    folder = make_checkpoint_folder(job_folder, place)
    if (remains := remove_tree(folder)) is not None:
        raise OSError(f"{place} could not be emptied: {remains.reason}")
    folder.mkdir()


def put_back(job_folder: Path, place: str, paths: Sequence[str], content: Path) -> None:
    """One checked content at its paths in the empty folder. Blocking."""
    folder = make_checkpoint_folder(job_folder, place)
    for path in paths:
        if find_path_problem(path) is not None:
            raise BadCheckpoint(f"{path!r} cannot be a file of a checkpoint")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(content, target)
