"""Programs under measurement: started, waited for, weighed, and ended by their own process id, whatever happens."""

import contextlib
import ctypes
import multiprocessing
import os
import resource
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path

import psutil

from benchmarks.measure import ROOT

START_SECONDS = 300.0
STOP_SECONDS = 30.0
LOG_TAIL_BYTES = 2_000
MOST_FILES = 65_536
PR_SET_PDEATHSIG = 1
# Whatever becomes of the benchmark, nothing that it started goes on: the kernel sees to it. The setting outlives exec,
# but no change of the user.
_ENDS_WITH_PARENT = f"""
import ctypes, os, signal, sys
os.setuid(int(sys.argv[1]))
if sys.platform == "linux":
    ctypes.CDLL(None).prctl({PR_SET_PDEATHSIG}, signal.SIGTERM)
os.execvp(sys.argv[2], sys.argv[2:])
"""


def prepare_process() -> None:
    """For a process that measures, before it starts anything."""
    # The settings of the person who measures are not those of what is measured.
    for name in [name for name in os.environ if name.startswith("COMPUTEPOOL_") or name == "DATABASE_URL"]:
        del os.environ[name]
    # A thousand agents are a thousand sockets, here and in what is started from here.
    most = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], MOST_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # Ending this process ends everything that it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))


class Failed(Exception):
    """A program ended, or never answered. The text has the end of its log."""


class Child:
    """One program. It ends with the benchmark; its standard input is a pipe, for programs that watch it."""

    def __init__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        log: Path,
        environment: Mapping[str, str] | None = None,
        user: int | None = None,
    ) -> None:
        self._log = log
        variables = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | _ForkedProgram
        if _forks is not None and argv[0] == sys.executable:
            self._process = _ForkedProgram(_forks, argv, log, variables)
            return
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-S",
                    "-E",
                    "-c",
                    _ENDS_WITH_PARENT,
                    str(os.getuid() if user is None else user),
                    *argv,
                ],
                cwd=ROOT,
                env=variables,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C is for the benchmark, which then ends its children one by one.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def check(self) -> None:
        code = self._process.poll()
        if code is not None:
            raise Failed(f"{self._process.args!r} ended with {code}:\n{self.log_tail()}")

    def log_tail(self) -> str:
        return self._log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")

    def wait(self) -> int:
        return self._process.wait(START_SECONDS)

    def stop(self, signal_number: int = signal.SIGTERM) -> None:
        """Ask, wait, and insist. Nothing happens when it is over already."""
        if self._process.poll() is None:
            self._process.send_signal(signal_number)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def kill(self) -> None:
        self.stop(signal.SIGKILL)


# ── forked programs ──────────────────────────────────────────────────────────────────────────────────────────────────

PRELOADED = ("computepool.agent.main", "computepool.cli.up", "computepool.hub.commands", "benchmarks.pool")
_forks: ForkServerContext | None = None


def fork_programs() -> None:
    """Fork Python programs from a server that has imported their modules, from now on.

    A hub then starts in a tenth of the processor time. It is for smoke tests: a forked program is no fresh one.
    """
    global _forks  # noqa: PLW0603
    _forks = multiprocessing.get_context("forkserver")
    _forks.set_forkserver_preload(list(PRELOADED))


class _ForkedProgram:
    """`python [-P] -m MODULE ARGUMENTS`, with the part of Popen's interface that Child uses."""

    def __init__(
        self, forks: ForkServerContext, argv: Sequence[str | os.PathLike[str]], log: Path, variables: dict[str, str]
    ) -> None:
        self.args = [os.fspath(word) for word in argv]
        log.touch()
        module, *arguments = self.args[self.args.index("-m") + 1 :]
        reader, self.stdin = forks.Pipe(duplex=False)
        target = (module, arguments, reader, str(log), variables)
        self._process = forks.Process(target=_become, args=target, daemon=True)
        self._process.start()
        reader.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()


def _become(module: str, arguments: list[str], stdin: Connection, log: str, variables: dict[str, str]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    os.setsid()
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(ROOT)
    os.dup2(stdin.fileno(), 0)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(output, stream)
    sys.argv = [module, *arguments]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the module has been imported already, which does no harm here
        runpy.run_module(module, run_name="__main__", alter_sys=True)


# ── waiting and weighing ─────────────────────────────────────────────────────────────────────────────────────────────


def python(*words: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    return [sys.executable, *words]


def wait_until(
    question: Callable[[], bool], what: str, *children: Child, seconds: float = START_SECONDS, every: float = 0.01
) -> float:
    """How long it took."""
    began = time.monotonic()
    while not question():
        for child in children:
            child.check()
        if time.monotonic() - began > seconds:
            logs = "\n".join(child.log_tail() for child in children)
            raise Failed(f"waited {seconds:.0f} s for {what}\n{logs}")
        time.sleep(every)
    return time.monotonic() - began


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def weigh(pid: int) -> dict[str, int]:
    """RSS counts shared pages whole; PSS counts this process's share of them."""
    memory = psutil.Process(pid).memory_full_info()
    return {"rss_bytes": memory.rss, "pss_bytes": getattr(memory, "pss", memory.uss)}


def cpu_seconds(pid: int) -> tuple[float, float]:
    """Of the process itself, and of its children that have ended."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system, times.children_user + times.children_system


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder on a real disk: in memory, durability would cost nothing and prove nothing."""
    places = [Path(tempfile.gettempdir()), Path("/var/tmp")]
    place = next((one for one in places if one.is_dir() and _is_on_disk(one)), places[0])
    folder = Path(tempfile.mkdtemp(prefix="computepool-bench-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_on_disk(folder: Path) -> bool:
    mounts = [one for one in psutil.disk_partitions(all=True) if folder.is_relative_to(one.mountpoint)]
    return not mounts or max(mounts, key=lambda one: len(one.mountpoint)).fstype not in ("tmpfs", "ramfs")
