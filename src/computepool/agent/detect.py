"""What this machine has to offer: measured, within what its container or session may use, less what its owner needs."""

import contextlib
import csv
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from computepool.agent.sandbox.interface import Sandbox
from computepool.protocol.capacity import Capacity, Gpu
from computepool.protocol.gpus import normalise_gpu_name

MEMORY_SHARE = 0.8
"""The rest stays with the machine's owner."""
DISK_FLOOR_BYTES = 5 * 1000**3
"""Never offered: a full disk takes the owner's machine down."""
DISK_SHARE = 0.9
_UNLIMITED_BYTES = 1 << 60
_NVIDIA_SMI_SECONDS = 10
_SHARED_NVIDIA_DEVICES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset")


@dataclass(frozen=True)
class Hardware:
    cpus: float
    memory_bytes: int
    disk_bytes: int
    gpus: tuple[Gpu, ...] = ()
    gpu_devices: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def capacity(self, sandboxes: Sequence[Sandbox]) -> Capacity:
        return Capacity(
            cpus=self.cpus,
            memory_bytes=self.memory_bytes,
            disk_bytes=self.disk_bytes,
            gpus=self.gpus,
            isolation=tuple(sandbox.level for sandbox in sandboxes),
            soft_limits=any(sandbox.soft_limits for sandbox in sandboxes),
            platform=f"{platform.system().lower()}-{platform.machine().lower()}",
        )


def detect(folder: Path) -> Hardware:
    """Blocking, up to some seconds where a GPU driver is slow. `folder` tells which disk is meant."""
    gpus, devices = nvidia_gpus()
    return Hardware(
        cpus=usable_cpus(),
        memory_bytes=int(usable_memory_bytes() * MEMORY_SHARE),
        disk_bytes=offered_disk_bytes(folder),
        gpus=gpus,
        gpu_devices=devices,
    )


def usable_cpus() -> float:
    if hasattr(os, "sched_getaffinity"):
        count = float(len(os.sched_getaffinity(0)))
    else:
        count = float(os.cpu_count() or 1)
    quota = _cgroup_cpus()
    return max(0.1, round(min(count, quota), 2)) if quota else count


def usable_memory_bytes() -> int:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        total = 1 << 30
    return min(total, _cgroup_memory_bytes())


def offered_disk_bytes(folder: Path) -> int:
    free = shutil.disk_usage(folder).free
    return max(0, int((free - DISK_FLOOR_BYTES) * DISK_SHARE))


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


def nvidia_gpus() -> tuple[tuple[Gpu, ...], dict[str, tuple[str, ...]]]:
    """The GPUs that the driver reports, and the device files of each; none where there is no driver."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return (), {}
    try:
        answer = subprocess.run(
            [program, "--query-gpu=index,uuid,name,memory.total,pci.bus_id", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=_NVIDIA_SMI_SECONDS,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return (), {}
    gpus: list[Gpu] = []
    devices: dict[str, tuple[str, ...]] = {}
    for row in csv.reader(answer.splitlines(), skipinitialspace=True):
        with contextlib.suppress(ValueError):
            index, uuid, name, mebibytes, bus_id = row
            gpus.append(Gpu(id=uuid, name=name, slug=normalise_gpu_name(name), memory_bytes=int(mebibytes) * 1024**2))
            devices[uuid] = _nvidia_devices(index, bus_id)
    return tuple(gpus), devices


def _nvidia_devices(index: str, bus_id: str) -> tuple[str, ...]:
    minor = index
    # nvidia-smi writes the domain with eight digits, the kernel with four.
    address = bus_id.lower()[-12:]
    with contextlib.suppress(OSError):
        for line in Path("/proc/driver/nvidia/gpus", address, "information").read_text().splitlines():
            if line.startswith("Device Minor:"):
                minor = line.partition(":")[2].strip()
    return tuple(path for path in (f"/dev/nvidia{minor}", *_SHARED_NVIDIA_DEVICES) if Path(path).exists())
