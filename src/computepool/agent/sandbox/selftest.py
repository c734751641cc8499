"""A sandbox proves what it promises, by trying to break it. Each attempt has a control that must succeed,
so that a probe which could not have failed counts as a failure too."""

import asyncio
import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from computepool.protocol.states import IsolationLevel

from .interface import Command, Exit, Limits, Sandbox, SandboxError, SelfTest
from .running import readable

MEGABYTE = 1 << 20
PROBE_LIMITS = Limits(cpus=1.0, memory_bytes=64 * MEGABYTE, pids=24, disk_bytes=4 * MEGABYTE)
PROBE_SECONDS = 10.0
BURN_SECONDS = 0.25
BURN_CPUS = 0.1
OUTPUT_BYTES = 65_536

# Prints one line `name yes|no` per probe. $1: a secret file of the host; $2: a listening port of the host, in hex;
# $3: the host's kernel.
ISOLATION_PROBE = r"""
say() { if "$@" >/dev/null 2>&1; then echo "$what yes"; else echo "$what no"; fi; }
what=own-folder-writable;   say sh -c 'echo x > probe && cat probe'
what=tmp-writable;          say sh -c 'echo x > /tmp/probe'
what=usr-readable;          say test -x /usr/bin/env
what=host-file-readable;    say cat "$1"
what=root-writable;         say sh -c 'echo x > /probe'
what=usr-writable;          say sh -c 'echo x > /usr/probe'
what=etc-writable;          say sh -c 'echo x > /etc/probe'
what=dev-writable;          say sh -c 'echo x > /dev/probe'
what=host-homes-visible;    say sh -c 'ls -d /root || ls -d /home'
what=shadow-visible;        say test -e /etc/shadow
what=host-port-visible;     say grep -qi ":$2 " /proc/net/tcp
what=network-device;        say sh -c 'grep ":" /proc/net/dev | grep -vw "lo:"'
what=other-processes;       say sh -c 'test "$(ls -d /proc/[0-9]* | wc -l)" -gt 8'
what=is-root;               say sh -c 'test "$(id -u)" = 0'
what=has-capabilities;      say grep -Eq '^Cap(Prm|Eff|Bnd|Amb):.*[1-9a-f]' /proc/self/status
what=no-new-privileges;     say grep -Eq '^NoNewPrivs:.*1' /proc/self/status
what=seccomp;               say grep -Eq '^Seccomp:.*2' /proc/self/status
what=first-process-exposed; say sh -c 'test -e /proc/1/mem && ! grep -Eq "^Seccomp:.*2" /proc/1/status'
what=host-kernel;           say sh -c 'test "$(uname -r)" = "$0"' "$3"
what=new-namespace;         say unshare -U true
what=filter-refuses;        say sh -c 'unshare -U true 2>&1 | grep -q "not permitted"'
what=mount;                 say mount -t tmpfs none /tmp
i=0; while [ $i -lt 4 ]; do sleep 3 & i=$((i+1)); done; echo "few-processes yes"
while [ $i -lt 100 ]; do sleep 3 & i=$((i+1)); done; echo "many-processes yes"
"""
EXPECTED = {
    "own-folder-writable": True,
    "tmp-writable": True,
    "usr-readable": True,
    "no-new-privileges": True,
    "seccomp": True,
    "filter-refuses": True,
    "few-processes": True,
    "host-kernel": True,
}
# Behind gVisor's own kernel a job may do to it what it likes. That it is another kernel is what has to be proven.
EXPECTED_OF_GVISOR = {**EXPECTED, "host-kernel": False}
NOT_ASKED_OF_GVISOR = {"no-new-privileges", "seccomp", "filter-refuses", "new-namespace", "first-process-exposed"}
NAMES = [line.split("=")[1].split(";")[0] for line in ISOLATION_PROBE.splitlines() if line.startswith("what=")]

# Holds a quarter of the limit, and says so; then three times the limit, for long enough that a watchdog can see it.
MEMORY_PROBE = (
    "head -c 16777216 /dev/zero | tail -c 16777216 | wc -c; "
    "(head -c 201326592 /dev/zero && sleep 3) | tail -c 201326592 > /dev/null"
)
DISK_PROBE = "head -c 1048576 /dev/zero > small && echo small; exec head -c 8388608 /dev/zero > big"
# On every core at once: on a busy machine one of them may not get enough to go over the limit.
CPU_PROBE = "for i in 1 2 3 4; do (while :; do :; done) & done; wait"


@dataclass(frozen=True)
class Outcome:
    exit: Exit
    output: str
    seconds: float
    files: dict[str, int]


async def self_test(sandbox: Sandbox) -> SelfTest:
    """What this sandbox really holds, in well under a second. Problems say which promise broke."""
    started = time.monotonic()
    isolated = sandbox.level != IsolationLevel.PROCESS
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            found = await asyncio.gather(
                _isolation(sandbox) if isolated else _nothing(),
                _memory(sandbox),
                _disk(sandbox),
                _cpu(sandbox) if not sandbox.soft_limits else _nothing(),
            )
    except SandboxError as error:
        return SelfTest(False, (str(error),))
    except TimeoutError:
        return SelfTest(False, (f"a probe did not end within {PROBE_SECONDS:.0f} seconds",))
    problems = tuple(problem for problems in found for problem in problems)
    facts = {
        "isolation": "namespaces, seccomp, no capabilities, no network" if isolated else "none",
        "limits": "watchdog (soft)" if sandbox.soft_limits else "cgroups",
        "self_test_seconds": f"{time.monotonic() - started:.2f}",
    }
    return SelfTest(not problems, problems, facts)


