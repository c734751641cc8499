"""Processes of a test: each with its log, each gone for sure when the test is over, however the test ends."""

import ctypes
import functools
import multiprocessing
import multiprocessing.context
import multiprocessing.forkserver
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.waiting import eventually, patience

COMPUTEPOOL = [sys.executable, "-P", "-m", "computepool"]
TESTS = Path(__file__).parents[1]
PR_SET_PDEATHSIG = 1
# What hubs, agents and most commands load. `support.preloaded` has to be the last.
PRELOADED = [
    "computepool.agent.main",
    "computepool.cli.attach",
    "computepool.cli.pool",
    "computepool.cli.up",
    "computepool.client.pool",
    "computepool.hub.commands",
    "obstore.store",
    "psycopg",
    "pydantic.v1",
    "rich.table",
    "sqlite3",
    "support.children",
    "uvicorn.lifespan.on",
    "uvloop",
    "support.preloaded",
]
# A test that is killed cannot clean up: the kernel ends its children with it. The setting outlives exec.
_DIES_WITH_PARENT = f"""
import ctypes, os, signal, sys
# A shell that runs the tests in the background makes them, and so their children, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.SIG_DFL)
if sys.platform == "linux":
    ctypes.CDLL(None).prctl({PR_SET_PDEATHSIG}, signal.SIGKILL)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Child:
    """A command of its own, with its output in a file."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        cwd: Path,
        output: Path | None = None,
    ) -> None:
        """`output` keeps stdout apart from the log."""
        self.name = name
        self.log = log
        wrapped = [sys.executable, "-S", "-E", "-c", _DIES_WITH_PARENT, *command]
        with log.open("ab") as errors, (output or log).open("ab") as written:
            self._process = subprocess.Popen(
                wrapped,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=errors,
                env=dict(environment),
                cwd=cwd,
                # Ctrl-C is for the tests.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def shown(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait(self) -> int:
        """Its exit code."""
        try:
            return self._process.wait(patience())
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end. {self.said()}") from None

    def signal(self, number: signal.Signals) -> None:
        if self.is_running():
            os.kill(self.pid, number)

    def kill(self) -> None:
        """kill -9."""
        self.signal(signal.SIGKILL)
        self.wait()

    def stop(self) -> int:
        """As Ctrl-C does; by force when that does not help."""
        self.signal(signal.SIGINT)
        try:
            return self.wait()
        except AssertionError:
            self.kill()
            raise

    def wait_for(self, pattern: str, after: int = 0) -> str:
        """Until the log has it, behind its first `after` characters; the first group, or all of it."""

        def look() -> re.Match[str] | None:
            found = re.search(pattern, self.shown[after:])
            assert found or self.is_running(), f"{self.name} ended before it said {pattern!r}. {self.said()}"
            return found

        found = eventually(look, f"{self.name} says {pattern!r}; it said:\n{self.shown[-3000:]}")
        return found[1] if found.groups() else found[0]

    def said(self) -> str:
        return f"It said:\n{self.shown[-4000:] or '(nothing)'}"


class ForkedChild(Child):
    """The same command line in a process whose imports were done before: a hub starts in tenths of a second.

    Everything else is as in a fresh process; only it is a child of multiprocessing's fork server, not ours, and bears
    that one's command line and environment in /proc.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        cwd: Path,
        output: Path | None = None,
        open_files: tuple[int, int] | None = None,
    ) -> None:
        """`output` keeps stdout apart from the log; `open_files` are its soft and hard limit."""
        self.name = name
        self.log = log
        about = (str(output or log), str(log), str(cwd), open_files)
        self._forked = forks().Process(target=_become, args=(list(arguments), dict(environment), *about), name=name)
        self._forked.start()

    @property
    def pid(self) -> int:
        assert self._forked.pid is not None
        return self._forked.pid

    def is_running(self) -> bool:
        return self._forked.is_alive()

    def wait(self) -> int:
        self._forked.join(patience())
        code = self._forked.exitcode
        assert code is not None, f"{self.name} did not end. {self.said()}"
        return code


@dataclass(frozen=True)
class Finished:
    """How a command line ended."""

    code: int
    out: bytes
    err: str


def finished(arguments: Sequence[str], *, environment: Mapping[str, str], cwd: Path) -> Finished:
    """Run the command line to its end, in a forked process."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        child = ForkedChild(arguments[0], arguments, log=err, environment=environment, cwd=cwd, output=out)
        try:
            code = child.wait()
        finally:
            child.kill()
        return Finished(code, out.read_bytes(), err.read_text(errors="replace"))


@functools.cache
def forks() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    # Python 3.11 does not give its fork server our path, and `support` is found by it.
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(TESTS), before]))
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    return context


def _become(
    arguments: list[str],
    environment: dict[str, str],
    output: str,
    log: str,
    cwd: str,
    open_files: tuple[int, int] | None,
) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    for place, stream in ((output, 1), (log, 2)):
        os.dup2(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), stream)
    if open_files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, open_files)
    from computepool.cli.app import run

    sys.exit(run(arguments))


def processes_with(needles: Sequence[str]) -> dict[int, str]:
    """Processes that have one of these in their command line or environment: those that a test left behind."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        pid = int(place.name)
        try:
            command = (place / "cmdline").read_bytes()
            text = (command + b"\0" + (place / "environ").read_bytes()).decode(errors="replace")
        except OSError:
            continue
        # A zombie has neither, and is nobody's trouble.
        if pid != os.getpid() and command and any(needle in text for needle in needles):
            found[pid] = command.decode(errors="replace").replace("\0", " ").strip()
    return found


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def environment_with(**changes: Any) -> dict[str, str]:
    """Ours with changes; None takes a variable away."""
    # pytest-xdist sets the width of its own terminal.
    merged = {**os.environ, "COLUMNS": None, **changes}
    return {name: str(value) for name, value in merged.items() if value is not None}
