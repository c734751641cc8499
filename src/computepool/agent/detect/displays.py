"""The GPUs on the PCI bus, as Linux lists them: there is no vendor's tool that it needs."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from computepool.agent.detect.tools import ROOT

NVIDIA_ID, AMD_ID, INTEL_ID = "10de", "1002", "8086"
_CLASSES = ("0x03", "0x12")
"""Display controllers, and accelerators without a display such as the Instinct ones."""
_ID_FILES = ("usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids", "usr/share/pci.ids")
_AMD_ID_FILES = ("usr/share/libdrm/amdgpu.ids", "opt/amdgpu/share/libdrm/amdgpu.ids")


@dataclass(frozen=True)
class Display:
    address: str
    vendor_id: str
    device_id: str
    revision: str
    driver: str
    """The kernel module that drives it; empty where none does."""
    render: str
    """Its render node, such as `renderD128`."""
    folder: Path

    def told(self, name: str) -> str:
        """The content of one of its files; empty where it has none."""
        return read(self.folder / name)

    def number(self, name: str) -> int | None:
        return read_number(self.folder / name)


def displays(root: Path = ROOT) -> list[Display]:
    bus = root / "sys/bus/pci/devices"
    try:
        folders = sorted(bus.iterdir())
    except OSError:
        return []
    found = []
    for folder in folders:
        if not read(folder / "class").startswith(_CLASSES):
            continue
        renders = sorted(path.name for path in (folder / "drm").glob("renderD*"))
        driver = ""
        with contextlib.suppress(OSError):
            driver = (folder / "driver").readlink().name
        vendor, device, revision = (
            read(folder / name).removeprefix("0x").lower() for name in ("vendor", "device", "revision")
        )
        found.append(Display(folder.name, vendor, device, revision, driver, renders[0] if renders else "", folder))
    return found


def render_file(display: Display, root: Path) -> tuple[str, bool]:
    """The device file that computing goes through, and whether this user may use it."""
    if not display.render:
        return "", False
    path = root / "dev/dri" / display.render
    return f"/dev/dri/{display.render}", os.access(path, os.R_OK | os.W_OK)


def listed_name(display: Display, root: Path = ROOT) -> str:
    """The name in the machine's list of PCI ids, which may stand for several cards; else the ids themselves."""
    for place in _ID_FILES:
        with contextlib.suppress(OSError), (root / place).open(encoding="utf-8", errors="replace") as lines:
            if name := _in_list(lines, display.vendor_id, display.device_id):
                return name
    return f"PCI {display.vendor_id}:{display.device_id}"


def amd_name(display: Display, root: Path = ROOT) -> str:
    """AMD's own list tells cards of one chip apart by their revision. Empty where it does not know this one."""
    for place in _AMD_ID_FILES:
        with contextlib.suppress(OSError), (root / place).open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                parts = [part.strip() for part in line.split(",", 2)]
                if len(parts) == 3 and [part.lower() for part in parts[:2]] == [display.device_id, display.revision]:
                    return parts[2]
    return ""


def _in_list(lines: Iterator[str], vendor_id: str, device_id: str) -> str:
    vendor = ""
    for line in lines:
        if line[:1] not in "\t#\n":
            if vendor:
                return ""
            if line.lower().startswith(f"{vendor_id} "):
                vendor = line[4:].strip()
        elif vendor and line.lower().startswith(f"\t{device_id} "):
            return f"{vendor} {line[5:].strip()}"
    return ""


def read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def read_number(path: Path) -> int | None:
    with contextlib.suppress(ValueError):
        return int(read(path), 0)
    return None