async def _nothing() -> list[str]:
    return []


@contextlib.contextmanager
def _probe_folder(sandbox: Sandbox) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="self-test-", dir=sandbox.attempts_folder))
    try:
        (folder / "work").mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _run(sandbox: Sandbox, script: str, *arguments: str, limits: Limits, seconds: float | None = None) -> Outcome:
    with _probe_folder(sandbox) as folder:
        sandbox.adopt(folder)
        started = time.monotonic()
        process = await sandbox.start(
            Command(argv=["/bin/sh", "-c", script, "sh", *arguments], env={}, folder=folder, limits=limits)
        )
        try:
            if seconds is not None:
                await asyncio.sleep(seconds)
                await process.stop(0)
            output = await _read_all(process.output_fd)
            ended = await process.wait()
        finally:
            await process.stop(0)
            os.close(process.output_fd)
        elapsed = time.monotonic() - started
        files = {path.name: path.stat().st_uid for path in (folder / "work").iterdir()}
        return Outcome(ended, output, elapsed, files)


async def _read_all(fd: int) -> str:
    output = b""
    while len(output) < OUTPUT_BYTES:
        await readable(fd)
        piece = os.read(fd, OUTPUT_BYTES)
        if not piece:
            break
        output += piece
    return output.decode(errors="replace")


@contextlib.contextmanager
def _host_secret() -> Iterator[Path]:
    """A file that every user of the host may read."""
    with tempfile.NamedTemporaryFile("w", prefix="computepool-secret-") as file:
        path = Path(file.name)
        path.chmod(0o644)
        path.write_text("secret")
        yield path


def _host_sees(secret: Path, port: str) -> bool:
    return secret.read_text() == "secret" and f":{port} " in Path("/proc/net/tcp").read_text()


async def _isolation(sandbox: Sandbox) -> list[str]:
    with _host_secret() as secret:
        server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
        async with server:
            port = f"{server.sockets[0].getsockname()[1]:04X}"
            if not _host_sees(secret, port):
                return ["the host does not see its own file or port, so the probes for them prove nothing"]
            outcome = await _run(sandbox, ISOLATION_PROBE, str(secret), port, os.uname().release, limits=PROBE_LIMITS)
    said = dict(line.split() for line in outcome.output.splitlines() if line.endswith((" yes", " no")))
    is_gvisor = sandbox.level == IsolationLevel.GVISOR
    expected = EXPECTED_OF_GVISOR if is_gvisor else EXPECTED
    problems = []
    for name in [*NAMES, "few-processes"]:
        if is_gvisor and name in NOT_ASKED_OF_GVISOR:
            continue
        if name not in said:
            problems.append(f"the probe {name} gave no answer: {outcome.output[-300:]!r}")
        elif (said[name] == "yes") != expected.get(name, False):
            problems.append(f"{name}: {said[name]}")
    # gVisor's own threads count too, so its limit is far above the job's, and memory bounds it first.
    if "many-processes" in said and not is_gvisor:
        problems.append(f"pids: more than {PROBE_LIMITS.pids} processes could be started")
    if os.geteuid() == 0 and outcome.files.get("probe") == 0:
        problems.append("the job's files belong to root: it runs as root on the host")
    return problems


async def _memory(sandbox: Sandbox) -> list[str]:
    outcome = await _run(sandbox, MEMORY_PROBE, limits=PROBE_LIMITS)
    if "16777216" not in outcome.output:
        return [f"memory: a job within its limit could not run: {outcome.output[-300:]!r}"]
    if outcome.exit.reason != "memory":
        limit = PROBE_LIMITS.memory_bytes // MEGABYTE
        return [f"memory: a job of 200 MB was not stopped at {limit} MB (it {outcome.exit.reason})"]
    return []


async def _disk(sandbox: Sandbox) -> list[str]:
    outcome = await _run(sandbox, DISK_PROBE, limits=PROBE_LIMITS)
    if "small" not in outcome.output:
        return [f"disk: a job within its limit could not write: {outcome.output[-300:]!r}"]
    if outcome.exit.reason != "disk":
        return [f"disk: a file of 8 MB was not stopped at {PROBE_LIMITS.disk_bytes // MEGABYTE} MB"]
    return []


async def _cpu(sandbox: Sandbox) -> list[str]:
    limits = Limits(BURN_CPUS, PROBE_LIMITS.memory_bytes, PROBE_LIMITS.pids, PROBE_LIMITS.disk_bytes)
    outcome = await _run(sandbox, CPU_PROBE, limits=limits, seconds=BURN_SECONDS)
    used = outcome.exit.cpu_seconds / outcome.seconds
    if outcome.exit.cpu_seconds < 0.01:
        return ["cpu: a busy job used no time, so its limit was not tried"]
    # The sandbox's own start is counted, and a period begins more often than it fits into so short a time.
    if used > BURN_CPUS * 3:
        return [f"cpu: a job with {BURN_CPUS} cores used {used:.2f}"]
    return []
