"""Start a process quickly, as another user and in a control group, without forking the agent.

`subprocess` forks the whole agent as soon as it is asked to change the user (4 ms for an agent of 80 MB, against 0.3).
Credentials belong to threads on Linux, so the calling thread alone puts on the job's user around the spawn, by raw
system calls (libc's wrappers would change every thread). The saved user id stays root, which brings the thread back;
`execve` replaces it in the child, so that there is no way back for the job.
"""

import contextlib
import ctypes
import os
import platform
import resource
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from .cgroup import Cgroup
from .interface import Limits

# setgroups, setresgid, setresuid
_NUMBERS = {"x86_64": (116, 119, 117), "aarch64": (159, 149, 147)}
_SET_PDEATHSIG, _GET_PDEATHSIG, _GET_DUMPABLE, _SET_DUMPABLE = 1, 2, 3, 4
MAX_OPEN_FILES = 65_536
OOM_SCORE_ADJ = 500


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _syscall(number: int, *arguments: int | ctypes.Array[ctypes.c_uint32]) -> None:
    longs = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    if _libc().syscall(ctypes.c_long(number), *longs) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"cannot change the user of a thread: {os.strerror(code)}")


@contextlib.contextmanager
def worn_by_this_thread(uid: int) -> Iterator[None]:
    """What this thread starts meanwhile belongs to `uid` (and the group of the same number), for ever. Root only."""
    setgroups, setresgid, setresuid = _NUMBERS[platform.machine()]
    libc = _libc()
    groups = os.getgroups()
    # The kernel forgets both when credentials change; neither is ours to change.
    dumpable = libc.prctl(_GET_DUMPABLE, 0, 0, 0, 0)
    death_signal = ctypes.c_int(0)
    libc.prctl(_GET_PDEATHSIG, ctypes.byref(death_signal), 0, 0, 0)
    try:
        _syscall(setgroups, 0, 0)
        _syscall(setresgid, uid, uid, 0)
        _syscall(setresuid, uid, uid, 0)
        yield
    finally:
        _syscall(setresuid, 0, 0, 0)
        _syscall(setresgid, 0, 0, 0)
        _syscall(setgroups, len(groups), (ctypes.c_uint32 * len(groups))(*groups))
        libc.prctl(_SET_DUMPABLE, dumpable, 0, 0, 0)
        libc.prctl(_SET_PDEATHSIG, death_signal.value, 0, 0, 0)


def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    output: int,
    stdin: int = subprocess.DEVNULL,
    pass_fds: Sequence[int] = (),
    cwd: str = "/",
    uid: int | None = None,
    cgroup: Cgroup | None = None,
) -> subprocess.Popen[bytes]:
    """Its own session, no file of the agent's. Call it on the thread that lives as long as the agent:
    "die with your parent" means that thread."""
    with contextlib.ExitStack() as around:
        if cgroup:
            around.enter_context(cgroup.joined())
        if uid is not None:
            around.enter_context(worn_by_this_thread(uid))
        return subprocess.Popen(
            argv,
            env=env,
            cwd=cwd,
            stdin=stdin,
            stdout=output,
            stderr=output,
            pass_fds=pass_fds,
            start_new_session=True,
        )


def offer_first_when_memory_ends(pid: int) -> None:
    """The owner's programs are kept. From root, with the right to say so, the job cannot take it back."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text(str(OOM_SCORE_ADJ))


def set_resource_limits(pid: int, limits: Limits, *, processes: int | None = None) -> None:
    """What the kernel keeps per process. Nothing on systems that cannot set them from outside."""
    if not hasattr(resource, "prlimit"):
        return
    files = min(MAX_OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.disk_bytes,
        resource.RLIMIT_NOFILE: files if files > 0 else MAX_OPEN_FILES,
    }
    if processes is not None:
        wanted[resource.RLIMIT_NPROC] = processes
    for which, value in wanted.items():
        resource.prlimit(pid, which, (value, value))
