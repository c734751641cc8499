"""Strangers' jobs: bubblewrap with namespaces, seccomp, no capabilities, no network, and limits."""

import asyncio
import contextlib
import os
import platform
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from computepool.agent.trees import open_folder
from computepool.protocol.states import IsolationLevel

from . import cgroup_tree
from .cgroup import Cgroup
from .cgroup_tree import CgroupTree
from .cores import Cores
from .environment import job_environment
from .guard import ProcessGuard
from .identity import NobodyElse, OwnUser, instance_of
from .interface import EGRESS_PORT, Command, Offload, Process, SandboxError
from .launch import Launch
from .layout import (
    ISOLATION,
    JOB_FOLDER,
    build_etc,
    links_arguments,
    owners_arguments,
    problem_with_command,
    runtime_arguments,
    shown_arguments,
    system_arguments,
)
from .lookup import in_words
from .netns import can_listen_in, listen_in
from .proctree import descendants
from .running import RunningProcess, readable, remove_when_empty
from .seccomp import seccomp_program
from .spawn import offer_first_when_memory_ends, set_resource_limits, worn_by_this_thread
from .watchdog import Watchdog

SAY_AND_EXIT = 'printf "computepool: %s: %s\\n" "$1" "$2" >&2; exit "$0"'
# Since Linux 5.14 RLIMIT_NPROC counts within a user namespace; before, it counted all processes of the user.
NPROC_PER_NAMESPACE = (5, 14)


@dataclass
class Inhabitants:
    """The members of a pid namespace. They live and die with its first process."""

    outer: int
    init: int
    init_pidfd: int
    cgroup: Cgroup | None

    def pids(self) -> list[int]:
        if self.cgroup:
            return [pid for pid in self.cgroup.pids() if pid != self.outer]
        return [self.init, *descendants(self.init)]

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.init_pidfd, signal.SIGKILL)

    async def gone(self) -> None:
        # The kernel lets the first process go only after all others.
        await readable(self.init_pidfd)
        # It is ours to reap only where the agent is process 1 itself, as in a container.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.init, os.WNOHANG)  # noqa: ASYNC222 - it does not wait


