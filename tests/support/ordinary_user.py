"""Being somebody else than root, for what root never meets: closed folders, no control groups."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support import engines

import computepool
from computepool.agent.sandbox.spawn import worn_by_this_thread

NOBODY = 65534


@contextlib.contextmanager
def ordinary_user() -> Iterator[None]:
    """What this thread does meanwhile it does as nobody; as whoever it is, if that is not root."""
    with worn_by_this_thread(NOBODY) if os.geteuid() == 0 else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def ordinary_folder() -> Iterator[Path]:
    """A folder that is the ordinary user's own, and that they can reach (pytest's own folders are not)."""
    with tempfile.TemporaryDirectory(prefix="computepool-test-") as name:
        place = Path(name)
        place.chmod(0o755)
        home = place / "home"
        home.mkdir()
        if os.geteuid() == 0:
            os.chown(home, NOBODY, NOBODY)
        yield home


def run_as_ordinary_user(script: str, *arguments: str) -> str:
    """A Python script that may use the sandboxes, without root. argv[1] is a folder of its own."""
    python = sys.executable if os.geteuid() else "/usr/bin/python3"
    if os.geteuid() == 0:
        engines.require("system-python")
    more: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    with ordinary_folder() as home:
        shutil.copytree(
            Path(computepool.__file__).parent,
            home.parent / "computepool",
            ignore=shutil.ignore_patterns("hub", "__pycache__"),
        )
        done = subprocess.run(
            [python, "-c", script, str(home / "state"), *arguments],
            check=False,
            capture_output=True,
            text=True,
            cwd="/",
            env={"PYTHONPATH": str(home.parent), "PATH": os.defpath},
            timeout=60,
            **more,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout
