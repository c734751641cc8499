"""Processor, memory, disk and platform: within what this container or session may use, less what the owner needs."""

import contextlib
import ctypes
import os
import platform
import shutil
import sys
from pathlib import Path

from computepool.agent.detect.tools import ROOT, run_tool

MEMORY_SHARE = 0.8
"""The rest stays with the machine's owner."""
DISK_FLOOR_BYTES = 5 * 1000**3
"""Never offered: a full disk takes the owner's machine down."""
DISK_SHARE = 0.9
_UNLIMITED_BYTES = 1 << 60


def usable_cpus() -> float:
    if hasattr(os, "sched_getaffinity"):
        count = float(len(os.sched_getaffinity(0)))
    else:
        count = float(os.cpu_count() or 1)
    quota = _cgroup_cpus()
    return max(0.1, round(min(count, quota), 2)) if quota else count


def usable_memory_bytes() -> int:
    return min(_installed_memory_bytes(), _cgroup_memory_bytes())


def offered_memory_bytes() -> int:
    return int(usable_memory_bytes() * MEMORY_SHARE)


def offered_disk_bytes(folder: Path, keep_free_bytes: int = DISK_FLOOR_BYTES) -> int:
    free = shutil.disk_usage(folder).free
    return max(0, int((free - keep_free_bytes) * DISK_SHARE))


def is_wsl(root: Path = ROOT) -> bool:
    """Whether this is Linux inside Windows; its GPUs are Windows', seen through /dev/dxg."""
    with contextlib.suppress(OSError):
        return "microsoft" in (root / "proc/version").read_text().lower()
    return False


def platform_name(root: Path = ROOT) -> str:
    """Such as `linux-x86_64`, `darwin-arm64` or `linux-x86_64-wsl2`."""
    name = f"{platform.system().lower()}-{platform.machine().lower()}"
    return f"{name}-wsl2" if is_wsl(root) else name


def cpu_model(root: Path = ROOT) -> str:
    """As the processor or the system names it; empty where neither does."""
    if platform.system() == "Darwin":
        return (run_tool(["sysctl", "-n", "machdep.cpu.brand_string"]) or "").strip()[:200]
    told: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in (root / "proc/cpuinfo").read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            told.setdefault(key.strip(), value.strip())
    # Arm processors have no name there, but small boards tell theirs.
    for key in ("model name", "Model", "Hardware", "cpu model"):
        if told.get(key):
            return told[key][:200]
    with contextlib.suppress(OSError):
        return (root / "proc/device-tree/model").read_text(errors="replace").strip("\0\n ")[:200]
    return platform.processor()[:200]


def _installed_memory_bytes() -> int:
    if sys.platform == "win32":
        return _windows_memory_bytes()
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 1 << 30


def _windows_memory_bytes() -> int:
    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            *((name, ctypes.c_uint64) for name in ("total", "free", "c", "d", "e", "f", "g")),
        )

    status = Status(length=ctypes.sizeof(Status))
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 - the attribute exists on Windows only
    return int(status.total) if kernel.GlobalMemoryStatusEx(ctypes.byref(status)) else 1 << 30


def _cgroup_folders(controller: str) -> list[Path]:
    """This process's groups and those above it: version 2, or the controller's tree of version 1."""
    folders = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "" or controller in controllers.split(","):
                top = Path("/sys/fs/cgroup") if controllers == "" else Path("/sys/fs/cgroup", controller)
                here = top / path.lstrip("/")
                folders += [place for place in (here, *here.parents) if place.is_relative_to(top)]
    return folders


def _cgroup_memory_bytes() -> int:
    limits = [_UNLIMITED_BYTES]
    for folder in _cgroup_folders("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with contextlib.suppress(OSError, ValueError):
                limits.append(int((folder / name).read_text()))
    return min(limits)


def _cgroup_cpus() -> float | None:
    limits = []
    for folder in _cgroup_folders("cpu"):
        with contextlib.suppress(OSError, ValueError):
            quota, period = (folder / "cpu.max").read_text().split()
            limits.append(int(quota) / int(period))
        with contextlib.suppress(OSError, ValueError):
            quota_us = int((folder / "cpu.cfs_quota_us").read_text())
            if quota_us > 0:
                limits.append(quota_us / int((folder / "cpu.cfs_period_us").read_text()))
    return min(limits, default=None)
