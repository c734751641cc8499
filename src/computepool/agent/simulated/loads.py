"""What the GPUs of a simulated machine are doing, as its driver would tell."""

import random
from collections.abc import Collection

from computepool.agent.simulated.machines import Machine
from computepool.protocol.messages import GpuLoad, NodeReport


def report_of(machine: Machine, busy: Collection[str], rng: random.Random) -> NodeReport:
    return NodeReport(gpus=tuple(_load(machine, gpu.id, gpu.id in busy, rng) for gpu in machine.capacity.gpus))


def _load(machine: Machine, gpu_id: str, is_busy: bool, rng: random.Random) -> GpuLoad:
    assert machine.card is not None
    watts, memory = machine.card.watts, machine.capacity.gpus[0].memory_bytes
    if is_busy:
        return GpuLoad(
            id=gpu_id,
            utilisation=round(rng.uniform(0.82, 1.0), 2),
            memory_used_bytes=int(memory * rng.uniform(0.4, 0.95)),
            temperature_celsius=round(rng.uniform(58, 79)),
            power_watts=round(watts * rng.uniform(0.7, 0.97), 1),
        )
    return GpuLoad(
        id=gpu_id,
        utilisation=round(rng.uniform(0.0, 0.03), 2),
        memory_used_bytes=int(memory * rng.uniform(0.01, 0.04)),
        temperature_celsius=round(rng.uniform(31, 43)),
        power_watts=round(watts * rng.uniform(0.05, 0.12), 1),
    )
