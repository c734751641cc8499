"""Jobs that take more than they were given. Each must be held at its limit, and does what it wants without one."""

# ruff: noqa: E501 - a probe is easier to read in one line

import asyncio
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from support.sandboxes import read_all
from support.waiting import patience

from computepool.agent.sandbox import Command, Exit, Limits, Sandbox

from .catalogue import ITS_OWN_KERNEL
from .run import PYTHON

MEGABYTE = 1 << 20
LIMITS = Limits(cpus=1.0, memory_bytes=96 * MEGABYTE, pids=40, disk_bytes=4 * MEGABYTE)
# Else files in memory would be stopped by the limit of their size.
MUCH_DISK = replace(LIMITS, disk_bytes=1 << 32)
REST_SECONDS = 60.0
"""A watchdog looks every ten seconds, at the worst."""
AT_ONCE = 3


@dataclass(frozen=True)
class Outcome:
    exit: Exit
    output: str
    seconds: float

    @property
    def number(self) -> int:
        words = self.output.split()
        return int(words[-1]) if words and words[-1].isdigit() else -1


@dataclass(frozen=True)
class Abuse:
    name: str
    script: str
    held: Callable[[Outcome], bool]
    limits: Limits = LIMITS
    means_nothing_in: dict[str, str] = field(default_factory=dict)


def few(most: int) -> Callable[[Outcome], bool]:
    """So many things were made, and no more; none at all would mean that the probe did not run."""
    return lambda outcome: 0 < outcome.number <= most


def ended_for(reason: str) -> Callable[[Outcome], bool]:
    return lambda outcome: outcome.exit.reason == reason


def ended_for_memory(outcome: Outcome) -> bool:
    """Podman does not tell why, and removes the control group that does: on a busy machine only the kill is seen."""
    return outcome.exit.reason == "memory" or (not_done(outcome) and outcome.exit.code == 128 + signal.SIGKILL)


def not_done(outcome: Outcome) -> bool:
    """Stopped, or told that there is no room."""
    return "begun" in outcome.output and "done" not in outcome.output


COUNT = """
import os, threading, time
made = []
def one():
    {one}
try:
    while len(made) < 150:
        made.append(one())
except (OSError, RuntimeError):
    pass
print(len(made), flush=True)
os._exit(0)
"""
FORK = "child = os.fork()\n    if not child: time.sleep(2); os._exit(0)\n    return child"
ZOMBIE = "child = os.fork()\n    if not child: os._exit(0)\n    return child"
THREAD = "thread = threading.Thread(target=time.sleep, args=(20,), daemon=True)\n    thread.start()\n    return thread"

# Stays long enough for a watchdog to see it; a control need not wait.
FILL = """
import os, time
rest = float(os.environ['REST'])
print('begun', flush=True)
piece = bytes(1 << 20)
{fill}
time.sleep(rest)
print('done')
"""
FILES = "for n in range(24): open(f'f{n}', 'wb').write(piece)"
DELETED = "held = []\nfor n in range(24):\n    held.append(open('f', 'wb')); os.unlink('f'); held[-1].write(piece); held[-1].flush()"
MAPPED = """
import mmap
held = []
for n in range(24):
    with open('m', 'w+b') as file:
        file.write(piece); file.flush(); held.append(mmap.mmap(file.fileno(), 1 << 20)); os.unlink('m')
"""
CLOSED = "os.mkdir('c')\nfor n in range(24): open(f'c/f{n}', 'wb').write(piece)\nos.chmod('c', 0)"
DEEP = "for n in range(300): os.mkdir('d'); os.chdir('d')"
IN_MEMORY = """
import tempfile
with tempfile.TemporaryFile(dir='{folder}') as kept:
    for n in range(300): kept.write(piece)
    kept.flush()
    time.sleep(rest)
"""
SHARED = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
kept = []
try:
    for n in range(30):
        kept.append(libc.shmget(0, 10 << 20, 0o1600))
        place = libc.shmat(kept[-1], 0, 0)
        if kept[-1] < 0: raise OSError(ctypes.get_errno(), 'shmget')
        ctypes.memset(place, 1, 10 << 20)
        libc.shmdt(ctypes.c_void_p(place))
    time.sleep(rest)
finally:
    for one in kept: libc.shmctl(one, 0, None)
"""

BURN = """
import os, time
end = time.monotonic() + 1.5
children = []
for _ in range(3):
    child = os.fork()
    if not child:
        children = []
        break
    children.append(child)
