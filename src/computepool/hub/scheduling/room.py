"""Questions about room that is not there yet."""

from collections import Counter
from collections.abc import Collection

from computepool.hub.market.feasibility import Gate, fits, matching_gpus
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet import ATTEMPTS_LIMIT, Fleet, FleetNode, free_of
from computepool.hub.scheduling.fleet_node import allowed_slices, kept_from


def could_hold(fleet: Fleet, node: FleetNode, needs: Requirements) -> bool:
    """It takes such work now, and would have room were it empty."""
    return fleet.gate(needs, node) in (None, Gate.BUSY, Gate.ALLOWANCE)


def would_fit(node: FleetNode, needs: Requirements, without: Collection[str]) -> bool:
    """Whether there is room once these attempts are gone."""
    staying = [held for held in node.attempts.values() if held.attempt_id not in without]
    return fits(needs, free_of(node.traits, staying), kept_from(needs, node))


def how_many_fit(node: FleetNode, needs: Requirements) -> int:
    """Slices of that kind that have room there at once now, on a node that has room for one."""
    free, allowed = node.free, allowed_slices(node)
    counts = [free.cpu_millis // needs.cpu_millis, ATTEMPTS_LIMIT - len(node.attempts)]
    if needs.memory_bytes:
        counts.append(free.memory_bytes // needs.memory_bytes)
    if needs.disk_bytes:
        counts.append(free.disk_bytes // needs.disk_bytes)
    if needs.gpu is not None:
        usable = matching_gpus(needs, free.gpus, kept_from(needs, node))
        kinds = Counter((gpu.slug, gpu.memory_bytes) for gpu in usable)
        counts.append(sum(count // needs.gpu_count for count in kinds.values()))
    if allowed is not None and node.traits.owner_id != needs.owner_id:
        counts.append(allowed - node.strangers)
    return max(1, min(counts))
