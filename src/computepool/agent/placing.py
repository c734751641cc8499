"""Puts inputs into a job's folder, before any command of the job runs: copies, so that the cache stays what it is."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from computepool.protocol.output_paths import find_path_problem


class InTheWay(Exception):
    """Something of the bundle is where an input belongs, or the path is none."""


def place_input(work: Path, paths: Sequence[str], content: Path) -> None:
    """One checked content at its paths below the working folder. Blocking."""
    for path in paths:
        if find_path_problem(path) is not None:
            raise InTheWay(f"{path!r} cannot be the path of an input")
        *folders, name = path.split("/")
        folder = work
        for each in folders:
            folder = folder / each
            # A link that the bundle brought may lead elsewhere: nothing is ever written through one.
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                raise InTheWay(f"the bundle has {folder.relative_to(work)}, where the input {path} needs a folder")
            folder.mkdir(mode=0o755, exist_ok=True)
        target = folder / name
        if target.is_symlink() or target.exists():
            raise InTheWay(
                f"the bundle has {path} too; leave it out of workdir (.computepoolignore), or give the input another"
                " path"
            )
        shutil.copyfile(content, target)
