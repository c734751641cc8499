"""Does what a service manager says: writes, runs, and takes everything away again.

What was made is noted in the agent's folder, so that `uninstall` knows it even where another version made it.
"""

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from computepool.agent.home import AgentHome, write_atomically
from computepool.agent.logsetup import LOG_FOLDER
from computepool.agent.removal import remove_tree
from computepool.agent.sandbox.identity import SYSTEM_FOLDER, instance_of
from computepool.agent.sandbox.layout import ETC_PREFIX
from computepool.agent.sandbox.shared import LOCK

from .model import ServiceError, ServiceManager, Step
from .pulled import remove_pulled_images

RECORD = "service.json"
STEP_SECONDS = 90.0
RUN_FILES = ("agent.sock", "agent.lock", LOCK, "cgroup-parents")

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Record:
    """What `install` made, and through whom."""

    kind: str
    system: bool
    files: tuple[str, ...]
    folders: tuple[str, ...]
    """Those that were not there before, outermost first."""


def install(manager: ServiceManager, tell: Tell) -> None:
    """All of it or nothing: what was written goes again if the manager refuses it."""
    root, path = manager.service.root, manager.path
    made: list[Path] = []
    try:
        # Where a manager itself writes before the agent has made it.
        (root / LOG_FOLDER).mkdir(mode=0o700, exist_ok=True)
        made = _make_folders(path.parent)
        _write(path, manager.data())
        tell(f"wrote {path}")
        record = Record(manager.kind, manager.system, tuple(map(str, (path, *manager.links()))), tuple(map(str, made)))
        write_atomically(root / RECORD, json.dumps(record.__dict__, indent=1).encode())
        _run(manager.steps_to_install(), tell)
        if not manager.keeps_text():
            path.unlink()
    except (OSError, ServiceError) as error:
        with contextlib.suppress(OSError, ServiceError):
            _run(manager.steps_to_stop(), tell)
        _remove_files([path, *manager.links(), root / RECORD])
        _remove_empty([*(link.parent for link in manager.links()), *reversed(made), root / LOG_FOLDER])
        if isinstance(error, OSError):
            raise ServiceError(f"{error.filename}: {error.strerror}") from None
        raise


def recorded(root: Path) -> Record | None:
    """What an earlier `install` noted in the agent's folder; None if there was none, or it cannot be read."""
    try:
        told = json.loads((root / RECORD).read_bytes())
        return Record(str(told["kind"]), bool(told["system"]), tuple(told["files"]), tuple(told["folders"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_installed(manager: ServiceManager) -> bool:
    return recorded(manager.service.root) is not None or any(map(_is_there, (manager.path, *manager.links())))


def uninstall(manager: ServiceManager, tell: Tell) -> bool:
    """Stop it and leave nothing of it behind but the node's keys, its cache and what the hub has not got yet.

    Whether there was a service at all.
    """
    root = manager.service.root
    record = recorded(root)
    files, folders = (record.files, record.folders) if record is not None else ((), ())
    paths = {manager.path, *manager.links(), *(Path(file) for file in files)}
    known = (root / RECORD).exists() or any(map(_is_there, paths))
    if known:
        _run(manager.steps_to_stop(), tell)
        removed = _remove_files(paths)
        for path in removed:
            tell(f"removed {path}")
        _run(manager.steps_after_removal(), tell)
    _remove_files([root / RECORD])
    links = [link.parent for link in manager.links()]
    _remove_empty([*links, *(Path(folder) for folder in reversed(folders))])
    return known


def remove_run_files(home: AgentHome, tell: Tell) -> None:
    """Log, socket, locks, the rendered /etc of sandboxes. Only while no agent runs. Raises AlreadyRunning."""
    if not home.root.is_dir():
        return
    with home.lock():
        places = [home.root, SYSTEM_FOLDER / instance_of(home.root)]
        for place in places:
            for rendered in place.glob(f"{ETC_PREFIX}*"):
                remove_tree(rendered)
        logs = home.root / LOG_FOLDER
        if logs.is_dir():
            _remove_folder(logs, tell)
        _remove_files([home.root / name for name in RUN_FILES])
        _remove_empty([home.attempts])
        away = places[1]
        # Only where nothing of a job is left in it.
        _remove_empty([away / "attempts"])
        if away.is_dir() and {entry.name for entry in away.iterdir()} <= {LOCK}:
            _remove_files([away / LOCK])
            _remove_empty([away])


def purge(home: AgentHome, tell: Tell) -> None:
    """The agent's whole folder, keys included, and the images that jobs brought: this machine is then no node any more.

    Raises AlreadyRunning.
    """
    if not home.root.is_dir():
        return
    with home.lock():
        remove_pulled_images(home.root, tell)
        for place in (SYSTEM_FOLDER / instance_of(home.root), home.root):
            if place.is_dir():
                _remove_folder(place, tell)


# ── small things ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _run(steps: Iterable[Step], tell: Tell) -> None:
    for step in steps:
        tell(f"running {step}")
        try:
            done = subprocess.run(step.command, capture_output=True, timeout=STEP_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            trouble = str(error)
        else:
            if done.returncode == 0:
                continue
            said = (done.stderr or done.stdout).decode(errors="replace").strip()
            trouble = said.splitlines()[-1] if said else f"exit code {done.returncode}"
        if not step.may_fail:
            raise ServiceError(f"`{step}` failed: {trouble}")


def _make_folders(folder: Path) -> list[Path]:
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir()
    return list(reversed(missing))


def _write(path: Path, data: bytes) -> None:
    """Readable for everybody, as service managers expect: there is no secret in it."""
    fd, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _is_there(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _remove_files(paths: Iterable[Path]) -> list[Path]:
    removed = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
            removed.append(path)
    return removed


def _remove_folder(folder: Path, tell: Tell) -> None:
    remains = remove_tree(folder)
    if remains is None:
        tell(f"removed {folder}")
    else:
        tell(f"{folder} could not be removed ({remains.reason}): remove it by hand")


def _remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
