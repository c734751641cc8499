"""A sandbox proves what it promises, by trying to break it. Each attempt has a control that must succeed,
so that a probe which could not have failed counts as a failure too."""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from computepool.agent.removal import remove_tree
from computepool.protocol.states import IsolationLevel

from .interface import (
    EGRESS_PORT,
    Command,
    Exit,
    HasEmptyImage,
    Limits,
    MayLoseEgress,
    Sandbox,
    SandboxError,
    SelfTest,
    ServeEgress,
)
from .running import readable

MEGABYTE = 1 << 20
PROBE_LIMITS = Limits(cpus=1.0, memory_bytes=64 * MEGABYTE, pids=24, disk_bytes=4 * MEGABYTE)
PROBE_SECONDS = 10.0
ENGINE_SECONDS = 40.0
"""An engine on a busy machine takes its time to start half a dozen containers at once."""
BURN_SECONDS = 0.25
BURN_CPUS = 0.1
OUTPUT_BYTES = 65_536

# Prints one line `name yes|no` per probe. $1: a secret file of the host; $2: a listening port of the host, in hex;
# $3: the host's kernel; $4: the port on which a way out would be, in hex.
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
what=way-out;               say grep -qi ":$4 " /proc/net/tcp
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
# What must be so at each level; everything else must not be. None: it is not asked, because the answer proves nothing.
_EVERYWHERE = dict.fromkeys(("own-folder-writable", "tmp-writable", "usr-readable", "few-processes"), True)
_ON_THE_HOSTS_KERNEL = dict.fromkeys(("no-new-privileges", "seccomp", "filter-refuses", "host-kernel"), True)
# Behind gVisor's own kernel a job may do to it what it likes. That it is another kernel is what has to be proven. Its
# own threads count as processes too, so that the limit is far above the job's, and memory bounds it first.
_OF_ITS_OWN_KERNEL = dict.fromkeys(
    ("no-new-privileges", "seccomp", "filter-refuses", "new-namespace", "first-process-exposed", "many-processes")
)
EXPECTED: dict[IsolationLevel, dict[str, bool | None]] = {
    IsolationLevel.BUBBLEWRAP: {**_EVERYWHERE, **_ON_THE_HOSTS_KERNEL},
    IsolationLevel.CONTAINER: {**_EVERYWHERE, **_ON_THE_HOSTS_KERNEL},
    IsolationLevel.GVISOR: {**_EVERYWHERE, **_OF_ITS_OWN_KERNEL},
}
NAMES = [line.split("=")[1].split(";")[0] for line in ISOLATION_PROBE.splitlines() if line.startswith("what=")]

# $1: the port of the way out, in hex; $2: in decimal; $3: what answers there. A shell that can connect is asked to.
EGRESS_PROBE = r"""
say() { if "$@" >/dev/null 2>&1; then echo "$what yes"; else echo "$what no"; fi; }
what=egress-listens;  say grep -q "0100007F:$1 00000000:0000 0A" /proc/net/tcp
what=other-listeners; say sh -c 'cat /proc/net/tcp /proc/net/tcp6 | grep " 0A " | grep -v ":$0 "' "$1"
what=network-device;  say sh -c 'grep ":" /proc/net/dev | grep -vw "lo:"'
what=egress-answers;  say bash -c 'exec 3<>/dev/tcp/127.0.0.1/$0; read -r line <&3; test "$line" = "$1"' "$2" "$3"
command -v bash >/dev/null || echo "egress-answers untold"
"""
EGRESS_EXPECTED = {"egress-listens": "yes", "other-listeners": "no", "network-device": "no", "egress-answers": "yes"}
ONLY_SHUT = ("egress-listens: no", "egress-answers: no")
"""With these, and no others, the door does not open, and nothing else does."""

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
    patience = ENGINE_SECONDS if sandbox.takes_images else PROBE_SECONDS
    try:
        async with asyncio.timeout(patience):
            # Some sandboxes have to try, the first time that they are asked.
            has_egress = isolated and await asyncio.to_thread(lambda: sandbox.has_egress)
            found = await asyncio.gather(
                _isolation(sandbox) if isolated else _nothing(),
                _memory(sandbox),
                _disk(sandbox),
                _cpu(sandbox) if not sandbox.soft_limits else _nothing(),
                _egress_if_it_opens(sandbox) if has_egress else _nothing(),
            )
    except SandboxError as error:
        return SelfTest(False, (str(error),))
    except TimeoutError:
        return SelfTest(False, (f"a probe did not end within {patience:.0f} seconds",))
    has_egress = has_egress and sandbox.has_egress
    problems = tuple(problem for problems in found for problem in problems)
    facts = {
        "isolation": "namespaces, seccomp, no capabilities, no network" if isolated else "none",
        "limits": "watchdog (soft)" if sandbox.soft_limits else "cgroups",
        "egress": f"a proxy on port {EGRESS_PORT}" if has_egress else "none" if isolated else "not bounded",
        "self_test_seconds": f"{time.monotonic() - started:.2f}",
    }
    return SelfTest(not problems, problems, facts)


async def find_fault(sandbox: Sandbox, failed: Command) -> str | None:
    """After a command that was not started: why the sandbox does not start one with nothing of the job's in it either.

    None if it does: then what the job brought (image, files, names, limits) is why the other failed. What the node
    gives a job, its devices and its way out, is the same for both.
    """
    patience = ENGINE_SECONDS if sandbox.takes_images else PROBE_SECONDS
    try:
        async with asyncio.timeout(patience):
            image = None
            if failed.image is not None and failed.gpus and isinstance(sandbox, HasEmptyImage):
                # GPUs come into an image in another way.
                image = await sandbox.empty_image()
            egress = None if failed.egress is None else socket.socket.close
            outcome = await _run(sandbox, ":", limits=PROBE_LIMITS, egress=egress, like=replace(failed, image=image))
    except TimeoutError:
        return f"a command of the agent's own did not end within {patience:.0f} seconds"
    except Exception as error:
        return str(error) or type(error).__name__
    is_fine = outcome.exit.reason not in {"start_failed", "engine_lost"} and (image or outcome.exit.code == 0)
    return None if is_fine else outcome.output.strip()[-300:] or f"a command of the agent's own {outcome.exit.reason}"


