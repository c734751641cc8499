"""What is recorded: each metric has a code that is stored, a unit that is shown, and a range.

A value is stored as a whole number of steps, so that sums of samples are exact. A value above the range counts as the
largest value of the range; a value that is not a number is dropped.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

NARROW = 2**14 - 1
WIDE = 2**28 - 1
"""The largest stored numbers: two and four bytes as `series` writes them."""
MIB = 1024**2
KIB = 1024
GPUS_RECORDED = 8
"""Of one node, in the order of its capacity. More would exceed the bound of what a node may store in a day."""


@dataclass(frozen=True, slots=True)
class Metric:
    code: int
    name: str
    unit: str
    step: float
    """What one stored unit is worth."""
    most: int = NARROW

    def stored(self, value: float) -> int | None:
        """As a whole number of steps; None for what is no number, or below zero."""
        if not math.isfinite(value) or value < 0:
            return None
        return min(round(value / self.step), self.most)

    def shown(self, stored: float) -> float:
        value = stored * self.step
        return round(value, 4) if self.step < 1 else round(value)


def _per_gpu(code: int, name: str, unit: str, step: float, most: int = NARROW) -> tuple[Metric, ...]:
    return tuple(Metric(code + 4 * n, f"gpu{n}.{name}", unit, step, most) for n in range(GPUS_RECORDED))


class NodeMetrics:
    CPU = Metric(1, "cpu", "share", 0.0001, 10_000)
    MEMORY = Metric(2, "memory_used", "bytes", MIB, WIDE)
    DISK = Metric(3, "disk_used", "bytes", MIB, WIDE)
    RECEIVED = Metric(4, "received", "bytes per second", KIB, WIDE)
    SENT = Metric(5, "sent", "bytes per second", KIB, WIDE)

    UTILISATION = _per_gpu(32, "utilisation", "share", 0.0001, 10_000)
    GPU_MEMORY = _per_gpu(33, "memory_used", "bytes", MIB, WIDE)
    TEMPERATURE = _per_gpu(34, "temperature", "celsius", 0.1)
    POWER = _per_gpu(35, "power", "watts", 0.1)


class AttemptMetrics:
    CPUS = Metric(1, "cpus", "cores", 0.01, WIDE)
    MEMORY = Metric(2, "memory", "bytes", MIB, WIDE)
    GPU = Metric(3, "gpu", "share", 0.0001, 10_000)
    GPU_MEMORY = Metric(4, "gpu_memory", "bytes", MIB, WIDE)
    POWER = Metric(5, "power", "watts", 0.1, WIDE)
    NETWORK = Metric(6, "network", "bytes per second", KIB, WIDE)


class PoolMetrics:
    QUEUE = Metric(1, "queue_length", "slices", 1, WIDE)
    WAITING = Metric(2, "waiting", "seconds", 1, WIDE)
    START = Metric(3, "start_latency", "seconds", 0.01, WIDE)
    ONLINE = Metric(4, "nodes_online", "nodes", 1, WIDE)
    RUNNING = Metric(5, "running", "slices", 1, WIDE)
    GPUS = Metric(6, "gpu_utilisation", "share", 0.0001, 10_000)
    CORES = Metric(7, "core_utilisation", "share", 0.0001, 10_000)


def _by_code(group: type) -> dict[int, Metric]:
    found: list[Metric] = []
    for value in vars(group).values():
        if isinstance(value, Metric):
            found.append(value)
        elif isinstance(value, tuple):
            found += [one for one in value if isinstance(one, Metric)]
    return {metric.code: metric for metric in sorted(found, key=lambda metric: metric.code)}


NODE_METRICS = _by_code(NodeMetrics)
ATTEMPT_METRICS = _by_code(AttemptMetrics)
POOL_METRICS = _by_code(PoolMetrics)

Values = Mapping[Metric, float | None]


def stored_values(values: Values) -> dict[int, int]:
    """By code, without what is unknown."""
    found = {metric.code: metric.stored(value) for metric, value in values.items() if value is not None}
    return {code: value for code, value in found.items() if value is not None}
