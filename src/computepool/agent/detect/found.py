"""What a detector finds: GPUs that jobs can be given, and those that cannot, with the reason."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from computepool.protocol.capacity import Gpu
from computepool.protocol.gpus import normalise_gpu_name

_ADDRESS = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")
NVIDIA, AMD, INTEL, APPLE = "nvidia", "amd", "intel", "apple"


@dataclass(frozen=True)
class FoundGpu:
    gpu: Gpu
    devices: tuple[str, ...] = ()
    """The device files that a job needs to use it."""
    pci: str = ""
    """Its address on the bus, such as `0000:01:00.0`."""


@dataclass(frozen=True)
class UnusableGpu:
    """There, but not offered. Nothing that was seen is passed over in silence."""

    name: str
    why: str
    hint: str = ""
    pci: str = ""


@dataclass(frozen=True)
class Findings:
    gpus: tuple[FoundGpu, ...] = ()
    unusable: tuple[UnusableGpu, ...] = ()
    drivers: dict[str, str] = field(default_factory=dict)
    """Versions by the name of the driver."""

    def __add__(self, other: "Findings") -> "Findings":
        return Findings(self.gpus + other.gpus, self.unusable + other.unusable, {**self.drivers, **other.drivers})

    def addresses(self) -> set[str]:
        return {one.pci for one in self.gpus if one.pci} | {one.pci for one in self.unusable if one.pci}


def make_gpu(
    *,
    id: str,
    name: str,
    memory_bytes: int,
    vendor: str,
    driver: str = "",
    runtime: str = "",
    architecture: str = "",
    integrated: bool = False,
    part_of: str = "",
) -> Gpu:
    """A GPU as the protocol wants it: what drivers tell is cut to the lengths that a hub accepts."""
    name = " ".join(name.split())[:200] or "unknown GPU"
    return Gpu(
        id=id[:100],
        name=name,
        slug=normalise_gpu_name(name)[:200],
        memory_bytes=min(max(0, memory_bytes), 2**60 - 1),
        vendor=vendor,
        driver=driver[:60],
        runtime=runtime[:40],
        architecture=architecture[:40],
        integrated=integrated,
        part_of=part_of[:100],
    )


def each_once(found: Iterable[FoundGpu]) -> tuple[FoundGpu, ...]:
    """Two of the same id would be given to two jobs: the first is kept."""
    by_id: dict[str, FoundGpu] = {}
    for one in found:
        by_id.setdefault(one.gpu.id, one)
    return tuple(by_id.values())


def pci_address(text: str) -> str:
    """As the kernel writes it; NVIDIA's tools give the domain eight digits and upper case. Empty for what is none."""
    found = _ADDRESS.fullmatch(text.strip().lower())
    return f"{int(found[1] or '0', 16):04x}:{found[2]}" if found else ""
