"""What keeps a stranger's job in: each level proves itself, and where one is missing the reason is looked for."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from computepool.agent.sandbox import Sandbox, how_to_get_bubblewrap, self_test
from computepool.protocol.states import IsolationLevel

from .model import Check, warn

SYSCTLS = Path("/proc/sys")
FACTS = {"self_test_seconds": "tested in {} s"}
"""How a fact of a self-test is told, where its name alone would not do."""
_FORBIDDEN = (
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor forbids user namespaces to ordinary programs (default since Ubuntu 23.10)",
        "Allow it for bubblewrap only: install the profile `bwrap-userns-restrict` (package apparmor-profiles). Or for "
        "every program: `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`",
    ),
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "this kernel forbids user namespaces to ordinary users",
        "`sudo sysctl -w kernel.unprivileged_userns_clone=1`, and the same line in /etc/sysctl.d/ to keep it",
    ),
    (
        "user/max_user_namespaces",
        "0",
        "this system allows no user namespaces",
        "`sudo sysctl -w user.max_user_namespaces=15000`, and the same line in /etc/sysctl.d/ to keep it",
    ),
)


async def check_sandboxes(sandboxes: Sequence[Sandbox]) -> tuple[list[Sandbox], list[Check]]:
    """Those that hold, and what each said."""
    proven, checks = [], []
    for sandbox in sandboxes:
        name = f"isolation {sandbox.level}"
        result = await self_test(sandbox)
        if result.ok:
            proven.append(sandbox)
            facts = ", ".join(FACTS.get(key, key + " {}").format(value) for key, value in result.facts.items())
            checks.append(Check(name, True, f"proven{': ' + facts if facts else ''}"))
        else:
            problems = "; ".join(result.problems) or "the self-test failed"
            hint = "The node offers this level only after its self-test passes"
            checks.append(Check(name, False, problems, hint))
    return proven, checks


def check_bubblewrap(proven: Sequence[Sandbox]) -> Check:
    """Missing it is no failure where containers do the same."""
    isolated = any(sandbox.level is not IsolationLevel.PROCESS for sandbox in proven)
    missing = how_to_get_bubblewrap()
    if missing is not None:
        if isolated:
            return warn("bubblewrap", "not installed; containers isolate jobs here", missing)
        message = "not installed: this machine runs only its owner's own jobs, and only with own.process in policy.toml"
        return Check("bubblewrap", False, message, missing)
    if any(sandbox.level is IsolationLevel.BUBBLEWRAP for sandbox in proven) or os.geteuid() == 0:
        return Check("bubblewrap", True, "installed")
    why, hint = why_no_user_namespaces()
    if not why and in_container():
        why = "this container may not create namespaces"
        hint = "Start it with the security options of deploy/host/compose.yaml, which explains each one"
    if not why:
        return Check("bubblewrap", True, "installed")
    return warn("bubblewrap", f"installed, but {why}", hint) if isolated else Check("bubblewrap", False, why, hint)


def why_no_user_namespaces(sysctls: Path = SYSCTLS) -> tuple[str, str]:
    """The reason and the way out; empty if nothing that we know of forbids them."""
    if not sys.platform.startswith("linux"):
        return "", ""
    for name, forbidding, why, hint in _FORBIDDEN:
        try:
            if (sysctls / name).read_text().strip() == forbidding:
                return why, hint
        except OSError:
            continue
    return "", ""


def in_container() -> bool:
    return any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv"))


def check_limits(sandboxes: Sequence[Sandbox]) -> Check:
    if any(sandbox.soft_limits for sandbox in sandboxes):
        return Check(
            "limits",
            False,
            "a watchdog limits memory, because no control group is available: the node shows `soft limits`",
            "Start the agent with the right to create control groups: as a service (`computepool agent install`), "
            "with `systemd-run --user --scope -p Delegate=yes computepool agent start`, or as root",
        )
    return Check("limits", True, "enforced by the kernel")
