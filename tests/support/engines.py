"""The engines that some tests need and a machine may lack.

`@pytest.mark.engine("bwrap")`, or `require("bwrap")` inside a test, skips by name with the reason where the engine does
not work. `./dev test --require bwrap` makes that a failure: a machine that is there to test it must not skip it.
"""

import functools
import os
import shutil
import subprocess
from collections.abc import Callable

import pytest
from support import private_engines

PROBE_SECONDS = 20

# A program on PATH is not yet an engine: each is asked to do the least that shows that it works.
PROBES: dict[str, list[str] | Callable[[], str | None]] = {
    "bwrap": ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "true"],
    # The tests bring up engines of their own, so a running daemon is neither needed nor enough.
    "docker": functools.partial(private_engines.trouble_with, "docker"),
    "podman": functools.partial(private_engines.trouble_with, "podman"),
    "gvisor": functools.partial(private_engines.trouble_with, "gvisor"),
    "chromium": ["chromium", "--version"],
    # A screen that nobody sees, a hand that nobody moves, and a look at its windows.
    "xvfb": ["sh", "-c", "command -v Xvfb && command -v xdotool && command -v xprop"],
    "dbus": ["dbus-daemon", "--version"],
    # A small file system in namespaces of its own, for tests of full disks: support/small_disks.py.
    "small-disk": ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/tmp"],
}


def required() -> set[str]:
    """What --require named."""
    names = {name.strip() for name in os.environ.get("COMPUTEPOOL_REQUIRE_ENGINES", "").split(",")} - {""}
    unknown = names - PROBES.keys()
    if unknown:
        raise pytest.UsageError(f"--require: no engine is called {', '.join(sorted(unknown))}; there are {known()}")
    return names


def known() -> str:
    return ", ".join(sorted(PROBES))


found: dict[str, str | None] = {}
"""What was found out, here or by the process that started this one: to bring up an engine takes seconds."""


def missing(name: str) -> str | None:
    """Why the engine cannot be used here, or None."""
    if name not in PROBES:
        return f"no engine is called {name}; there are {known()}"
    if name not in found:
        found[name] = _look_for(name)
    return found[name]


def _look_for(name: str) -> str | None:
    probe = PROBES[name]
    if not isinstance(probe, list):
        return probe()
    if not shutil.which(probe[0]):
        return f"{probe[0]} is not installed"
    try:
        done = subprocess.run(
            probe, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"`{' '.join(probe)}`: {error}"
    return f"`{' '.join(probe)}` failed: {done.stderr.strip()[-300:]}" if done.returncode else None


def require(name: str) -> None:
    """Skip the running test by name if the engine does not work here; fail it if it is required."""
    if name not in PROBES:
        pytest.fail(f"no engine is called {name}; there are {known()}")
    reason = missing(name)
    if reason and name in required():
        pytest.fail(f"engine {name} is required: {reason}")
    if reason:
        pytest.skip(f"engine {name}: {reason}")