class BubblewrapSandbox:
    level = IsolationLevel.BUBBLEWRAP
    takes_images = False

    def __init__(
        self,
        state: Path,
        *,
        bwrap: str,
        cgroups: CgroupTree | None = None,
        guard: ProcessGuard | None = None,
        offload: Offload = asyncio.to_thread,
        read_only: Sequence[Path] = (),
        hidden: Sequence[Path] = (),
    ) -> None:
        self._bwrap = bwrap
        self._instance = instance_of(state)
        self._identity = NobodyElse(state, self._instance) if os.geteuid() == 0 else OwnUser(state)
        self._identity.prepare()
        self._cgroups = cgroups
        self._guard = guard or ProcessGuard(self._instance, offload)
        self._notes = state / "cgroup-parents"
        self._offload = offload
        self._read_only = tuple(read_only)
        self._filter = seccomp_program(soft_limits=cgroups is None)
        self._cores = Cores()
        self._nproc_is_ours = _kernel_version() >= NPROC_PER_NAMESPACE
        self._clearances: set[asyncio.Task[None]] = set()
        self.attempts_folder = self._identity.base / "attempts"
        self.attempts_folder.mkdir(exist_ok=True)
        self.attempts_folder.chmod(0o711)
        system = [*ISOLATION, *system_arguments(build_etc(self._identity.base))]
        if "--disable-userns" in _options_of(bwrap):
            system.append("--disable-userns")
        self._system = tuple(system)
        self._owners = tuple(owners_arguments(self._read_only, (state, self._identity.base, *hidden)))

    @property
    def soft_limits(self) -> bool:
        return self._cgroups is None

    @property
    def cgroup_version(self) -> int | None:
        return self._cgroups.version if self._cgroups else None

    @cached_property
    def has_egress(self) -> bool:
        """Tried once, when somebody asks: it takes some ten milliseconds."""
        return can_listen_in(self._bwrap)

    def adopt(self, folder: Path) -> None:
        self._identity.adopt(folder)

    def path_inside(self, folder: Path, relative: str) -> str:
        del folder
        return f"{JOB_FOLDER}/{relative}".rstrip("/")

    async def start(self, command: Command) -> Process:
        if command.image is not None:
            raise SandboxError("bubblewrap runs no images; a node with Docker or podman does")
        self._identity.must_reach((command.folder, *command.shown.values()))
        try:
            return await self._start(command)
        except OSError as error:
            raise SandboxError(f"bubblewrap did not start: {error}") from error

    async def _start(self, command: Command) -> Process:
        mark = self._guard.mark()
        cgroup = self._cgroups.take() if self._cgroups else None
        try:
            launch = self._launch(command, mark, cgroup)
            try:
                running = await self._admit(launch, command, cgroup)
            except ProcessLookupError:
                error = await launch.failure(self._offload)
                launch.abandon()
                raise error from None
            except BaseException:
                launch.abandon()
                raise
        except BaseException:
            clearance = asyncio.create_task(self._clear(mark, cgroup))
            self._clearances.add(clearance)
            clearance.add_done_callback(self._clearances.discard)
            raise
        if self._cgroups:
            asyncio.get_running_loop().call_soon(self._cgroups.prepare)
        return running

    def _launch(self, command: Command, mark: str, cgroup: Cgroup | None) -> Launch:
        environment = job_environment(command.env, home=JOB_FOLDER, tmp="/tmp")  # noqa: S108 - the sandbox's own
        cwd = self.path_inside(command.folder, command.cwd)
        argv = command.argv
        problem = problem_with_command(
            argv[0],
            cwd=cwd,
            search_path=environment["PATH"],
            folder=command.folder,
            read_only=self._read_only,
            shown=command.shown,
        )
        if problem:
            code, message = problem
            argv = ["/bin/sh", "-c", SAY_AND_EXIT, str(code), argv[0], message]
        variables = [word for name, value in environment.items() for word in ("--setenv", name, value)]
        uid = self._identity.uid_for(command.folder)
        shown = shown_arguments(command.shown, command.folder, uid) if command.shown else ()
        arguments = [
            *self._system,
            *runtime_arguments(command.limits.memory_bytes, command.devices),
            *self._owners,
            *(
                "--bind",
                str(command.folder),
                JOB_FOLDER,
                *shown,
                *links_arguments(command.links),
                "--remount-ro",
                "/",
                "--chdir",
                cwd,
            ),
            *variables,
        ]
        launch = Launch(self._bwrap, arguments, argv, mark=mark, seccomp=self._filter, uid=uid, cgroup=cgroup)
        launch.problem = in_words(problem, command.argv[0])
        return launch

    async def _admit(self, launch: Launch, command: Command, cgroup: Cgroup | None) -> Process:
        """Put limits on what waits at the door, and let it in. Nothing of the job has run before."""
        limits = command.limits
        if cgroup:
            cgroup.set_limits(limits)
        init = await launch.first_process(self._offload)
        with contextlib.ExitStack() as resources:
            pidfd = os.pidfd_open(init)
            resources.callback(os.close, pidfd)
            if cgroup and not cgroup.born_inside:
                await self._offload(cgroup.add, init)
            soft = cgroup is None
            processes = limits.pids + 1 if soft and self._nproc_is_ours else None
            # Its own user may always lower its limits; root may not in a container that withholds CAP_SYS_RESOURCE.
            with worn_by_this_thread(launch.uid) if launch.uid is not None else contextlib.nullcontext():
                set_resource_limits(init, limits, processes=processes)
            offer_first_when_memory_ends(init)
            root = open_folder(command.folder)
            resources.callback(os.close, root)
            if soft:
                resources.callback(self._cores.give(init, limits.cpus))
            if command.egress:
                command.egress(await self._offload(listen_in, init, EGRESS_PORT))
            launch.release()
            resources.callback(launch.close)
            members = Inhabitants(launch.popen.pid, init, pidfd, cgroup)
            watchdog = Watchdog(
                root=root,
                limits=limits,
                pids=members.pids,
                soft=soft,
                # Before it is released, its root may still be the host's.
                extra_memory_bytes=lambda: _bytes_in_tmpfs(init) if launch.was_released() else 0,
                count_pids=not self._nproc_is_ours,
            )
            return RunningProcess(
                popen=launch.popen,
                output_fd=launch.output_fd,
                members=members,
                cgroup=cgroup,
                watchdog=watchdog,
                offload=self._offload,
                command_ran=launch.was_released,
                resources=resources.pop_all(),
                problem=launch.problem,
            )

    async def _clear(self, mark: str, cgroup: Cgroup | None) -> None:
        """After a start that came to nothing."""
        await self._guard.end(mark)
        if cgroup:
            await remove_when_empty(cgroup)

    async def sweep(self) -> list[str]:
        self._identity.take_over()
        return [*await cgroup_tree.sweep(self._instance, self._notes, self._cgroups), *await self._guard.sweep()]

    async def close(self) -> None:
        if self._clearances:
            await asyncio.wait(self._clearances)
        await self._guard.close()
        if self._cgroups:
            self._cgroups.close()
        self._identity.tidy()


def _bytes_in_tmpfs(init: int) -> int:
    """What the job keeps in /tmp and /dev/shm, which is memory too. The job cannot replace these mounts."""
    total = 0
    for place in ("tmp", "dev/shm"):
        with contextlib.suppress(OSError):
            info = os.statvfs(f"/proc/{init}/root/{place}")
            total += (info.f_blocks - info.f_bfree) * info.f_frsize
    return total


def _options_of(bwrap: str) -> str:
    return subprocess.run([bwrap, "--help"], capture_output=True, text=True, check=False, timeout=10).stdout


def _kernel_version() -> tuple[int, ...]:
    return tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2] if part.isdigit())
