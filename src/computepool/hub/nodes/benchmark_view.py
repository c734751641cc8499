"""What a node's owner sees of its examination."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel

from computepool.hub.nodes.benchmarks import UNVERIFIED, Benchmark, hardware_digest
from computepool.protocol.capacity import Capacity


class BenchmarkView(BaseModel):
    """What the hub measured of a node, and what it makes of it."""

    mark: str
    """unverified, matches, too_slow, too_fast or failed"""
    words: str
    tier: float | None
    """The multiplier of its price."""
    tier_basis: str | None
    """Whether the tier is the card's, was measured, or is only claimed."""
    devices: list[dict[str, Any]]
    """The figures of each. What is `reported` in them is what the agent says; the rest is the hub's."""
    line: dict[str, Any]
    measured_at: datetime | None


def benchmark_view(row: Benchmark | None, capacity: Capacity) -> BenchmarkView:
    if row is None:
        why = "it only pretends to compute" if capacity.simulated else "it was not examined yet"
        return BenchmarkView(
            mark=UNVERIFIED, words=why, tier=None, tier_basis=None, devices=[], line={}, measured_at=None
        )
    same = row.hardware == hardware_digest(capacity)
    return BenchmarkView(
        mark=row.mark if same else UNVERIFIED,
        words=row.words if same else "its hardware or a driver changed since it was examined",
        tier=row.tier_millis / 1000,
        tier_basis=row.tier_basis if same else "claimed",
        devices=row.figures["devices"],
        line=row.figures["line"],
        measured_at=row.measured_at,
    )
