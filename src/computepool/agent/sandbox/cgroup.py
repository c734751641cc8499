"""Control groups, versions 1 and 2, behind one small interface: one group per running command.

Moving a process into a group makes the kernel wait for an RCU grace period: 5 to 20 ms on an idle machine, longer
than the whole start of a sandbox. Only a thread that moves itself is exempt, and only version 1 lets a single
thread do so; there the agent's thread steps into the job's group, starts the job, and steps out again (`joined`).
"""

import contextlib
import errno
import os
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .interface import Limits, UsageNow

PERIOD_MICROSECONDS = 100_000
# Bubblewrap's own two processes; the shell that starts a plain process becomes the command.
OVERHEAD_PIDS = 2


@dataclass(frozen=True)
class Usage:
    cpu_seconds: float
    peak_memory_bytes: int
    oom_kills: int


class Cgroup(Protocol):
    freezes: bool

    def joined(self) -> contextlib.AbstractContextManager[None]:
        """While inside, what this thread starts is born in the group, where the kernel can do that."""
        ...

    def add(self, pid: int) -> None:
        """Move a process in, unless `joined` did. Blocks for an RCU grace period."""
        ...

    @property
    def born_inside(self) -> bool: ...

    def set_limits(self, limits: Limits) -> None: ...

    def pids(self) -> list[int]: ...

    def freeze(self, frozen: bool) -> None: ...

    def usage(self) -> Usage: ...

    def usage_now(self) -> UsageNow: ...

    def remove(self) -> bool: ...


def write(path: Path, value: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _keyed(path: Path, key: str) -> int:
    """A value from a file of `key value` lines; 0 where it is missing."""
    for line in _read(path).splitlines():
        name, _, value = line.partition(" ")
        if name == key:
            return int(value)
    return 0


def _integer(path: Path) -> int:
    text = _read(path).strip()
    return int(text) if text.isdigit() else 0


def _pids(folder: Path) -> list[int]:
    # The agent itself is never a member, even if one of its threads should be caught inside.
    return [pid for line in _read(folder / "cgroup.procs").split() if (pid := int(line)) != os.getpid()]


def remove_group(folder: Path) -> bool:
    """Remove an empty group; False if something is still in it, or the kernel has not let go of the last process."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def _write_to_all(fds: Iterable[int], value: bytes) -> None:
    """Write to every one, even if some fail: a thread must leave a job's group wherever it can."""
    failures = []
    for fd in fds:
        try:
            os.write(fd, value)
        except OSError as error:
            failures.append(error)
    if failures:
        raise failures[0]


class CgroupV1:
    """One folder per controller, which may coincide."""

    def __init__(self, name: str, parents: Mapping[str, Path], home: Sequence[int]) -> None:
        self._folders = {controller: parent / name for controller, parent in parents.items()}
        self._places = tuple(dict.fromkeys(self._folders.values()))
        self._home = home  # where this thread lives: an open `tasks` file per hierarchy
        self.freezes = "freezer" in self._folders
        self.born_inside = False
        for folder in self._places:
            folder.mkdir()

    @contextlib.contextmanager
    def joined(self) -> Iterator[None]:
        try:
            for folder in self._places:
                write(folder / "tasks", "0")
            self.born_inside = True
            yield
        finally:
            _write_to_all(self._home, b"0")

    def add(self, pid: int) -> None:
        for folder in self._places:
            write(folder / "cgroup.procs", str(pid))

    def set_limits(self, limits: Limits) -> None:
        memory, cpu, pids = self._folders["memory"], self._folders["cpu"], self._folders["pids"]
        write(memory / "memory.limit_in_bytes", str(limits.memory_bytes))
        # Absent where the kernel does not account for swap.
        with contextlib.suppress(FileNotFoundError):
            write(memory / "memory.memsw.limit_in_bytes", str(limits.memory_bytes))
        write(cpu / "cpu.cfs_period_us", str(PERIOD_MICROSECONDS))
        write(cpu / "cpu.cfs_quota_us", str(max(1000, int(limits.cpus * PERIOD_MICROSECONDS))))
        write(pids / "pids.max", str(limits.pids + OVERHEAD_PIDS))

    def pids(self) -> list[int]:
        return _pids(self._folders["pids"])

    def freeze(self, frozen: bool) -> None:
        write(self._folders["freezer"] / "freezer.state", "FROZEN" if frozen else "THAWED")

    def usage(self) -> Usage:
        memory = self._folders["memory"]
        cpu = self._folders.get("cpuacct")
        return Usage(
            cpu_seconds=_integer(cpu / "cpuacct.usage") / 1e9 if cpu else 0.0,
            peak_memory_bytes=_integer(memory / "memory.max_usage_in_bytes"),
            oom_kills=_keyed(memory / "memory.oom_control", "oom_kill"),
        )

    def usage_now(self) -> UsageNow:
        cpu = self._folders.get("cpuacct")
        return UsageNow(
            _integer(cpu / "cpuacct.usage") / 1e9 if cpu else None,
            _integer(self._folders["memory"] / "memory.usage_in_bytes"),
        )

    def remove(self) -> bool:
        removed = [remove_group(folder) for folder in self._places]
        return all(removed)


class CgroupV2:
    freezes = True
    born_inside = False

    def __init__(self, name: str, parent: Path) -> None:
        self._folder = parent / name
        self._folder.mkdir()

    def joined(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def add(self, pid: int) -> None:
        write(self._folder / "cgroup.procs", str(pid))

    def set_limits(self, limits: Limits) -> None:
        write(self._folder / "memory.max", str(limits.memory_bytes))
        with contextlib.suppress(FileNotFoundError):
            write(self._folder / "memory.swap.max", "0")
        # One process over the limit ends them all: half a job is no job.
        with contextlib.suppress(FileNotFoundError):
            write(self._folder / "memory.oom.group", "1")
        write(self._folder / "cpu.max", f"{max(1000, int(limits.cpus * PERIOD_MICROSECONDS))} {PERIOD_MICROSECONDS}")
        write(self._folder / "pids.max", str(limits.pids + OVERHEAD_PIDS))

    def pids(self) -> list[int]:
        return _pids(self._folder)

    def freeze(self, frozen: bool) -> None:
        write(self._folder / "cgroup.freeze", "1" if frozen else "0")

    def usage(self) -> Usage:
        return Usage(
            cpu_seconds=_keyed(self._folder / "cpu.stat", "usage_usec") / 1e6,
            peak_memory_bytes=_integer(self._folder / "memory.peak"),
            oom_kills=_keyed(self._folder / "memory.events", "oom_kill"),
        )

    def usage_now(self) -> UsageNow:
        return UsageNow(
            _keyed(self._folder / "cpu.stat", "usage_usec") / 1e6, _integer(self._folder / "memory.current")
        )

    def remove(self) -> bool:
        return remove_group(self._folder)


def kill_group(folder: Path) -> int:
    """SIGKILL everything in a group that may be frozen; how many there were."""
    pids = _pids(folder)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for file, value in (("freezer.state", "THAWED"), ("cgroup.freeze", "0")):
        with contextlib.suppress(OSError):
            write(folder / file, value)
    return len(pids)
