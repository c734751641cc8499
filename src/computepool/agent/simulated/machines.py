"""Machines that do not exist: which there are in a profile, and what they say of themselves. Decided by a seed."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from computepool.agent.simulated.habits import ALWAYS_ON, FLAKY, LAPTOP, OFFICE, PLAYER, Habits
from computepool.protocol.capacity import SIMULATED, Capacity, Gpu, Software
from computepool.protocol.gpus import normalise_gpu_name
from computepool.protocol.states import TAKES_IMAGES, IsolationLevel

MIB, GIB = 1024**2, 1024**3
DEFAULT_PROFILE = "mixed"
NAME_DIGITS = 3


@dataclass(frozen=True)
class Card:
    name: str
    """As its driver reports it."""
    memory_mib: int
    watts: float
    speed: float
    """Against an RTX 3060, roughly."""
    vendor: str = "nvidia"
    runtime: str = "cuda 12.4"
    architecture: str = ""
    integrated: bool = False


_CARDS = (
    Card("NVIDIA GeForce GTX 1660 Ti", 6144, 120, 0.5, architecture="7.5"),
    Card("NVIDIA GeForce RTX 2070 SUPER", 8192, 215, 0.8, architecture="7.5"),
    Card("NVIDIA GeForce RTX 3060", 12288, 170, 1.0, architecture="8.6"),
    Card("NVIDIA GeForce RTX 3060 Laptop GPU", 6144, 115, 0.8, architecture="8.6"),
    Card("NVIDIA GeForce RTX 3080", 10240, 320, 2.0, architecture="8.6"),
    Card("NVIDIA GeForce RTX 3090", 24576, 350, 2.4, architecture="8.6"),
    Card("NVIDIA GeForce RTX 4070 Ti SUPER", 16376, 285, 2.6, architecture="8.9"),
    Card("NVIDIA GeForce RTX 4080 Laptop GPU", 12282, 150, 2.0, architecture="8.9"),
    Card("NVIDIA GeForce RTX 4090", 24564, 450, 4.2, architecture="8.9"),
    Card("NVIDIA GeForce RTX 5090", 32607, 575, 5.6, runtime="cuda 12.8", architecture="12.0"),
    Card("NVIDIA RTX A6000", 49140, 300, 2.6, architecture="8.6"),
    Card("NVIDIA RTX 6000 Ada Generation", 49140, 300, 4.4, architecture="8.9"),
    Card("Tesla T4", 15360, 70, 0.7, architecture="7.5"),
    Card("NVIDIA L4", 23034, 72, 1.5, architecture="8.9"),
    Card("NVIDIA A100-SXM4-80GB", 81920, 400, 5.0, architecture="8.0"),
    Card("NVIDIA H100 80GB HBM3", 81559, 700, 9.0, architecture="9.0"),
    Card("AMD Radeon RX 7900 XTX", 24560, 355, 2.6, "amd", "rocm 6.2", "gfx1100"),
    Card("Apple M3 Max", 36864, 60, 1.2, "apple", "metal 3", integrated=True),
)
CARDS: Mapping[str, Card] = {normalise_gpu_name(card.name): card for card in _CARDS}


@dataclass(frozen=True)
class Kind:
    """Machines of one sort."""

    cards: tuple[str, ...]
    """Of which it has one sort; none at all is a machine without a GPU."""
    counts: tuple[int, ...] = (1,)
    cpus: tuple[int, ...] = (8, 12, 16)
    memory_gib: tuple[int, ...] = (16, 32, 64)
    disk_gib: tuple[int, ...] = (100, 250, 500)
    isolation: tuple[IsolationLevel, ...] = (IsolationLevel.CONTAINER, IsolationLevel.BUBBLEWRAP)
    platforms: tuple[str, ...] = ("Ubuntu 24.04", "Debian 13", "Fedora 42", "Arch Linux")
    cpu_models: tuple[str, ...] = ("AMD Ryzen 7 5800X", "AMD Ryzen 9 7900X", "Intel Core i7-13700K")
    tags: tuple[str, ...] = ()
    habits: Habits = ALWAYS_ON


_WSL = ("Ubuntu 24.04 in WSL 2 on Windows 11",)
GAMER = Kind(
    ("gtx-1660-ti", "rtx-2070-super", "rtx-3060", "rtx-3080", "rtx-4070-ti-super", "rtx-4090", "rtx-5090",
     "rx-7900-xtx"),
    platforms=("Ubuntu 24.04", "Arch Linux", "Bazzite 42", *_WSL, *_WSL),
    tags=("home",),
    habits=PLAYER,
)  # fmt: skip
GAMING_LAPTOP = Kind(
    ("rtx-3060-laptop", "rtx-4080-laptop"),
    cpus=(6, 8),
    memory_gib=(16, 32),
    platforms=_WSL,
    tags=("home", "laptop"),
    habits=LAPTOP,
)
MACBOOK = Kind(
    ("m3-max",),
    cpus=(14,),
    memory_gib=(36, 48),
    isolation=(IsolationLevel.CONTAINER,),
    platforms=("macOS 15",),
    cpu_models=("Apple M3 Max",),
    tags=("home", "laptop"),
    habits=LAPTOP,
)
WORKSTATION = Kind(
    ("rtx-3090", "rtx-4090", "rtx-a6000", "rtx-6000-ada"),
    counts=(1, 1, 2),
    cpus=(16, 24, 32),
    memory_gib=(64, 128),
    cpu_models=("AMD Ryzen Threadripper 7960X", "Intel Xeon w5-3425"),
    tags=("lab",),
    habits=OFFICE,
)
SMALL_PC = Kind((), cpus=(4, 8), memory_gib=(8, 16), tags=("home",), habits=OFFICE)
RIG = Kind(
    ("rtx-3090", "rtx-4090"),
    counts=(4, 6, 8),
    cpus=(16, 32),
    memory_gib=(64, 128),
    cpu_models=("AMD EPYC 7302P",),
    tags=("rack",),
)
CLOUD_SERVER = Kind(
    ("t4", "l4"), counts=(1, 2, 4), cpus=(16, 32), memory_gib=(64, 128), cpu_models=("Intel Xeon Gold 6430",),
    platforms=("Ubuntu 22.04", "Ubuntu 24.04"), tags=("rack",),
)  # fmt: skip
BIG_SERVER = Kind(
    ("a100-sxm4", "h100"),
    counts=(4, 8),
    cpus=(96, 128),
    memory_gib=(512, 1024),
    disk_gib=(2000, 4000),
    isolation=(IsolationLevel.GVISOR, IsolationLevel.CONTAINER, IsolationLevel.BUBBLEWRAP),
    platforms=("Ubuntu 22.04", "Ubuntu 24.04"),
    cpu_models=("AMD EPYC 9454", "Intel Xeon Platinum 8480+"),
    tags=("rack",),
)
CPU_SERVER = Kind((), cpus=(32, 64), memory_gib=(128, 256), cpu_models=("AMD EPYC 9354",), tags=("rack",))
BAD_LINE = Kind(
    ("gtx-1660-ti", "rtx-3060", "rtx-3060-laptop", "rtx-3080"), platforms=_WSL, tags=("home",), habits=FLAKY
)

PROFILES: Mapping[str, Sequence[tuple[int, Kind]]] = {
    "mixed": (
        (8, GAMER), (2, GAMING_LAPTOP), (1, MACBOOK), (4, WORKSTATION), (2, SMALL_PC), (2, RIG), (1, CLOUD_SERVER),
        (1, BIG_SERVER), (1, BAD_LINE),
    ),
    "gaming": ((8, GAMER), (3, GAMING_LAPTOP), (1, SMALL_PC)),
    "lab": ((8, WORKSTATION), (2, RIG), (1, CPU_SERVER)),
    "servers": ((2, CLOUD_SERVER), (3, BIG_SERVER), (2, RIG), (2, CPU_SERVER)),
    "flaky": ((1, BAD_LINE),),
}  # fmt: skip
"""How many of which kind, relative to each other."""

_COUNTRIES = ("DE", "DE", "FR", "NL", "PL", "SE", "GB", "US", "US", "CA", "BR", "IN", "IN", "JP", "KR", "AU")


@dataclass(frozen=True)
class SimulatedMachine:
    index: int
    name: str
    country: str
    tags: tuple[str, ...]
    capacity: Capacity
    habits: Habits
    card: Card | None = None

    @property
    def speed(self) -> float:
        return self.card.speed if self.card is not None else 0.3


def make_machines(profile: str, seed: int, count: int) -> list[SimulatedMachine]:
    """The first ones of a longer list are the same as those of a shorter."""
    return [_make(profile, seed, index) for index in range(count)]


def _make(profile: str, seed: int, index: int) -> SimulatedMachine:
    rng = random.Random(f"{profile} {seed} {index}")
    weights, kinds = zip(*PROFILES[profile], strict=True)
    kind: Kind = rng.choices(kinds, weights)[0]
    slug = rng.choice(kind.cards) if kind.cards else ""
    gpus = _gpus(slug, rng.choice(kind.counts), index) if slug else ()
    capacity = Capacity(
        cpus=rng.choice(kind.cpus),
        memory_bytes=rng.choice(kind.memory_gib) * GIB,
        disk_bytes=rng.choice(kind.disk_gib) * GIB,
        gpus=gpus,
        isolation=(*kind.isolation, IsolationLevel.PROCESS),
        platform=f"simulated, as {rng.choice(kind.platforms)}",
        cpu_model=f"{rng.choice(kind.cpu_models)} (simulated)",
        software=(Software(name="docker", version="27.3.1 (simulated)"),) if _has_containers(kind) else (),
        networked=kind.isolation,
        simulated=True,
        links=True,
    )
    return SimulatedMachine(
        index=index,
        name=f"sim-{slug or 'cpu'}-{index + 1:0{NAME_DIGITS}}",
        country=rng.choice(_COUNTRIES),
        tags=tuple(sorted({SIMULATED, *kind.tags})),
        capacity=capacity,
        habits=kind.habits,
        card=CARDS[slug] if slug else None,
    )


def _has_containers(kind: Kind) -> bool:
    return any(level in TAKES_IMAGES for level in kind.isolation)


def _gpus(slug: str, count: int, index: int) -> tuple[Gpu, ...]:
    card = CARDS[slug]
    return tuple(
        Gpu(
            id=f"SIM-{index + 1:0{NAME_DIGITS}}-{number}",
            name=card.name,
            slug=slug,
            memory_bytes=card.memory_mib * MIB,
            vendor=card.vendor,
            driver="simulated",
            runtime=card.runtime,
            architecture=card.architecture,
            integrated=card.integrated,
        )
        for number in range(count)
    )