async def _nothing() -> list[str]:
    return []


@contextlib.contextmanager
def _probe_folder(sandbox: Sandbox) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="self-test-", dir=sandbox.attempts_folder))
    try:
        (folder / "work").mkdir()
        yield folder
    finally:
        remove_tree(folder)


async def _run(
    sandbox: Sandbox,
    script: str,
    *arguments: str,
    limits: Limits,
    seconds: float | None = None,
    egress: ServeEgress | None = None,
    like: Command | None = None,
) -> Outcome:
    """`like`: a command with the same devices, GPUs and image."""
    with _probe_folder(sandbox) as folder:
        sandbox.adopt(folder)
        started = time.monotonic()
        argv = ["/bin/sh", "-c", script, "sh", *arguments]
        command = Command(argv, env={}, folder=folder, limits=limits, egress=egress)
        if like is not None:
            command = replace(command, devices=like.devices, gpus=like.gpus, image=like.image)
        process = await sandbox.start(command)
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
            facts = [str(secret), port, os.uname().release, f"{EGRESS_PORT:04X}"]
            outcome = await _run(sandbox, ISOLATION_PROBE, *facts, limits=PROBE_LIMITS)
    said = _answers(outcome)
    expected = EXPECTED[sandbox.level]
    problems = []
    for name in [*NAMES, "few-processes"]:
        wanted = expected.get(name, False)
        if wanted is None:
            continue
        if name not in said:
            problems.append(f"the probe {name} gave no answer: {outcome.output[-300:]!r}")
        elif (said[name] == "yes") != wanted:
            problems.append(f"{name}: {said[name]}")
    if "many-processes" in said and expected.get("many-processes", False) is not None:
        problems.append(f"pids: more than {PROBE_LIMITS.pids} processes could be started")
    if os.geteuid() == 0 and outcome.files.get("probe") == 0:
        problems.append("the job's files belong to root: it runs as root on the host")
    return problems


def _answers(outcome: Outcome) -> dict[str, str]:
    return dict(line.split() for line in outcome.output.splitlines() if line.endswith((" yes", " no", " untold")))


async def _egress_if_it_opens(sandbox: Sandbox) -> list[str]:
    """A door that only stays shut takes the way out from a sandbox that may do without, not its level."""
    if not isinstance(sandbox, MayLoseEgress):
        return await _egress(sandbox)
    try:
        problems = await _egress(sandbox)
    except SandboxError as error:
        sandbox.give_up_egress(str(error))
        return []
    if problems and all(one.endswith(ONLY_SHUT) for one in problems):
        sandbox.give_up_egress("; ".join(problems))
        return []
    return problems


async def _egress(sandbox: Sandbox) -> list[str]:
    """With a way out: whoever the agent put there answers, and there is nothing else."""
    word = secrets.token_hex(8)
    answering: list[asyncio.Task[None]] = []

    async def answer(listener: socket.socket) -> None:
        with listener:
            connection, _ = await asyncio.get_running_loop().sock_accept(listener)
            with connection:
                await asyncio.get_running_loop().sock_sendall(connection, f"{word}\n".encode())

    def serve(listener: socket.socket) -> None:
        listener.setblocking(False)
        answering.append(asyncio.get_running_loop().create_task(answer(listener)))

    try:
        facts = [f"{EGRESS_PORT:04X}", str(EGRESS_PORT), word]
        outcome = await _run(sandbox, EGRESS_PROBE, *facts, limits=PROBE_LIMITS, egress=serve)
    finally:
        for task in answering:
            task.cancel()
        await asyncio.gather(*answering, return_exceptions=True)
    said = _answers(outcome)
    if not said:
        raise SandboxError(f"a command with a way out did not run: {outcome.output.strip()[-300:]}")
    return [
        f"with egress, {name}: {said.get(name, 'no answer')}"
        for name, wanted in EGRESS_EXPECTED.items()
        if said.get(name) not in {wanted, "untold"}
    ]


async def _memory(sandbox: Sandbox) -> list[str]:
    outcome = await _run(sandbox, MEMORY_PROBE, limits=PROBE_LIMITS)
    if "16777216" not in outcome.output:
        return [f"memory: a job within its limit could not run: {outcome.output[-300:]!r}"]
    # An engine may remove the control group before anything can be read of it: then only the kernel's kill is known.
    killed = outcome.exit.reason == "exited" and outcome.exit.code == 128 + signal.SIGKILL
    if outcome.exit.reason != "memory" and not killed:
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
    if outcome.exit.cpu_seconds < 0.01:
        # On a busy machine it may not have got so far.
        outcome = await _run(sandbox, CPU_PROBE, limits=limits, seconds=8 * BURN_SECONDS)
    used = outcome.exit.cpu_seconds / outcome.seconds
    if outcome.exit.cpu_seconds < 0.01:
        return ["cpu: a busy job used no time, so its limit was not tried"]
    # The sandbox's own start is counted, and a period begins more often than it fits into so short a time.
    if used > BURN_CPUS * 3:
        return [f"cpu: a job with {BURN_CPUS} cores used {used:.2f}"]
    return []
