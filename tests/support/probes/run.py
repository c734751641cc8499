"""Runs the catalogue: in a sandbox, and as a control outside of any."""

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import shutil
import socket
import subprocess
import tempfile
import termios
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from support.egress import WEB, Names, SmallInternet
from support.sandboxes import read_all
from support.waiting import patience

from computepool.agent.clock import SystemClock
from computepool.agent.egress import Egress, EgressPolicy, Mode, Resolver
from computepool.agent.egress.addresses import Address, Network
from computepool.agent.sandbox import Command, Limits, Sandbox
from computepool.agent.sandbox.interface import EGRESS_PORT

from . import driver
from .catalogue import GROUPS, PROBES, Probe
from .host import RENTERS_ENVIRONMENT, Facts

PYTHON = "/usr/bin/python3"
ROOMY = Limits(cpus=2.0, memory_bytes=512 << 20, pids=200, disk_bytes=256 << 20)

Answers = dict[str, tuple[bool, str]]
"""By probe: whether it reached what it wanted, and what it saw or what it was told."""

NAMES = {
    "inside.example": [["127.0.0.1"]],
    "mapped.example": [["::ffff:127.0.0.1"]],
    "x.localhost": [["127.0.0.1"]],
    "public-then-inside.example": [[WEB, "127.0.0.1"]],
    "changing.example": [[WEB], ["127.0.0.1"], [WEB], ["127.0.0.1"]],
    "redirecting.example": [[WEB]],
    "site.example": [[WEB]],
}


@dataclass(frozen=True)
class OpenDoor(EgressPolicy):
    """The control of the proxy's probes: no rules at all."""

    def check_name(self, host: str, port: int) -> Address | None:
        del port
        with contextlib.suppress(ValueError):
            return ip_address(host)
        return None

    def check_addresses(self, host: str, port: int, addresses: Iterable[Address], around: frozenset[Network]) -> None:
        pass


def probes_of(*groups: str) -> list[Probe]:
    return [probe for group in groups for probe in GROUPS[group]]


async def run_inside(sandbox: Sandbox, facts: Facts) -> Answers:
    """Everything but the proxy's probes, without egress."""
    own = {"scratch": "/job/work", "proxy_port": EGRESS_PORT}
    return await _in_sandbox(sandbox, facts | own, probes_of(*(GROUPS.keys() - {"proxy"})))


async def run_through_proxy(sandbox: Sandbox, facts: Facts, *, open_door: bool = False) -> Answers:
    async with _proxy(facts, open_door=open_door) as (egress, ports):
        own = facts | ports | {"scratch": "/job/work", "proxy_port": EGRESS_PORT}
        return await _in_sandbox(sandbox, own, probes_of("proxy"), egress=egress.serve)


async def _in_sandbox(sandbox: Sandbox, facts: Facts, probes: list[Probe], **more: Any) -> Answers:
    folder = Path(tempfile.mkdtemp(prefix="probes-", dir=sandbox.attempts_folder))
    try:
        (folder / "work").mkdir()
        shutil.copy(driver.__file__, folder / "work" / "driver.py")
        (folder / "work" / "facts.json").write_text(_packed(facts, probes))
        await asyncio.to_thread(sandbox.adopt, folder)
        argv = [PYTHON, "-I", "driver.py", "facts.json"]
        command = Command(argv, env=RENTERS_ENVIRONMENT, folder=folder, limits=ROOMY, **more)
        process = await sandbox.start(command)
        async with asyncio.timeout(patience()):
            try:
                output = await read_all(process)
                await process.wait()
            finally:
                await process.stop(0)
        return _unpacked(output)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def run_outside(facts: Facts, scratch: Path, *, user: int | None = None) -> Answers:
    """As a control: a plain process with a terminal, that inherits what there is to inherit."""
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        own = facts | {"proxy_port": proxy.getsockname()[1]}
        probes = probes_of(*(GROUPS.keys() - {"proxy"}))
        return await asyncio.to_thread(_outside, own, probes, scratch, user)


async def run_through_open_door(facts: Facts, scratch: Path) -> Answers:
    """As a control of the proxy's probes."""
    async with _proxy(facts, open_door=True) as (egress, ports):
        listener = socket.create_server(("127.0.0.1", 0))
        own = facts | ports | {"proxy_port": listener.getsockname()[1]}
        egress.serve(listener)
        return await asyncio.to_thread(_outside, own, probes_of("proxy"), scratch, None)


def _outside(facts: Facts, probes: list[Probe], scratch: Path, user: int | None) -> Answers:
    folder = Path(tempfile.mkdtemp(prefix="control-", dir=scratch))
    folder.chmod(0o777)
    (folder / "facts.json").write_text(_packed(facts | {"scratch": str(folder)}, probes))
    shutil.copy(driver.__file__, folder / "driver.py")
    more: dict[str, Any] = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
    try:
        with terminal_of_its_own() as options:
            done = subprocess.run(
                [PYTHON, "-I", str(folder / "driver.py"), str(folder / "facts.json")],
                capture_output=True,
                env={**RENTERS_ENVIRONMENT, "AGENT_SECRET": facts["secret"], "LD_AUDIT": "nothing.so"},
                cwd=folder,
                close_fds=False,
                timeout=patience(),
                check=False,
                **options,
                **more,
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return _unpacked(done.stdout)


@contextlib.contextmanager
def terminal_of_its_own() -> Iterator[dict[str, Any]]:
    """How to start a process that has a controlling terminal, as an agent has that somebody started by hand."""
    master, terminal = pty.openpty()
    try:
        yield {
            "stdin": terminal,
            "start_new_session": True,
            "preexec_fn": lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0),
        }
    finally:
        for descriptor in (master, terminal):
            os.close(descriptor)


@contextlib.asynccontextmanager
async def _proxy(facts: Facts, *, open_door: bool) -> AsyncIterator[tuple[Egress, Facts]]:
    """A job's proxy with the real rules, but for a small internet; and a site there that sends clients elsewhere."""

    async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
        place = f"http://127.0.0.1:{facts['port']}/"
        writer.write(f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode())
        writer.close()

    known, resolver = Names(NAMES), Resolver()

    async def lookup(host: str, port: int) -> list[Address]:
        return await known.lookup(host, port) or await resolver.lookup(host, port)

    site = await asyncio.start_server(redirect, WEB, 0)
    closed = await asyncio.start_server(redirect, WEB, 0)
    site_port, closed_port = (server.sockets[0].getsockname()[1] for server in (site, closed))
    ports = frozenset({facts["port"], facts["port6"], site_port})
    policy: Callable[..., EgressPolicy] = OpenDoor if open_door else SmallInternet
    egress = Egress(policy(Mode.INTERNET, more_ports=ports), lookup=lookup, clock=SystemClock())
    try:
        yield egress, {"site_port": site_port, "closed_port": closed_port}
    finally:
        await egress.close()
        resolver.close()
        for server in (site, closed):
            server.close()


def _packed(facts: Facts, probes: list[Probe]) -> str:
    return json.dumps([facts, {probe.name: probe.body for probe in probes}])


def _unpacked(output: bytes) -> Answers:
    try:
        # A loader that was given nonsense complains before.
        found = json.loads(output[output.index(b"{") :])
    except ValueError:
        raise AssertionError(f"the probes said nothing sensible: {output[-500:]!r}") from None
    assert found.keys() <= PROBES.keys()
    return {name: (reached, detail) for name, (reached, detail) in found.items()}
