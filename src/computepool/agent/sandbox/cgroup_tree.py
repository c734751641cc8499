"""Find out whether, and where, this agent may make control groups; make them; sweep what a crash left."""

import asyncio
import contextlib
import itertools
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .cgroup import Cgroup, CgroupV1, CgroupV2, kill_group, remove_group, write

PREFIX = "computepool"
NEEDED = ("memory", "cpu", "pids")
WELCOME = ("cpuacct", "freezer")
SWEEP_ROUNDS = 200


@dataclass(frozen=True)
class Mount:
    """A mounted hierarchy: `own` is the folder of the agent's own group in it."""

    controllers: frozenset[str]
    top: Path
    own: Path
    version: int


def read_mounts(
    mountinfo: Path = Path("/proc/self/mountinfo"), membership: Path = Path("/proc/self/cgroup")
) -> list[Mount]:
    try:
        lines = mountinfo.read_text().splitlines()
        groups = [line.split(":", 2) for line in membership.read_text().splitlines()]
    except OSError:
        return []
    mounts = []
    for line in lines:
        left, _, right = line.partition(" - ")
        root, point = left.split()[3:5]
        kind, _, options = right.split()[:3]
        if kind == "cgroup2":
            own = next((path for number, _, path in groups if number == "0"), "/")
            controllers, version = _words(Path(point) / "cgroup.controllers"), 2
        elif kind == "cgroup":
            wanted = set(options.split(",")) & {*NEEDED, *WELCOME}
            own = next((path for _, names, path in groups if wanted & set(names.split(","))), "/")
            controllers, version = wanted, 1
        else:
            continue
        mounts.append(Mount(frozenset(controllers), Path(point), _below(Path(point), root, own), version))
    return mounts


def _words(path: Path) -> set[str]:
    try:
        return set(path.read_text().split())
    except OSError:
        return set()


def _below(point: Path, root: str, own: str) -> Path:
    """A container sees only part of the hierarchy: `root` is what is mounted at `point`."""
    try:
        return point / Path(own).relative_to(root)
    except ValueError:
        return point


class CgroupTree(ABC):
    """Makes groups, and keeps one in store: making it takes a third of a millisecond of a job's start."""

    version: int

    def __init__(self, instance: str) -> None:
        self.prefix = f"{PREFIX}-{instance}-{secrets.token_hex(4)}-"
        self._names = (f"{self.prefix}{number}" for number in itertools.count(1))
        self._spare: Cgroup | None = None

    def take(self) -> Cgroup:
        taken, self._spare = self._spare, None
        return taken or self.make(next(self._names))

    def prepare(self) -> None:
        self._spare = self._spare or self.make(next(self._names))

    def close(self) -> None:
        spare, self._spare = self._spare, None
        if spare:
            spare.remove()

    @abstractmethod
    def make(self, name: str) -> Cgroup: ...

    @abstractmethod
    def parents(self) -> list[Path]: ...


class TreeV1(CgroupTree):
    version = 1

    def __init__(self, instance: str, parents: Mapping[str, Path], own: Iterable[Path]) -> None:
        super().__init__(instance)
        self._parents = dict(parents)
        # Kept for as long as the agent lives: this is its thread's way back.
        self._home = [os.open(place / "tasks", os.O_WRONLY | os.O_CLOEXEC) for place in own]

    def make(self, name: str) -> Cgroup:
        return CgroupV1(name, self._parents, self._home)

    def parents(self) -> list[Path]:
        return list(dict.fromkeys(self._parents.values()))


class TreeV2(CgroupTree):
    version = 2

    def __init__(self, instance: str, parent: Path) -> None:
        super().__init__(instance)
        self._parent = parent

    def make(self, name: str) -> Cgroup:
        return CgroupV2(name, self._parent)

    def parents(self) -> list[Path]:
        return [self._parent]


def find_cgroups(instance: str) -> CgroupTree | None:
    """A tree in which this agent can really make groups with limits, or None."""
    mounts = read_mounts()
    for mount in mounts:
        if mount.version == 2 and set(NEEDED) <= mount.controllers:
            parent = _parent_v2(mount, instance)
            return TreeV2(instance, parent) if parent else None
    by_controller = {name: mount for mount in mounts if mount.version == 1 for name in mount.controllers}
    if not set(NEEDED) <= by_controller.keys():
        return None
    parents = {}
    for name, mount in by_controller.items():
        parent = next((place for place in (mount.own, mount.top) if _can_make_group(place, instance)), None)
        if parent is None:
            return None
        parents[name] = parent
    try:
        return TreeV1(instance, parents, {mount.own for mount in by_controller.values()})
    except OSError:
        return None


def _can_make_group(parent: Path, instance: str, file: str = "cgroup.procs") -> bool:
    trial = parent / f"{PREFIX}-{instance}-trial"
    try:
        trial.mkdir(exist_ok=True)
        usable = os.access(trial / file, os.W_OK)
        trial.rmdir()
    except OSError:
        return False
    return usable


def _parent_v2(mount: Mount, instance: str) -> Path | None:
    """The agent's own group if it was delegated (so that its owner's limits hold for jobs too), else one above it."""
    places = [mount.own, *(place for place in mount.own.parents if place.is_relative_to(mount.top))]
    for place in places:
        writable = os.access(place / "cgroup.subtree_control", os.W_OK)
        if writable and _enable(place, is_own=place == mount.own) and _can_make_group(place, instance, "memory.max"):
            return place
    return None


def _enable(place: Path, *, is_own: bool) -> bool:
    """Let the children of a group have limits. A group with processes of its own may not, so the agent steps aside."""
    control = place / "cgroup.subtree_control"
    if set(NEEDED) <= _words(control):
        return True
    request = " ".join(f"+{name}" for name in NEEDED)
    with contextlib.suppress(OSError):
        write(control, request)
        return True
    if not is_own:
        return False
    aside = place / f"{PREFIX}-agent"
    try:
        aside.mkdir(exist_ok=True)
        write(aside / "cgroup.procs", "0")
        write(control, request)
    except OSError:
        # Somebody else lives in this group (a shell, say): leave it as it was.
        with contextlib.suppress(OSError):
            write(place / "cgroup.procs", "0")
            aside.rmdir()
        return False
    return True


def remember(tree: CgroupTree, notes: Path) -> None:
    """Note where groups are made: after a restart the agent's own group may be another one."""
    known = set(notes.read_text().splitlines()) if notes.exists() else set()
    places = {str(place) for place in tree.parents()}
    if not places <= known:
        notes.write_text("".join(f"{place}\n" for place in sorted(known | places)))


def _groups_left(instance: str, notes: Path, tree: CgroupTree | None) -> list[Path]:
    places = [Path(line) for line in notes.read_text().splitlines()] if notes.exists() else []
    found = [group for place in places if place.is_dir() for group in place.glob(f"{PREFIX}-{instance}-*")]
    return [group for group in found if not (tree and group.name.startswith(tree.prefix))]


async def sweep(instance: str, notes: Path, tree: CgroupTree | None) -> list[str]:
    """End and remove what earlier runs of this agent left, not what this run made; what it was, a line each."""
    swept = []
    left = _groups_left(instance, notes, tree)
    for _ in range(SWEEP_ROUNDS):
        killed = {group: kill_group(group) for group in left}
        swept += [f"{group.name}: {count} processes" for group, count in killed.items() if count]
        left = [group for group in left if not remove_group(group)]
        if not left:
            break
        await asyncio.sleep(0.01)
    return list(dict.fromkeys(swept))
