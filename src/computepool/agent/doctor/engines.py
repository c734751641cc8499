"""Container engines: whether they are there, answer, may be asked by this user, and are of a version that holds."""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from computepool.agent.detect import Hardware
from computepool.agent.sandbox.containers.find import socket_places
from computepool.protocol.capacity import Software
from computepool.protocol.versions import RUNC, unsafe_software

from .model import Check, warn

ENGINE_SECONDS = 5.0
_START = {
    "docker": "`sudo systemctl start docker`, or start Docker Desktop",
    "podman": "`systemctl --user start podman.socket` (as root without --user)",
}
_INSTALL = "See the engine's installation guide. With bubblewrap only, this node gets no jobs with an image"


@dataclass(frozen=True)
class EngineSocket:
    """Where an engine may listen."""

    engine: str
    path: Path


def places(environment: Mapping[str, str] = os.environ) -> list[EngineSocket]:
    """Where the agent itself looks."""
    return [EngineSocket("podman" if "podman" in str(path) else "docker", path) for path in socket_places(environment)]


def check_view(seen: Sequence[Mapping[str, Any]], here: Iterable[Path]) -> Iterator[Check]:
    """What the running agent sees against what this shell does: a service has no variables of a shell."""
    theirs = {Path(str(one["socket"])): one for one in seen}
    own = set(here)
    for path, one in theirs.items():
        levels = ", ".join(one["levels"])
        name = f"the agent's {one['kind']}"
        also = "" if path in own else "; this shell does not see it"
        if levels:
            yield Check(name, True, f"{one['version']} at {path}, used for {levels}{also}")
        else:
            why = one.get("problem") or "another engine serves these levels"
            yield warn(name, f"{one['version']} at {path} is not used: {why}{also}")
    for path in sorted(own - theirs.keys()):
        hint = (
            "The agent looks every minute. If the engine is another user's, or DOCKER_HOST is set only in this shell, "
            "run `computepool agent uninstall` and `computepool agent install` here: the service then uses it"
        )
        yield warn("the agent's engines", f"this shell sees an engine at {path}; the running agent does not", hint)


async def check_engines(hardware: Hardware, where: Sequence[EngineSocket] | None = None) -> list[Check]:
    """No engine at all is no failure: bubblewrap does without."""
    checks: list[Check] = []
    seen: set[str] = set()
    software: list[Software] = []
    for place in places() if where is None else where:
        if place.engine in seen or not place.path.exists():
            continue
        check, told = await _ask(place)
        if told or place.engine not in {one.name for one in checks}:
            checks.append(check)
        if told:
            seen.add(place.engine)
            software += _software(place.engine, told)
            checks += _about(place.engine, told, hardware)
    missing = [engine for engine in ("docker", "podman") if engine not in {check.name for check in checks}]
    checks += _missing(missing, any_found=bool(checks))
    return [*checks, *_unsafe([*hardware.software, *software])]


async def _ask(place: EngineSocket) -> tuple[Check, dict[str, Any]]:
    """Its answer to /version and /info together."""
    name = place.engine
    try:
        if not stat.S_ISSOCK(place.path.stat().st_mode):
            return Check(name, False, f"{place.path} is not a socket", _START[name]), {}
        if not os.access(place.path, os.R_OK | os.W_OK):
            return _not_allowed(place), {}
        transport = httpx.AsyncHTTPTransport(uds=str(place.path))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://engine", timeout=ENGINE_SECONDS, trust_env=False
        ) as client:
            version = (await client.get("/version")).raise_for_status().json()
            info = (await client.get("/info")).raise_for_status().json()
            told = {**info, **version}
    except (OSError, httpx.HTTPError, ValueError, TypeError) as error:
        why = str(error) or type(error).__name__
        return Check(name, False, f"{place.path} exists, but does not answer: {why}", _START[name]), {}
    return Check(name, True, f"{told.get('Version', 'of unknown version')} answers at {place.path}"), told


def _not_allowed(place: EngineSocket) -> Check:
    hint = "`sudo usermod -aG docker $USER`, then sign in again. Members of this group have root rights on this machine"
    if place.engine == "podman":
        hint = "Use your own podman: `systemctl --user enable --now podman.socket`"
    return Check(place.engine, False, f"this user may not use {place.path}", hint)


def _software(engine: str, told: Mapping[str, Any]) -> Iterator[Software]:
    """The runtimes that the engine itself counts among its parts."""
    parts = told.get("Components")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, Mapping) and part.get("Name") == RUNC:
            yield Software(name=RUNC, version=str(part.get("Version", ""))[:60])


def _about(engine: str, told: Mapping[str, Any], hardware: Hardware) -> Iterator[Check]:
    runtimes = told.get("Runtimes") if isinstance(told.get("Runtimes"), dict) else {}
    assert isinstance(runtimes, dict)
    if engine == "docker":
        if any("runsc" in f"{name} {how}" for name, how in runtimes.items()):
            yield Check("gvisor", True, "Docker has the runtime runsc")
        else:
            hint = (
                "`sudo runsc install && sudo systemctl restart docker`" if shutil.which("runsc") else "Install gVisor"
            )
            yield warn("gvisor", "Docker has no runtime runsc: jobs that require gVisor run on other nodes", hint)
    if any(gpu.vendor == "nvidia" or "nvidia" in gpu.name.lower() for gpu in hardware.gpus):
        if "nvidia" in runtimes or _has_cdi(told):
            yield Check(f"{engine} GPUs", True, "the NVIDIA container toolkit is configured")
        else:
            hint = f"Install nvidia-container-toolkit, then `sudo nvidia-ctk runtime configure --runtime={engine}`"
            yield Check(f"{engine} GPUs", False, "containers would not see the NVIDIA GPUs", hint)
    if engine == "podman" and str(told.get("CgroupVersion")) == "1" and _is_rootless(told):
        hint = "Boot with cgroup v2, or run podman as root"
        yield warn("podman limits", "rootless podman ignores limits with control groups version 1", hint)


def _has_cdi(told: Mapping[str, Any]) -> bool:
    folders = [Path(str(one)) for one in told.get("CDISpecDirs") or ("/etc/cdi", "/var/run/cdi")]
    return any("nvidia" in spec.name for folder in folders if folder.is_dir() for spec in folder.iterdir())


def _is_rootless(told: Mapping[str, Any]) -> bool:
    options = told.get("SecurityOptions") or []
    return "rootless" in str(options)


def _missing(engines: Iterable[str], *, any_found: bool) -> Iterator[Check]:
    for engine in engines:
        program = shutil.which(engine)
        if program:
            yield warn(engine, f"{program} is installed, but its service is not running", _START[engine])
        elif not any_found:
            yield warn(engine, "not installed: this node runs no container images", _INSTALL)


def _unsafe(software: Iterable[Software]) -> Iterator[Check]:
    told = set()
    for one in unsafe_software(software):
        if str(one) not in told:
            told.add(str(one))
            hint = f"Update {one.name} to {one.needed} or later. Distributions may backport the fix: see its changelog"
            yield warn(f"{one.name} version", str(one), hint)
