"""What a node is examined with, and what follows from its answers: plain functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from computepool.hub.market.tiers import Finding, Mark, Tier
from computepool.protocol.benchmark import MOST_SEGMENTS, BenchmarkReady, BenchmarkTask
from computepool.protocol.challenge import ROUNDS, SIZES, product_flops

CPU_SECONDS = 2.0
"""Long enough that the way to the hub hardly counts."""
GPU_SECONDS = 15.0
"""At most: a card's memory is filled as far as that allows."""
UNDERSTATED = 3.0
"""A first impression may be wrong, but not so much."""
OPENINGS = 24
"""Of a node that computed nine tenths, one in twelve passes; of one that computed half, one in sixteen million."""

READY_SECONDS = 90.0
"""Large libraries load slowly from a slow disk."""
FILL_GRACE_SECONDS = 20.0
FILL_SLACK = 4.0
"""A first impression of a machine's speed may be that far off."""
MEMORY_GRACE_SECONDS = 1.0
MEMORY_SHARE = 0.15
"""Reading everything takes a hundredth of the time that computing it did. Who threw away more than a small part of it
has to compute that again, and is late."""
DIGEST_SECONDS = 30.0
REVEAL_SECONDS = 90.0
"""A megabyte, on a slow line."""

_WORST_FIRST: tuple[Mark, ...] = ("failed", "too_slow", "too_fast", "unverified", "matches")


@dataclass(frozen=True)
class Plan:
    task: BenchmarkTask
    asked_all: bool
    """Everything that the node said it could fill."""
    expected_seconds: float
    short_of_time: bool = False
    """More would have taken too long, at the speed that the node said."""

    @property
    def flops(self) -> float:
        return self.task.states * product_flops(self.task.size)

    @property
    def filled_bytes(self) -> int:
        return self.task.states * self.task.size**2

    @property
    def fill_seconds(self) -> float:
        return FILL_GRACE_SECONDS + FILL_SLACK * self.expected_seconds


def make_plan(ready: BenchmarkReady, seed: bytes, claimed_bytes: int | None) -> Plan:
    """`claimed_bytes` is a GPU's memory, as its node says; None for a CPU, whose memory is nobody's question."""
    size, rounds = SIZES[ready.backend], ROUNDS[ready.backend]
    each_seconds = product_flops(size) / max(ready.gflops * 1e9, 1e6)
    room_bytes = min(ready.room_bytes, claimed_bytes or ready.room_bytes)
    by_room = room_bytes // (size * size * rounds)
    by_time = int((CPU_SECONDS if claimed_bytes is None else GPU_SECONDS) / (each_seconds * rounds))
    segments = max(1, min(by_room, by_time, size, MOST_SEGMENTS))
    task = BenchmarkTask(challenge_id=ready.challenge_id, seed=seed, size=size, rounds=rounds, segments=segments)
    short = by_time < min(by_room, size, MOST_SEGMENTS)
    return Plan(task, by_room <= segments, task.states * each_seconds, short)


def memory_is_answered_for(plan: Plan, fill_seconds: float) -> bool:
    """Whether what was filled is all that the node has. One that said it was slow, to be asked for little, and then was
    done early, has to answer for what it claims all the same."""
    return plan.asked_all or (plan.short_of_time and fill_seconds < GPU_SECONDS / UNDERSTATED)


def is_late(fill_seconds: float, digest_seconds: float) -> bool:
    return digest_seconds > MEMORY_GRACE_SECONDS + MEMORY_SHARE * fill_seconds


@dataclass(frozen=True)
class Examined:
    """One device, and what came of it."""

    device: str
    is_gpu: bool
    finding: Finding
    figures: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        tier = self.finding.tier
        return {
            "device": self.device,
            "mark": self.finding.mark,
            "words": self.finding.words,
            "tier_millis": tier.millis,
            "tier_basis": tier.basis,
            **self.figures,
        }


def mark_of(devices: Sequence[Examined]) -> tuple[Mark, str]:
    """The worst of them speaks for the node."""
    worst = min(devices, key=lambda one: _WORST_FIRST.index(one.finding.mark))
    return worst.finding.mark, f"{worst.device}: {worst.finding.words}"


def tier_of_node(devices: Sequence[Examined]) -> Tier:
    """Of its GPUs the least; the processor's where it has none."""
    counted = [one for one in devices if one.is_gpu] or list(devices)
    return min((one.finding.tier for one in counted), key=lambda tier: tier.millis)
