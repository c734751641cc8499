"""Machines with GPUs, as far as one without any can show them: a stand-in for NVIDIA's library, tools that answer as
the real ones do, and folders that look like the kernel's."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support import engines
from support.waiting import patience

STUB = Path(__file__).with_name("nvml_stub.c")
LIBRARY = "libnvidia-ml.so.1"
ORDINARY_PATH = "/usr/bin:/bin"


def build_nvml(folder: Path) -> Path:
    """The folder with the stand-in for NVIDIA's library, for LD_LIBRARY_PATH."""
    engines.require("gcc")
    folder.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-shared", "-fPIC", "-Wall", "-Werror", f"-Wl,-soname,{LIBRARY}", "-o"]
    subprocess.run([*command, str(folder / LIBRARY), str(STUB)], check=True, timeout=patience())
    return folder


def in_child(story: str, environment: Mapping[str, str], *arguments: object) -> Any:
    """What the story prints, read as JSON. In a process of its own, because a library is loaded once for good."""
    done = subprocess.run(
        [sys.executable, "-c", story, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=patience(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def put_tool(folder: Path, name: str, script: str) -> Path:
    """A program with that name, for PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def put_answer(folder: Path, name: str, answer: object) -> Path:
    """A program that gives this answer, as JSON, whatever it is asked."""
    return put_tool(folder, name, f"cat <<'END'\n{json.dumps(answer, indent=2)}\nEND")


def put_files(root: Path, files: Mapping[str, object]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")


def put_display(
    root: Path,
    address: str,
    ids: str,
    *,
    driver: str = "",
    render: int | None = None,
    files: Mapping[str, object] | None = None,
) -> Path:
    """A GPU on the bus of the machine below `root`; `ids` are vendor, device and revision, such as `1002:744c:c8`."""
    vendor, device, revision = (*ids.split(":"), "00")[:3]
    folder = root / "sys/bus/pci/devices" / address
    put_files(folder, {"class": "0x030000", "vendor": f"0x{vendor}", "device": f"0x{device}"})
    put_files(folder, {"revision": f"0x{revision}", **(files or {})})
    if driver:
        target = root / "sys/bus/pci/drivers" / driver
        target.mkdir(parents=True, exist_ok=True)
        (folder / "driver").symlink_to(target)
    if render is not None:
        (folder / "drm" / f"renderD{render}").mkdir(parents=True)
        put_files(root, {f"dev/dri/renderD{render}": ""})
    return folder
