"""What a container used, and whether the kernel ended part of it for its memory: read from its control group.

Podman never says the latter, and an engine takes the group away as soon as the container is over. So it is found
while the container runs, and read in the moment in which its first process ends.
"""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from computepool.agent.sandbox.cgroup import Usage
from computepool.agent.sandbox.cgroup_tree import read_mounts
from computepool.agent.sandbox.interface import UsageNow


@dataclass(frozen=True)
class ContainerGroup:
    memory: Path
    cpu: Path
    processes: Path
    version: int

    def pids(self) -> list[int]:
        """Of this host; those of groups that the job made below its own too."""
        found: list[int] = []
        for folder in (self.processes, *_folders_below(self.processes)):
            with contextlib.suppress(OSError):
                found += map(int, (folder / "cgroup.procs").read_text().split())
        return found

    def usage(self) -> Usage | None:
        """None once it is gone."""
        try:
            if self.version == 2:
                return Usage(
                    cpu_seconds=_keyed(self.cpu / "cpu.stat", "usage_usec") / 1e6,
                    peak_memory_bytes=_integer(self.memory / "memory.peak"),
                    oom_kills=_keyed(self.memory / "memory.events", "oom_kill"),
                )
            return Usage(
                cpu_seconds=_integer(self.cpu / "cpuacct.usage") / 1e9,
                peak_memory_bytes=_integer(self.memory / "memory.max_usage_in_bytes"),
                oom_kills=_keyed(self.memory / "memory.oom_control", "oom_kill"),
            )
        except OSError:
            return None

    def usage_now(self) -> UsageNow | None:
        """None once it is gone."""
        try:
            if self.version == 2:
                seconds = _keyed(self.cpu / "cpu.stat", "usage_usec") / 1e6
                return UsageNow(seconds, _integer(self.memory / "memory.current"))
            seconds = _integer(self.cpu / "cpuacct.usage") / 1e9
            return UsageNow(seconds, _integer(self.memory / "memory.usage_in_bytes"))
        except OSError:
            return None


def _folders_below(folder: Path) -> list[Path]:
    try:
        return [place for place in folder.rglob("*/") if place.is_dir()]
    except OSError:
        return []


def _integer(path: Path) -> int:
    """0 where an older kernel has no such file."""
    try:
        return int(path.read_text())
    except FileNotFoundError:
        if path.parent.is_dir():
            return 0
        raise


def _keyed(path: Path, key: str) -> int:
    lines = (line.partition(" ") for line in path.read_text().splitlines())
    return next((int(value) for name, _, value in lines if name == key), 0)


def find_group(pid: int, container: str) -> ContainerGroup | None:
    """The group of a container's first process, if this machine shows it and it is the container's own."""
    try:
        lines = [line.split(":", 2) for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()]
    except OSError:
        return None
    places: dict[str, Path] = {}
    for mount in read_mounts():
        for number, names, path in lines:
            is_it = number == "0" if mount.version == 2 else bool(mount.controllers & set(names.split(",")))
            if is_it and container in path:
                places |= dict.fromkeys(mount.controllers, mount.top / path.lstrip("/"))
                if mount.version == 2 and {"memory", "cpu"} <= mount.controllers:
                    own = mount.top / path.lstrip("/")
                    return ContainerGroup(own, own, own, 2) if own.is_dir() else None
    if not {"memory", "cpuacct", "pids"} <= places.keys() or not places["memory"].is_dir():
        return None
    return ContainerGroup(places["memory"], places["cpuacct"], places["pids"], 1)
