"""Which container engines answer on this machine, Docker first. Whether they hold is the self-test's to say."""

import asyncio
import contextlib
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from computepool.agent.sandbox.seccomp import ARCHITECTURES

from .engine import Engine, EngineError, EngineFacts

FIND_SECONDS = 5.0
"""A daemon that takes longer than this for its name is of no use to a job."""
SYSTEMS_DOCKER = Path("/run/docker.sock")


@dataclass(frozen=True)
class FoundEngine:
    engine: Engine
    facts: EngineFacts
    stamp: tuple[int, ...] = ()
    """Of its socket: an engine that was started anew has mostly made another."""


def socket_places(environ: Mapping[str, str]) -> list[Path]:
    """Where engines are asked for, in this order. An engine on another machine is none of ours."""
    runtime = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    places = []
    for variable in ("DOCKER_HOST", "CONTAINER_HOST"):
        scheme, _, path = environ.get(variable, "").partition("://")
        if scheme == "unix" and path:
            places.append(Path(path))
    places += [
        Path("/var/run/docker.sock"),
        Path(runtime, "docker.sock"),
        Path("/run/podman/podman.sock"),
        Path(runtime, "podman/podman.sock"),
    ]
    return places


async def find_engines(
    environ: Mapping[str, str] = os.environ, *, sockets: Sequence[Path] | None = None
) -> list[FoundEngine]:
    """Those that answer. `sockets` instead of the usual places."""
    if how_unsupported():
        return []
    usual = socket_places(environ) if sockets is None else sockets
    places = dict.fromkeys(path.resolve() for path in usual if path.is_socket())
    found = await asyncio.gather(*(_meet(path) for path in places))
    return _in_order([one for one in found if one is not None])


async def _meet(path: Path) -> FoundEngine | None:
    first = Engine(path, answer_seconds=FIND_SECONDS)
    try:
        stamp = _stamp(path)
        facts = await first.facts()
    except (EngineError, OSError, KeyError, TypeError, ValueError):
        return None
    return FoundEngine(Engine(path), facts, stamp)


def _stamp(path: Path) -> tuple[int, ...]:
    made = path.stat()
    return made.st_dev, made.st_ino, made.st_ctime_ns


async def look_again(
    known: Sequence[FoundEngine], environ: Mapping[str, str] = os.environ, *, sockets: Sequence[Path] | None = None
) -> list[FoundEngine]:
    """As `find_engines`, for a look every minute: it wakes no engine that its owner has stopped.

    Podman's service ends when nobody asks it anything: behind the same socket it is still there. A Docker of systemd's
    is started by whoever connects to its socket, also after its owner stopped it.
    """
    usual = socket_places(environ) if sockets is None else sockets
    resting = []
    for one in known:
        with contextlib.suppress(OSError):
            if one.facts.kind == "podman" and _stamp(one.engine.path) == one.stamp:
                resting.append(one)
    is_systemds = SYSTEMS_DOCKER.is_socket() and Path("/run/systemd/system").is_dir()  # noqa: ASYNC240 - two calls
    left = {one.engine.path for one in resting}
    if SYSTEMS_DOCKER in {path.resolve() for path in usual} and is_systemds and await _is_stopped():
        left.add(SYSTEMS_DOCKER)
    asked = await find_engines(environ, sockets=[path for path in usual if path.resolve() not in left])
    return _in_order([*asked, *resting])


async def _is_stopped() -> bool:
    """Whether systemd only holds the socket of a Docker that does not run."""
    try:
        asking = await asyncio.create_subprocess_exec(
            "systemctl", "is-active", "docker.socket", "docker.service",
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        async with asyncio.timeout(FIND_SECONDS):
            said, _ = await asking.communicate()
    except (OSError, TimeoutError):
        return False
    return said.split() in ([b"active", b"inactive"], [b"active", b"failed"])


def _in_order(engines: Sequence[FoundEngine]) -> list[FoundEngine]:
    return sorted(engines, key=lambda one: (one.facts.kind != "docker", one.facts.rootless))


def how_unsupported() -> str | None:
    if not sys.platform.startswith("linux"):
        return "containers run on Linux only; share this machine through a Linux virtual machine"
    if platform.machine() not in ARCHITECTURES:
        return f"containers are not supported on {platform.machine()} yet; use x86_64 or aarch64"
    return None


def how_to_get_containers(environ: Mapping[str, str] = os.environ) -> str | None:
    """What the owner can do to offer level `container`, and images; None if there is an engine to talk to."""
    if unsupported := how_unsupported():
        return unsupported
    there = [path for path in socket_places(environ) if path.is_socket()]
    if any(os.access(path, os.W_OK) for path in there):
        return None
    if there:
        return (
            f"this user may not talk to {there[0]}: `sudo usermod -aG docker $USER`, then log in again and restart "
            "the agent"
        )
    return (
        "no container engine runs here: install Docker (`apt install docker.io`) or podman and start its socket "
        "(`systemctl enable --now podman.socket`); the agent finds it within a minute"
    )
