"""A running command, whatever sandbox it is in: waiting, stopping, freezing, and the tidying up afterwards."""

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from .cgroup import Cgroup, Usage
from .interface import Exit, Offload, Reason, UsageNow
from .proctree import signal_all
from .watchdog import Watchdog

# Processes that fork while they are being stopped need another round.
FREEZE_ROUNDS = 20
REMOVE_ROUNDS = 100
COMPLAINT_BYTES = 4096
# A shell's exit codes for a command that is not there, or is not a program.
COULD_NOT_RUN = (126, 127)
MAXRSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024


async def readable(fd: int) -> None:
    """Return when a descriptor has something to read: data, end of file, or for a pidfd the end of its process."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(fd, wake)
    try:
        await ready
    finally:
        loop.remove_reader(fd)


async def reap(popen: subprocess.Popen[bytes], offload: Offload) -> tuple[int, resource.struct_rusage]:
    """Wait for a child; its exit code as Popen has it, and what it used."""
    if hasattr(os, "pidfd_open"):
        pidfd = os.pidfd_open(popen.pid)
        try:
            await readable(pidfd)
        finally:
            os.close(pidfd)
        _, status, usage = os.wait4(popen.pid, 0)  # noqa: ASYNC222 - it has ended
    else:
        _, status, usage = await offload(os.wait4, popen.pid, 0)
    popen.returncode = os.waitstatus_to_exitcode(status)
    return popen.returncode, usage


class Members(Protocol):
    """The processes that belong to one command."""

    def pids(self) -> list[int]: ...

    def kill(self) -> None:
        """SIGKILL all that can be seen, at once."""
        ...

    async def gone(self) -> None:
        """Kill until nothing is left."""
        ...


@dataclass
class RunningProcess:
    popen: subprocess.Popen[bytes]
    output_fd: int
    members: Members
    cgroup: Cgroup | None
    watchdog: Watchdog
    offload: Offload
    # False if the sandbox broke before the command ran.
    command_ran: Callable[[], bool]
    # What to close at the end.
    resources: contextlib.ExitStack
    # Why the command cannot be run, where that was known before.
    problem: str = ""
    _stopping: bool = False
    _frozen: bool = False
    _limit: Reason | None = None
    _ran: bool = False
    _over: bool = False
    _complaint: bytes = b""
    _supervision: asyncio.Task[Exit] = field(init=False)

    def __post_init__(self) -> None:
        self.watchdog.kill = self._over_limit
        self._supervision = asyncio.create_task(self._supervise(), name=f"sandbox-{self.popen.pid}")

    @property
    def pid(self) -> int:
        return self.popen.pid

    def sift(self, data: bytes) -> bytes:
        # Asked after the reading: a command that does not run even now cannot have written it.
        if self._has_run():
            return data
        self._complaint = (self._complaint + data)[:COMPLAINT_BYTES]
        return b""

    @property
    def complaint(self) -> str:
        return self._complaint.decode(errors="replace").strip()

    def _has_run(self) -> bool:
        if not self._ran and not self._over:
            self._ran = self.command_ran()
        return self._ran

    async def wait(self) -> Exit:
        return await asyncio.shield(self._supervision)

    async def stop(self, grace_seconds: float) -> None:
        if self._supervision.done():
            return
        self._stopping = True
        if grace_seconds > 0:
            signal_all(self.members.pids(), signal.SIGTERM)
            self._thaw()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._supervision), grace_seconds)
                return
        self._kill()
        await self.wait()

    def usage_now(self) -> UsageNow | None:
        if self._over or self._supervision.done():
            return None
        if self.cgroup is None:
            # The watchdog looks at the same anyway, where no group counts it.
            return UsageNow(self.watchdog.cpu_seconds, self.watchdog.memory_bytes) if self.watchdog.soft else None
        return self.cgroup.usage_now()

    async def freeze(self) -> None:
        if self._supervision.done() or self._frozen:
            return
        self._frozen = True
        if self.cgroup and self.cgroup.freezes:
            self.cgroup.freeze(True)
            return
        stopped: set[int] = set()
        for _ in range(FREEZE_ROUNDS):
            new = set(self.members.pids()) - stopped
            if not new:
                return
            signal_all(new, signal.SIGSTOP)
            stopped |= new

    async def thaw(self) -> None:
        if not self._supervision.done():
            self._thaw()

    def _thaw(self) -> None:
        if not self._frozen:
            return
        self._frozen = False
        if self.cgroup and self.cgroup.freezes:
            self.cgroup.freeze(False)
        else:
            signal_all(self.members.pids(), signal.SIGCONT)

    def _over_limit(self, reason: Reason) -> None:
        self._limit = self._limit or reason
        self._kill()

    def _kill(self) -> None:
        if self._over:
            return  # as where it ends in the moment in which its grace does: the descriptors may be another's by now
        if self.popen.returncode is None:
            # Not by Popen, which would reap the process on the way.
            signal_all([self.popen.pid], signal.SIGKILL)
        if self._frozen:
            # Frozen processes die once they may run again. The first process of a pid namespace takes the others with
            # it only when it runs itself: each has to be killed before the thaw, or it may run another step.
            signal_all(self.members.pids(), signal.SIGKILL)
        self.members.kill()
        self._thaw()

    async def _supervise(self) -> Exit:
        watching = asyncio.create_task(self.watchdog.run())
        try:
            code, rusage = await reap(self.popen, self.offload)
            self._kill()
            await self.members.gone()
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
        usage = self.cgroup.usage() if self.cgroup else self._usage_without_cgroup(rusage)
        ended = self._exit(code, usage)
        if self.cgroup:
            await remove_when_empty(self.cgroup)
        self._over = True
        self.resources.close()
        return ended

    def _usage_without_cgroup(self, rusage: resource.struct_rusage) -> Usage:
        # Until it became another program, a child had the agent's memory, and the kernel counts that as the child's
        # peak: only what is above it was surely the command's.
        peak, inherited = rusage.ru_maxrss, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return Usage(
            cpu_seconds=max(rusage.ru_utime + rusage.ru_stime, self.watchdog.cpu_seconds),
            peak_memory_bytes=max(peak * MAXRSS_UNIT_BYTES if peak > inherited else 0, self.watchdog.peak_memory_bytes),
            oom_kills=0,
        )

    def _exit(self, code: int, usage: Usage) -> Exit:
        number = -code if code < 0 else code - 128
        ended_by = number if number in signal.valid_signals() and number > 0 else None
        code = code if code >= 0 else 128 - code
        reason: Reason = "exited"
        if self._limit:
            reason = self._limit
        elif self._stopping:
            reason = "killed"
        elif code != 0 and usage.oom_kills:
            reason = "memory"
        elif ended_by == signal.SIGXFSZ:
            reason = "disk"
        elif code != 0 and not self._has_run():
            reason = "start_failed"
        elif code in COULD_NOT_RUN and self.problem:
            reason = "not_runnable"
        detail = self.problem if reason == "not_runnable" else ""
        return Exit(code, ended_by, reason, usage.cpu_seconds, usage.peak_memory_bytes, self._has_run(), detail)


async def remove_when_empty(cgroup: Cgroup) -> None:
    for _ in range(REMOVE_ROUNDS):
        if cgroup.remove():
            return
        await asyncio.sleep(0.005)