while time.monotonic() < end: pass
for child in children: os.waitpid(child, 0)
"""

WHOLE_CORES = dict.fromkeys(
    ("bubblewrap-soft", "bubblewrap-ordinary-user"), "without control groups a job gets whole cores"
)
A_QUOTA = dict.fromkeys(("bubblewrap", "docker", "gvisor", "podman"), "a quota of time holds it, on any core")
GVISOR_COUNTS_ITSELF = {"gvisor": "its own threads are counted too; memory bounds a job there"}
GVISOR_HAS_NO_SIZE = {"gvisor": ITS_OWN_KERNEL}

ABUSES = [
    Abuse("fork without end", COUNT.format(one=FORK), few(LIMITS.pids + 2), means_nothing_in=GVISOR_COUNTS_ITSELF),
    Abuse("start threads without end", COUNT.format(one=THREAD), few(LIMITS.pids + 2), means_nothing_in=GVISOR_COUNTS_ITSELF),
    Abuse("leave the dead unburied", COUNT.format(one=ZOMBIE), few(LIMITS.pids + 2), means_nothing_in=GVISOR_COUNTS_ITSELF),
    Abuse("take memory", FILL.format(fill="kept = bytearray(b'x') * (400 << 20)"), ended_for_memory),
    Abuse("take memory with many processes", FILL.format(fill="for n in range(8):\n    if not os.fork(): kept = bytearray(b'x') * (50 << 20); time.sleep(rest); os._exit(0)\nfor n in range(8): assert os.wait()[1] == 0"), not_done),
    Abuse("take memory in /tmp", FILL.format(fill=IN_MEMORY.format(folder="/tmp")), not_done, MUCH_DISK),
    Abuse("take memory in /dev/shm", FILL.format(fill=IN_MEMORY.format(folder="/dev/shm")), not_done, MUCH_DISK),
    Abuse("take memory in a file without a name", FILL.format(fill="fd = os.memfd_create('x')\nfor n in range(300): os.write(fd, piece)"), not_done, MUCH_DISK),
    Abuse("take memory that no process has", FILL.format(fill=SHARED), not_done),
    Abuse("write a big file", FILL.format(fill="with open('f', 'wb') as f:\n    for n in range(24): f.write(piece); f.flush()"), not_done),
    Abuse("claim a huge file", FILL.format(fill="os.truncate(os.open('f', os.O_RDWR | os.O_CREAT), 1 << 40); rest = 0"), not_done, means_nothing_in=GVISOR_HAS_NO_SIZE),
    Abuse("write many files", FILL.format(fill=FILES), ended_for("disk")),
    Abuse("write files and delete them, still open", FILL.format(fill=DELETED), ended_for("disk")),
    Abuse("write files and delete them, still mapped", FILL.format(fill=MAPPED), ended_for("disk")),
    Abuse("write files where nobody may look", FILL.format(fill=CLOSED), ended_for("disk")),
    Abuse("make files without end", FILL.format(fill="for n in range(4000): open(f'e{n}', 'w').close()"), ended_for("disk")),
    Abuse("dig deeper than anybody looks", FILL.format(fill=DEEP), ended_for("disk")),
    Abuse("burn more cores than it has", BURN, lambda outcome: 0 < outcome.exit.cpu_seconds < outcome.seconds * 0.5, replace(LIMITS, cpus=0.2), means_nothing_in=WHOLE_CORES),
    Abuse("run on more cores than it has", "import os; print(len(os.sched_getaffinity(0)))", few(1), means_nothing_in=A_QUOTA),
]  # fmt: skip
BY_NAME = {abuse.name: abuse for abuse in ABUSES}


async def run_abuse(sandbox: Sandbox, abuse: Abuse, *, rest_seconds: float = REST_SECONDS) -> Outcome:
    folder = Path(tempfile.mkdtemp(prefix="abuse-", dir=sandbox.attempts_folder))
    try:
        (folder / "work").mkdir()
        (folder / "work" / "abuse.py").write_text(abuse.script)
        await asyncio.to_thread(sandbox.adopt, folder)
        started = time.monotonic()
        command = Command(
            [PYTHON, "-I", "abuse.py"], env={"REST": str(rest_seconds)}, folder=folder, limits=abuse.limits
        )
        process = await sandbox.start(command)
        async with asyncio.timeout(patience()):
            try:
                output = await read_all(process)
                ended = await process.wait()
            finally:
                await process.stop(0)
        return Outcome(ended, output.decode(errors="replace"), time.monotonic() - started)
    finally:
        _remove(folder)


async def run_abuses(sandbox: Sandbox) -> dict[str, Outcome]:
    """Some at a time: most of them wait for somebody to notice."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def run(abuse: Abuse) -> Outcome:
        async with turn:
            return await run_abuse(sandbox, abuse)

    outcomes = await asyncio.gather(*map(run, ABUSES))
    return {abuse.name: outcome for abuse, outcome in zip(ABUSES, outcomes, strict=True)}


def run_outside(abuse: Abuse, folder: Path) -> Outcome:
    """As a control: a plain process, which nobody holds."""
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [PYTHON, "-I", "-c", abuse.script],
        cwd=folder,
        env={"REST": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    ended = Exit(done.returncode, None, "exited", cpu_seconds, 0)
    return Outcome(ended, done.stdout + done.stderr, time.monotonic() - started)


def _remove(folder: Path) -> None:
    for place, folders, _ in os.walk(folder):
        for name in folders:
            if not Path(place, name).is_symlink():
                Path(place, name).chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
