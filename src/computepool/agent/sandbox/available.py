"""Which sandboxes this machine has, strongest first. Whether they hold is `self_test`'s to say."""

import asyncio
import platform
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from . import cgroup_tree
from .bubblewrap import BubblewrapSandbox
from .containers import ContainerSandbox, Engine, FoundEngine
from .containers.sandbox import new_run
from .guard import ProcessGuard
from .identity import instance_of
from .interface import Offload, Sandbox
from .process import ProcessSandbox
from .seccomp import ARCHITECTURES


def available_sandboxes(
    state: Path,
    *,
    offload: Offload = asyncio.to_thread,
    read_only: Sequence[Path] = (),
    hidden: Sequence[Path] = (),
    use_cgroups: bool = True,
    engines: Sequence[FoundEngine] = (),
    run: str | None = None,
) -> list[Sandbox]:
    """`state` is the agent's own folder, which no job ever sees, like everything in `hidden`.

    `read_only` are folders of the host, beside /usr, that jobs may see. `engines` are those that `find_engines` found.
    """
    state.mkdir(parents=True, exist_ok=True)
    instance = instance_of(state)
    cgroups = cgroup_tree.find_cgroups(instance) if use_cgroups else None
    if cgroups:
        cgroup_tree.remember(cgroups, state / "cgroup-parents")
    guard = ProcessGuard(instance, offload)
    found: list[Sandbox] = []
    run = run or new_run(state)
    for one, gvisor in chosen_engines(engines):
        found.append(
            container_sandbox(one, gvisor, state, run=run, offload=offload, read_only=read_only, hidden=hidden)
        )
    bwrap = shutil.which("bwrap")
    if bwrap and how_to_get_bubblewrap() is None:
        found.append(
            BubblewrapSandbox(
                state, bwrap=bwrap, cgroups=cgroups, guard=guard, offload=offload, read_only=read_only, hidden=hidden
            )
        )
    found.append(ProcessSandbox(state, cgroups=cgroups, guard=guard, offload=offload))
    return found


def container_sandbox(
    one: FoundEngine,
    gvisor: bool,
    state: Path,
    *,
    run: str,
    offload: Offload = asyncio.to_thread,
    read_only: Sequence[Path] = (),
    hidden: Sequence[Path] = (),
) -> ContainerSandbox:
    """`run` as `new_run` says it, once for each run of an agent."""
    return ContainerSandbox(
        state,
        engine=Engine(one.engine.path),
        facts=one.facts,
        gvisor=gvisor,
        offload=offload,
        read_only=read_only,
        hidden=hidden,
        run=run,
    )


def chosen_engines(engines: Sequence[FoundEngine]) -> list[tuple[FoundEngine, bool]]:
    """The engine for level `gvisor`, and the one for level `container`, as far as there are any."""
    gvisor = next((one for one in engines if one.facts.gvisor_runtime), None)
    # Docker without root cannot show a job its folder as its own user.
    usable = [one for one in engines if not (one.facts.kind == "docker" and one.facts.rootless)] or engines
    container = next(iter(usable), None)
    return [(one, is_gvisor) for one, is_gvisor in ((gvisor, True), (container, False)) if one is not None]


def how_to_get_bubblewrap() -> str | None:
    """What the owner can do to offer level `bubblewrap`; None if it is there."""
    if not sys.platform.startswith("linux"):
        return "bubblewrap runs on Linux only; share this machine through a Linux virtual machine"
    if platform.machine() not in ARCHITECTURES:
        return f"bubblewrap jobs are not supported on {platform.machine()} yet; use x86_64 or aarch64"
    if not shutil.which("bwrap"):
        return (
            "bubblewrap is not installed: `apt install bubblewrap`, `dnf install bubblewrap` or "
            "`pacman -S bubblewrap`, then restart the agent"
        )
    return None
