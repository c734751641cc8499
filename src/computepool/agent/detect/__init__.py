"""What this machine has to offer: measured, within what its container or session may use, less what its owner needs.

One file a vendor. Owns: which hardware and software there is, what it does now, and its power limit. Uses: drivers'
libraries and tools, each bounded in time, each allowed to be missing or broken. Never does: guess a card from a part of
its name, or pass one over in silence.
"""

import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from computepool.agent.detect.amd import find_amd
from computepool.agent.detect.apple import find_apple
from computepool.agent.detect.found import Findings, UnusableGpu, each_once
from computepool.agent.detect.intel import find_intel
from computepool.agent.detect.loads import GpuNow, GpuProcess, GpuUse
from computepool.agent.detect.machine import (
    DISK_FLOOR_BYTES,
    cpu_model,
    is_wsl,
    offered_disk_bytes,
    offered_memory_bytes,
    platform_name,
    usable_cpus,
    usable_memory_bytes,
)
from computepool.agent.detect.monitor import GpuMonitor, read_gpu_loads
from computepool.agent.detect.nvidia import find_nvidia, nvidia_gpus
from computepool.agent.detect.others import find_others
from computepool.agent.detect.software import find_software
from computepool.agent.detect.tools import ROOT, Patience
from computepool.agent.sandbox.interface import Sandbox
from computepool.protocol.capacity import MOST_GPUS, Capacity, Gpu, Software

__all__ = [
    "DISK_FLOOR_BYTES",
    "GpuMonitor",
    "GpuNow",
    "GpuProcess",
    "GpuUse",
    "Hardware",
    "UnusableGpu",
    "detect",
    "is_wsl",
    "isolation_of",
    "nvidia_gpus",
    "offered_disk_bytes",
    "read_gpu_loads",
    "usable_cpus",
    "usable_memory_bytes",
]

log = logging.getLogger(__name__)

VENDOR_SECONDS = 60.0
"""A driver may take half a minute to wake many cards; one that is sick never answers."""


@dataclass(frozen=True)
class Hardware:
    cpus: float
    memory_bytes: int
    disk_bytes: int
    gpus: tuple[Gpu, ...] = ()
    gpu_devices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The device files that a job with this GPU needs."""
    gpu_pci: dict[str, str] = field(default_factory=dict)
    """Their addresses on the bus, for GpuMonitor."""
    unusable_gpus: tuple[UnusableGpu, ...] = ()
    """Seen, but not offered, with the reason."""
    software: tuple[Software, ...] = ()
    cpu_model: str = ""
    platform: str = ""

    def capacity(self, sandboxes: Sequence[Sandbox]) -> Capacity:
        return Capacity(
            cpus=self.cpus,
            memory_bytes=self.memory_bytes,
            disk_bytes=self.disk_bytes,
            gpus=self.gpus,
            **isolation_of(sandboxes),
            platform=self.platform,
            cpu_model=self.cpu_model,
            software=self.software,
            links=True,
        )


def isolation_of(sandboxes: Sequence[Sandbox]) -> dict[str, Any]:
    """What a node's capacity says of its sandboxes."""
    return {
        "isolation": tuple(sandbox.level for sandbox in sandboxes),
        "soft_limits": any(sandbox.soft_limits for sandbox in sandboxes),
        "networked": tuple(sandbox.level for sandbox in sandboxes if sandbox.has_egress),
    }


def detect(folder: Path, *, root: Path = ROOT) -> Hardware:
    """Blocking, up to some seconds where a GPU driver is slow. `folder` tells which disk is meant."""
    found = find_gpus(root)
    gpus = each_once(found.gpus)[:MOST_GPUS]
    drivers = tuple(Software(name=name, version=version[:60]) for name, version in found.drivers.items())
    return Hardware(
        cpus=usable_cpus(),
        memory_bytes=offered_memory_bytes(),
        disk_bytes=offered_disk_bytes(folder),
        gpus=tuple(one.gpu for one in gpus),
        gpu_devices={one.gpu.id: one.devices for one in gpus},
        gpu_pci={one.gpu.id: one.pci for one in gpus if one.pci},
        unusable_gpus=found.unusable,
        software=find_software(root) + drivers,
        cpu_model=cpu_model(root),
        platform=platform_name(root),
    )


def find_gpus(root: Path = ROOT) -> Findings:
    """Cards first, then what shares the machine's memory: a job that takes any GPU is given the first."""
    found = _carefully("NVIDIA", lambda: find_nvidia(root))
    found += _carefully("AMD", lambda: find_amd(root))
    found += _carefully("Intel", lambda: find_intel(root))
    if sys.platform == "darwin":
        found += _carefully("Apple", find_apple)
    found += _carefully("other", lambda: find_others(found, root))
    for one in found.unusable:
        log.info("gpu.unusable", extra={"gpu": one.name, "why": one.why})
    ordered = sorted(found.gpus, key=lambda one: one.gpu.integrated)
    return Findings(tuple(ordered), found.unusable, found.drivers)


def _carefully(vendor: str, find: Callable[[], Findings]) -> Findings:
    """One vendor's trouble is not the others', nor the agent's."""
    try:
        return Patience().call(find, VENDOR_SECONDS)
    except Exception as error:
        log.warning("detect.failed", extra={"vendor": vendor, "why": repr(error)})
        why = f"looking for it failed: {type(error).__name__} {error}"
        return Findings(unusable=(UnusableGpu(f"{vendor} GPUs", why, "see the agent's log"),))
