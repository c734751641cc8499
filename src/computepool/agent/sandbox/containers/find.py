"""Which container engines answer on this machine, Docker first. Whether they hold is the self-test's to say."""

import asyncio
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


@dataclass(frozen=True)
class FoundEngine:
    engine: Engine
    facts: EngineFacts


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
    there = [one for one in found if one is not None]
    return sorted(there, key=lambda one: (one.facts.kind != "docker", one.facts.rootless))


async def _meet(path: Path) -> FoundEngine | None:
    first = Engine(path, answer_seconds=FIND_SECONDS)
    try:
        facts = await first.facts()
    except (EngineError, KeyError, TypeError, ValueError):
        return None
    return FoundEngine(Engine(path), facts)


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
        "(`systemctl enable --now podman.socket`), then restart the agent"
    )
