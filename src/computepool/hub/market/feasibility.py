"""Hard gates: whether a node could ever run a slice, and whether it can now.

A node that fails a gate is never chosen, however the weights are set. The gates are ordered from what a renter chose
to what a machine has, so that "the first gate that removed it" is the answer a person would give.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from computepool.hub.market.requirements import Requirements
from computepool.protocol.capacity import Gpu
from computepool.protocol.states import IsolationLevel


class Gate(StrEnum):
    NODE = "node"
    TRUST = "trust"
    COUNTRY = "country"
    TAGS = "tags"
    ISOLATION = "isolation"
    GPU = "gpu"
    CPUS = "cpus"
    MEMORY = "memory"
    DISK = "disk"
    STATE = "state"
    """Not taking work: offline, paused, draining."""
    BUSY = "busy"
    """Has it, but others are using it."""


@dataclass(slots=True)
class Free:
    """What is left of a node while its attempts run. Cores and memory are packed, GPUs are whole."""

    cpu_millis: int
    memory_bytes: int
    disk_bytes: int
    gpus: list[Gpu]


@dataclass(frozen=True, slots=True)
class Traits:
    """What does not change while a node works."""

    node_id: str
    owner_id: str
    country: str | None
    tags: frozenset[str]
    isolation: tuple[IsolationLevel, ...]
    cpu_millis: int
    memory_bytes: int
    disk_bytes: int
    gpus: tuple[Gpu, ...]


Rule = Callable[[Requirements, Traits], bool]


def _strong_enough(needs: Requirements, node: Traits) -> bool:
    least = needs.least_isolation(own=node.owner_id == needs.owner_id)
    return any(level.rank >= least.rank for level in node.isolation)


def matching_gpus(needs: Requirements, gpus: Sequence[Gpu]) -> list[Gpu]:
    if needs.gpu is None:
        return []
    return [gpu for gpu in gpus if needs.gpu.accepts(gpu.slug, gpu.memory_bytes)]


RULES: tuple[tuple[Gate, Rule], ...] = (
    (Gate.NODE, lambda needs, node: needs.node_id is None or needs.node_id == node.node_id),
    (Gate.TRUST, lambda needs, node: not needs.mine_only or needs.owner_id == node.owner_id),
    (Gate.COUNTRY, lambda needs, node: not needs.countries or node.country in needs.countries),
    (Gate.TAGS, lambda needs, node: needs.tags <= node.tags),
    (Gate.ISOLATION, _strong_enough),
    (Gate.GPU, lambda needs, node: len(matching_gpus(needs, node.gpus)) >= needs.gpu_count),
    (Gate.CPUS, lambda needs, node: needs.cpu_millis <= node.cpu_millis),
    (Gate.MEMORY, lambda needs, node: needs.memory_bytes <= node.memory_bytes),
    (Gate.DISK, lambda needs, node: needs.disk_bytes <= node.disk_bytes),
)


def closed_gate(needs: Requirements, node: Traits) -> Gate | None:
    """The first gate that keeps this node from ever running it, or None."""
    for gate, passes in RULES:
        if not passes(needs, node):
            return gate
    return None


def fits(needs: Requirements, free: Free) -> bool:
    """Whether there is room now, on a node whose gates are open."""
    return (
        needs.cpu_millis <= free.cpu_millis
        and needs.memory_bytes <= free.memory_bytes
        and needs.disk_bytes <= free.disk_bytes
        and (needs.gpu is None or len(matching_gpus(needs, free.gpus)) >= needs.gpu_count)
    )
