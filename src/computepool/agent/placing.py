"""Puts inputs into a job's folder, before any command of the job runs: copies, so that the cache stays what it is."""

import shutil
from collections.abc import Mapping, Sequence
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
        target = _folder_at(work, folders, f"the input {path}") / name
        if target.is_symlink() or target.exists():
            raise InTheWay(
                f"the bundle has {path} too; leave it out of workdir (.computepoolignore), or give the input another"
                " path"
            )
        shutil.copyfile(content, target)


def place_links(folder: Path, work: Path, links: Mapping[str, str]) -> None:
    """What each of them leads to is there, a folder if nothing else is; those in the home folder are made. Blocking.

    Those with absolute paths are the sandbox's to show.
    """
    for path, place in links.items():
        steps = [step for step in place.split("/") if step != "."]
        if steps and find_path_problem(place) is not None:
            raise InTheWay(f"{place!r} cannot be what a link leads to")
        *above, name = steps or [""]
        target = _folder_at(work, above, f"the link {path}") / name
        if not target.is_file():
            _folder_at(work, steps, f"the link {path}")
        if path.startswith("~/"):
            _link_home(folder, path, target)


def _link_home(folder: Path, path: str, target: Path) -> None:
    inside = path.removeprefix("~/")
    if find_path_problem(inside) is not None:
        raise InTheWay(f"{path!r} cannot be the path of a link")
    *folders, name = inside.split("/")
    link = _folder_at(folder, folders, f"the link {path}") / name
    if link.is_symlink() or link.exists():
        raise InTheWay(f"the job's home has {inside} already; give the link {path} another path")
    link.symlink_to("/".join([*[".."] * len(folders), target.relative_to(folder).as_posix()]))


def _folder_at(top: Path, steps: Sequence[str], what: str) -> Path:
    folder = top
    for step in steps:
        folder = folder / step
        # A link that the bundle brought may lead elsewhere: nothing is ever written through one.
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise InTheWay(f"the bundle has {folder.relative_to(top)}, where {what} needs a folder")
        folder.mkdir(mode=0o755, exist_ok=True)
    return folder
