"""A large pool of home computers, invented: cards, places, prices, records and caches differ, most are busy."""

import random
from collections.abc import Sequence
from dataclasses import replace

from computepool.hub.market.feasibility import Free, Traits
from computepool.hub.market.pricing import Ask
from computepool.hub.market.requirements import Requirements
from computepool.hub.market.standing import NEWCOMER, Standing
from computepool.hub.market.tiers import EXPECTED_GFLOPS
from computepool.hub.scheduling.fleet import Fleet, FleetNode, free_of
from computepool.protocol.capacity import Capacity, Gpu, HouseRules
from computepool.protocol.gpus import GpuRequest
from computepool.protocol.spec import Optimize
from computepool.protocol.states import IsolationLevel, NodeState
from computepool.protocol.units import Range

GIB = 1024**3
SEED = 11
IDLE_SHARE, LEFTOVER_SHARE = 0.05, 0.15
"""The first are free; the others are busy, and the second have some cores left, but no GPU."""
CARDS = {
    "rtx-4090": 24, "rtx-4080": 16, "rtx-4070": 12, "rtx-4060": 8, "rtx-3090": 24, "rtx-3080": 10, "rtx-3070": 8,
    "rtx-3060": 12, "rtx-2080-ti": 11, "rtx-2070": 8, "gtx-1080-ti": 11, "gtx-1660": 6, "rtx-5090": 32, "a100": 80,
    "l4": 24, "t4": 16, "rx-7900-xtx": 24, "rtx-a6000": 48,
}  # fmt: skip
COUNTRIES = ("IN", "US", "DE", "GB", "FR", "PL", "BR", "JP", "CA", "NL", "SE", "ES", "IT", "AU", "KR", None)
LEVELS = (
    (IsolationLevel.PROCESS, IsolationLevel.BUBBLEWRAP),
    (IsolationLevel.PROCESS, IsolationLevel.BUBBLEWRAP, IsolationLevel.CONTAINER),
    (IsolationLevel.PROCESS, IsolationLevel.BUBBLEWRAP, IsolationLevel.CONTAINER, IsolationLevel.GVISOR),
)
RULES = (
    *[HouseRules()] * 8,
    HouseRules(gpu_only=True),
    HouseRules(internet=False),
    HouseRules(longest_seconds=6 * 3600),
)
IMAGES = tuple(f"image:{name}" for name in ("python:3.12", "pytorch", "cuda", "ollama", "comfyui", "blender"))
RENTER = "user_renter"
OWNERS_OF = 3
"""Nodes of one owner, on average."""


class Deaf:
    """A line at whose end nobody listens."""

    def offer(self, attempt_id: str, manifest: object, downloads: object) -> None: ...

    def stop(self, attempt_id: str, fence: int, reason: str) -> None: ...

    def seen(self, cursor: int) -> None: ...


LINE = Deaf()
CAPACITY = Capacity(cpus=8, memory_bytes=32 * GIB, disk_bytes=200 * GIB)
"""Of all of them: matching looks at traits."""


def invent_fleet(count: int, seed: int = SEED) -> Fleet:
    rng, fleet = random.Random(seed), Fleet()
    for number in range(count):
        fleet.put(invent_node(rng, number, count))
    return fleet


