"""The owner's own jobs, on their own machine, as plain processes: limits, but no isolation at all.

The network cannot be taken away here, and every file of the owner is in reach. That is why nobody else's job may
run at this level.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from computepool.agent.trees import open_folder
from computepool.protocol.states import IsolationLevel

from . import cgroup_tree, marked
from .cgroup import Cgroup
from .cgroup_tree import CgroupTree
from .cores import Cores
from .environment import job_environment
from .guard import ProcessGuard
from .identity import instance_of
from .interface import Command, Offload, Process, SandboxError
from .lookup import in_words, problem_on_host
from .proctree import PROC, descendants, every_pid, is_in_session, signal_all
from .running import RunningProcess, remove_when_empty
from .spawn import set_resource_limits, spawn
from .watchdog import Watchdog

# Waits for a line, then becomes the command: until then its limits can be set.
GATE = 'read -r _ || exit 125; exec "$@" < /dev/null'
GONE_ROUNDS = 500
GONE_PAUSE_SECONDS = 0.005


@dataclass
class Family:
    """A process and what came from it: by cgroup if there is one, else by descent, session and mark."""

    popen: subprocess.Popen[bytes]
    mark: str
    cgroup: Cgroup | None
    offload: Offload

    def pids(self) -> list[int]:
        if self.cgroup:
            return self.cgroup.pids()
        if self.popen.returncode is not None:
            return []
        if not PROC.is_dir():
            return [-self.popen.pid]  # the process group, all that there is to go by
        return [self.popen.pid, *descendants(self.popen.pid)]

    def kill(self) -> None:
        signal_all(self.pids(), signal.SIGKILL)

    def _left(self) -> list[int]:
        if self.cgroup:
            return self.cgroup.pids()
        session = self.popen.pid
        return [*marked.find_marked(self.mark), *(pid for pid in every_pid() if is_in_session(pid, session))]

    async def gone(self) -> None:
        for _ in range(GONE_ROUNDS):
            # Without a cgroup this looks at every process of the machine.
            left = self._left() if self.cgroup else await self.offload(self._left)
            if not left:
                return
            signal_all(left, signal.SIGKILL)
            await asyncio.sleep(GONE_PAUSE_SECONDS)


class ProcessSandbox:
    level = IsolationLevel.PROCESS
    takes_images = False
    has_egress = True

    def __init__(
        self,
        state: Path,
        *,
        cgroups: CgroupTree | None,
        guard: ProcessGuard | None = None,
        offload: Offload = asyncio.to_thread,
    ) -> None:
        self._instance = instance_of(state)
        self._cgroups = cgroups
        self._notes = state / "cgroup-parents"
        self._offload = offload
        self._cores = Cores()
        self._guard = guard or ProcessGuard(self._instance, offload)
        # The command at least dies with the agent even if the guard should be killed too.
        self._prefix = [setpriv, "--pdeathsig", "KILL"] if (setpriv := _setpriv()) else []
        self.attempts_folder = state / "attempts"
        self.attempts_folder.mkdir(parents=True, exist_ok=True)

    @property
    def soft_limits(self) -> bool:
        return self._cgroups is None

    @property
    def cgroup_version(self) -> int | None:
        return self._cgroups.version if self._cgroups else None

    def adopt(self, folder: Path) -> None:
        """The job runs as the agent's user, whose folder it already is."""

    def path_inside(self, folder: Path, relative: str) -> str:
        return str(folder / relative)

    async def start(self, command: Command) -> Process:
        try:
            return await self._start(command)
        except OSError as error:
            raise SandboxError(f"the process did not start: {error}") from error

    async def _start(self, command: Command) -> Process:
        mark = self._guard.mark()
        cgroup = self._cgroups.take() if self._cgroups else None
        with contextlib.ExitStack() as resources:
            try:
                return await self._admit(command, mark, cgroup, resources)
            except BaseException:
                if cgroup:
                    await remove_when_empty(cgroup)
                raise

    async def _admit(
        self, command: Command, mark: str, cgroup: Cgroup | None, resources: contextlib.ExitStack
    ) -> Process:
        tmp = command.folder / "tmp"
        tmp.mkdir(exist_ok=True)
        root = open_folder(command.folder)
        resources.callback(os.close, root)
        environment = job_environment(command.env, home=str(command.folder), tmp=str(tmp))
        environment[marked.VARIABLE] = mark
        cwd = str(command.folder / command.cwd)
        # The shell at the gate tries it all the same, and says what is wrong with it.
        problem = problem_on_host(command.argv[0], cwd=cwd, search_path=environment["PATH"])
        gate_r, gate_w = os.pipe()
        resources.callback(os.close, gate_w)
        output_r, output_w = os.pipe()
        try:
            popen = spawn(
                [*self._prefix, "/bin/sh", "-c", GATE, "sh", *command.argv],
                env=environment,
                stdin=gate_r,
                output=output_w,
                cwd=cwd,
                cgroup=cgroup,
            )
        except BaseException:
            os.close(output_r)
            raise
        finally:
            os.close(output_w)
            os.close(gate_r)
        os.set_blocking(output_r, False)
        family = Family(popen, mark, cgroup, self._offload)
        try:
            resources.callback(await self._confine(popen.pid, command, cgroup))
            os.write(gate_w, b"\n")
        except BaseException:
            family.kill()
            popen.wait()
            os.close(output_r)
            raise
        return RunningProcess(
            popen=popen,
            output_fd=output_r,
            members=family,
            cgroup=cgroup,
            watchdog=Watchdog(
                root=root,
                limits=command.limits,
                pids=family.pids,
                soft=cgroup is None,
                count_pids=True,
            ),
            offload=self._offload,
            command_ran=lambda: True,
            resources=resources.pop_all(),
            problem=in_words(problem, command.argv[0]),
        )

    async def _confine(self, pid: int, command: Command, cgroup: Cgroup | None) -> Callable[[], None]:
        """Set limits on the process that waits at the gate; returns what gives its cores back."""
        set_resource_limits(pid, command.limits)
        if cgroup is None:
            return self._cores.give(pid, command.limits.cpus)
        cgroup.set_limits(command.limits)
        if not cgroup.born_inside:
            await self._offload(cgroup.add, pid)
        return lambda: None

    async def sweep(self) -> list[str]:
        return [*await cgroup_tree.sweep(self._instance, self._notes, self._cgroups), *await self._guard.sweep()]

    async def close(self) -> None:
        """End the guard; with it, whatever still runs."""
        if self._cgroups:
            self._cgroups.close()
        await self._guard.close()


def _setpriv() -> str | None:
    """util-linux's setpriv, if it knows --pdeathsig (busybox's does not)."""
    found = shutil.which("setpriv")
    if not found or not sys.platform.startswith("linux"):
        return None
    tried = subprocess.run([found, "--pdeathsig", "KILL", "true"], capture_output=True, check=False, timeout=10)
    return found if tried.returncode == 0 else None
