"""Processes as /proc shows them: the tree below one, and what it uses.

How many processes, open files and mappings there are, the job decides. So whatever goes through all of them is a
generator that does a little at each step, for `in_slices` to run without holding the event loop.
"""

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from computepool.agent.pieces import Steps
from computepool.agent.trees import Uncountable

PROC = Path("/proc")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
MAX_LOOKED_AT = 200_000
"""Open files and mappings of one job. To look at more takes so long that the job could break any limit meanwhile."""


def descendants(root: int) -> list[int]:
    """The processes below `root`, without it. In a pid namespace orphans fall to its first process: none is missed."""
    found: list[int] = []
    todo = [root]
    while todo:
        children = _children(todo.pop())
        found += children
        todo += children
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for task in os.scandir(f"/proc/{pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                children += map(int, Path(task.path, "children").read_bytes().split())
    except (FileNotFoundError, ProcessLookupError):
        pass
    return children


def every_pid() -> list[int]:
    if not PROC.is_dir():
        return []
    return [int(name) for name in os.listdir(PROC) if name.isdigit()]  # noqa: PTH208 - names are all we need


def is_in_session(pid: int, session: int) -> bool:
    """Whether a living process belongs to a session. The dead that nobody has reaped yet do not count."""
    try:
        # After the name in parentheses: state, parent, process group, session.
        state, _, _, its_session = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:4]
    except (OSError, ValueError):
        return False
    return int(its_session) == session and state not in {b"Z", b"X"}


@dataclass(frozen=True)
class Load:
    """What some processes use together. `memory_bytes` counts shared pages once per process."""

    processes: int
    memory_bytes: int
    cpu_seconds: float


def load_of(pids: Iterable[int]) -> Steps[Load]:
    processes, pages, ticks = 0, 0, 0
    for pid in pids:
        yield
        try:
            pages += int(Path(f"/proc/{pid}/statm").read_bytes().split()[1])
            # After the name in parentheses: utime, stime and those of the children that were waited for.
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        except (OSError, IndexError):
            continue
        processes += 1
        ticks += sum(map(int, fields[11:15]))
    return Load(processes, pages * PAGE_BYTES, ticks / TICKS_PER_SECOND)


@dataclass(frozen=True)
class Memory:
    """`shared_bytes` are mapped pages of files in memory, of which the files may hold more."""

    own_bytes: int
    shared_bytes: int


def memory_of(pids: Iterable[int]) -> Steps[Memory]:
    """Memory that is not merely cached files, shared pages divided by their sharers. Slow for big processes."""
    found = {"Pss_Anon:": 0, "Pss_Shmem:": 0}
    for pid in pids:
        yield
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                name = line.partition(" ")[0]
                if name in found:
                    found[name] += int(line.split()[1]) * 1024
    return Memory(found["Pss_Anon:"], found["Pss_Shmem:"])


class TooManyOpen(Uncountable):
    """More open files and mappings than are looked at."""


def _open_files(pids: Iterable[int]) -> Iterator[tuple[int, str]]:
    """(process, number) of each open file. Raises TooManyOpen."""
    count = 0
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                count += 1
                if count > MAX_LOOKED_AT:
                    raise TooManyOpen
                yield pid, entry.name


def memory_files_held_by(pids: Iterable[int]) -> Steps[int]:
    """Space of files that are in memory and have no name: what was written there is in no process, mapped or not."""
    held: dict[int, int] = {}
    for pid, number in _open_files(pids):
        yield
        with contextlib.suppress(OSError):
            path = f"/proc/{pid}/fd/{number}"
            if os.readlink(path).startswith("/memfd:"):  # noqa: PTH115 - there may be many
                info = os.stat(path)  # noqa: PTH116
                held[info.st_ino] = info.st_blocks * 512
    return sum(held.values())


def deleted_bytes_held_by(pids: Sequence[int], device: int) -> Steps[int]:
    """Space of files on a device that were deleted but are still open or mapped: no walk through folders finds them.

    Raises TooManyOpen.
    """
    held: dict[int, int] = {}
    for pid, number in _open_files(pids):
        yield
        _note_deleted(f"/proc/{pid}/fd/{number}", device, held)
    lines = 0
    for pid in pids:
        with contextlib.suppress(OSError), Path(f"/proc/{pid}/maps").open("rb") as mapped:
            for line in mapped:
                yield
                lines += 1
                if lines > MAX_LOOKED_AT:
                    raise TooManyOpen
                _note_mapped(pid, line.rstrip(b"\n"), device, held)
    return sum(held.values())


def files_in_flight(pids: Iterable[int]) -> Steps[int]:
    """How many open files lie in sockets, sent and not taken out: nobody has them open, and nothing tells which.

    Raises TooManyOpen.
    """
    found: dict[int, int] = {}
    for pid, number in _open_files(pids):
        yield
        with contextlib.suppress(OSError, ValueError):
            info = os.stat(f"/proc/{pid}/fd/{number}")  # noqa: PTH116 - there may be many
            if stat.S_ISSOCK(info.st_mode) and info.st_ino not in found:
                told = Path(f"/proc/{pid}/fdinfo/{number}").read_text().partition("scm_fds:")[2].split()
                found[info.st_ino] = int(told[0]) if told else 0
    return sum(found.values())


def _note_mapped(pid: int, line: bytes, device: int, held: dict[int, int]) -> None:
    """Only root may follow a mapping to its file; others learn how much of it is mapped, and that much counts."""
    if line.endswith(b" (deleted)"):
        place, _, offset, numbers, inode = line.split(None, 5)[:5]
        if not _note_deleted(f"/proc/{pid}/map_files/{place.decode()}", device, held):
            major, minor = (int(number, 16) for number in numbers.split(b":"))
            start, end = (int(address, 16) for address in place.split(b"-"))
            if os.makedev(major, minor) == device:
                reached = int(offset, 16) + end - start
                held[int(inode)] = max(held.get(int(inode), 0), reached)


def _note_deleted(path: str, device: int, held: dict[int, int]) -> bool:
    """Whether it could be looked at."""
    try:
        info = os.stat(path)  # noqa: PTH116 - there may be many
    except OSError:
        return False
    if stat.S_ISREG(info.st_mode) and info.st_nlink == 0 and info.st_dev == device:
        held[info.st_ino] = info.st_blocks * 512
    return True


def signal_all(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