def invent_node(rng: random.Random, number: int, count: int) -> FleetNode:
    traits = _traits(rng, f"node_{number:07}", f"user_{rng.randrange(max(1, count // OWNERS_OF))}")
    free, drawn = free_of(traits), rng.random()
    if drawn > IDLE_SHARE + LEFTOVER_SHARE:
        free = Free(0, 0, free.disk_bytes // 2, [])
    elif drawn > IDLE_SHARE:
        free = Free(rng.choice((1000, 2000, 3500)), rng.randrange(1, 8) * GIB, free.disk_bytes // 2, [])
    node = FleetNode(traits, traits.node_id, NodeState.ONLINE, CAPACITY, free)
    node.line, node.reported = LINE, NodeState.ONLINE
    images = rng.sample(IMAGES, rng.randrange(0, 3))
    node.cached = frozenset([*images, *(f"sha256:{rng.randrange(max(1, count // 20))}" for _ in range(3))])
    return node


def _traits(rng: random.Random, node_id: str, owner_id: str) -> Traits:
    card = rng.choice(tuple(CARDS))
    cards = rng.choice((0, 1, 1, 1, 1, 1, 2, 2, 4))
    levels = rng.choice(LEVELS)
    worth = EXPECTED_GFLOPS[card] ** 0.5 * 100_000
    return Traits(
        node_id=node_id,
        owner_id=owner_id,
        country=rng.choice(COUNTRIES),
        tags=frozenset(rng.sample(("fast", "quiet", "green", "office"), rng.choice((0, 0, 0, 1, 2)))),
        isolation=levels,
        networked=levels,
        cpu_millis=rng.choice((4, 6, 8, 12, 16, 24, 32)) * 1000,
        memory_bytes=rng.choice((16, 32, 64, 128)) * GIB - rng.randrange(GIB),
        disk_bytes=rng.choice((100, 250, 500, 1000)) * GIB - rng.randrange(40 * GIB),
        gpus=_gpus(card, cards),
        rules=rng.choice(RULES),
        ask=Ask(gpu_micros=round(worth * rng.uniform(0.6, 1.8)), core_micros=rng.randrange(600_000, 1_800_000)),
        standing=_standing(rng),
        gpu_gflops=EXPECTED_GFLOPS[card] * rng.uniform(0.4, 0.6) if cards and rng.random() < 0.9 else None,
        core_gflops=rng.uniform(3, 12),
    )


_KNOWN_GPUS: dict[tuple[str, int], tuple[Gpu, ...]] = {}


def _gpus(card: str, cards: int) -> tuple[Gpu, ...]:
    if (card, cards) not in _KNOWN_GPUS:
        size_bytes = CARDS[card] * GIB
        _KNOWN_GPUS[card, cards] = tuple(
            Gpu(id=f"gpu-{number}", name=card, slug=card, memory_bytes=size_bytes) for number in range(cards)
        )
    return _KNOWN_GPUS[card, cards]


def _standing(rng: random.Random) -> Standing:
    if rng.random() < 0.2:
        return NEWCOMER
    lower = min(0.99, rng.betavariate(8, 2))
    return Standing(mean=min(0.995, lower + 0.05), lower=lower, has_record=True, verified=rng.random() < 0.3)


def _gpu(gib: int | None = None, name: str | None = None, count: int = 1) -> GpuRequest:
    memory = None if gib is None else Range[int](minimum=gib * GIB)
    return GpuRequest(name=name, memory=memory, count=count)


BASE = Requirements(
    owner_id=RENTER, cpu_millis=1000, memory_bytes=2 * GIB, disk_bytes=10 * GIB, image="python:3.12", seconds=3600
)
FEASIBLE: Sequence[Requirements] = (
    BASE,
    replace(BASE, cpu_millis=4000, memory_bytes=8 * GIB),
    replace(BASE, cpu_millis=8000, memory_bytes=24 * GIB, optimize=Optimize.COST),
    replace(BASE, gpu=_gpu(24)),
    replace(BASE, gpu=_gpu(12), optimize=Optimize.COST, cpu_millis=2000),
    replace(BASE, gpu=_gpu(name="rtx-4090"), optimize=Optimize.SPEED),
    replace(BASE, gpu=_gpu(name="rtx-3060"), memory_bytes=12 * GIB + 1),
    replace(BASE, gpu=_gpu(8, count=2), cpu_millis=3500),
    replace(BASE, gpu=_gpu(16), countries=frozenset({"IN"})),
    replace(BASE, gpu=_gpu(), countries=frozenset({"DE", "FR", "NL"}), tags=frozenset({"green"})),
    replace(BASE, gpu=_gpu(10), max_price_micros=20_000_000, min_reliability=0.8),
    replace(BASE, cpu_millis=2000, verified_only=True, isolation=IsolationLevel.CONTAINER),
    replace(BASE, gpu=_gpu(24), isolation=IsolationLevel.GVISOR, internet=True, image=None),
)
INFEASIBLE: Sequence[Requirements] = (
    replace(BASE, gpu=_gpu(name="h100")),
    replace(BASE, memory_bytes=900 * GIB),
    replace(BASE, gpu=_gpu(24), max_price_micros=1_000),
    replace(BASE, gpu=_gpu(24), countries=frozenset({"ZZ"})),
    replace(BASE, gpu=_gpu(80, count=4), cpu_millis=32_000, max_price_micros=60_000_000, min_reliability=0.999),
)
