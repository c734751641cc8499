"""What a simulated machine and its GPUs are doing, as its system and its driver would tell."""

import random
from collections.abc import Collection

from computepool.agent.simulated.machines import SimulatedMachine
from computepool.protocol.messages import GpuLoad, NodeReport
from computepool.protocol.telemetry import MachineLoad


def report_of(machine: SimulatedMachine, busy: Collection[str], rng: random.Random) -> NodeReport:
    gpus = tuple(_load(machine, gpu.id, gpu.id in busy, rng) for gpu in machine.capacity.gpus)
    return NodeReport(gpus=gpus, machine=_machine_load(machine, len(busy) / max(len(gpus), 1), rng))


def _machine_load(machine: SimulatedMachine, busy: float, rng: random.Random) -> MachineLoad:
    capacity = machine.capacity
    return MachineLoad(
        cpu=round(min(1.0, busy * rng.uniform(0.5, 0.8) + rng.uniform(0.01, 0.05)), 4),
        memory_used_bytes=int(capacity.memory_bytes * (busy * rng.uniform(0.3, 0.5) + rng.uniform(0.1, 0.15))),
        disk_used_bytes=int(capacity.disk_bytes * 0.3),
        received_bytes_per_second=round(rng.uniform(500, 5_000) * (1 + 100 * busy)),
        sent_bytes_per_second=round(rng.uniform(500, 5_000) * (1 + 20 * busy)),
    )


def _load(machine: SimulatedMachine, gpu_id: str, is_busy: bool, rng: random.Random) -> GpuLoad:
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
