"""What is to be had of a node: by strangers now, by its owner now, and by anybody at best."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from computepool.hub.scheduling.fleet_node import ATTEMPTS_LIMIT, FleetNode, has_slot
from computepool.protocol.capacity import Gpu


class Room(NamedTuple):
    cpu_millis: int
    memory_bytes: int
    disk_bytes: int
    gpus: Sequence[Gpu]
    cores: bool = True
    """False where only what uses a GPU may run."""


View = Callable[[FleetNode], Room | None]
"""None for a node that can be given nothing. A slice takes at least a thousandth of a core."""


def now_for_strangers(node: FleetNode) -> Room | None:
    availability, free = node.availability, node.free
    if free.cpu_millis < 1 or not node.takes_work or not availability.strangers or len(node.attempts) >= ATTEMPTS_LIMIT:
        return None
    if node.traits.standing.quarantined_until is not None or not has_slot(node):
        return None
    used = availability.gpus_in_use
    gpus = [gpu for gpu in free.gpus if gpu.id not in used] if used else free.gpus
    return Room(free.cpu_millis, free.memory_bytes, free.disk_bytes, gpus, not availability.gpu_only)


def now_for_owner(node: FleetNode) -> Room | None:
    free = node.free
    if free.cpu_millis < 1 or not node.takes_work or len(node.attempts) >= ATTEMPTS_LIMIT:
        return None
    return Room(free.cpu_millis, free.memory_bytes, free.disk_bytes, free.gpus)


def at_best(node: FleetNode) -> Room | None:
    """If nobody else used it, and its owner left it."""
    traits = node.traits
    return Room(traits.cpu_millis, traits.memory_bytes, traits.disk_bytes, traits.gpus) if node.takes_work else None
