"""Which sandboxes this machine has, strongest first. Whether they hold is `self_test`'s to say."""

import asyncio
import platform
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from . import cgroup_tree
from .bubblewrap import BubblewrapSandbox
from .guard import Guard
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
) -> list[Sandbox]:
    """`state` is the agent's own folder, which no job ever sees, like everything in `hidden`.

    `read_only` are folders of the host, beside /usr, that jobs may see.
    """
    state.mkdir(parents=True, exist_ok=True)
    instance = instance_of(state)
    cgroups = cgroup_tree.find_cgroups(instance) if use_cgroups else None
    if cgroups:
        cgroup_tree.remember(cgroups, state / "cgroup-parents")
    guard = Guard(instance, offload)
    found: list[Sandbox] = []
    bwrap = shutil.which("bwrap")
    if bwrap and how_to_get_bubblewrap() is None:
        found.append(
            BubblewrapSandbox(
                state, bwrap=bwrap, cgroups=cgroups, guard=guard, offload=offload, read_only=read_only, hidden=hidden
            )
        )
    found.append(ProcessSandbox(state, cgroups=cgroups, guard=guard, offload=offload))
    return found


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
