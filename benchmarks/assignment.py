"""A round of matching: ten thousand slices that wait, a thousand slots that are free; and how much a round that looks
at one slice after the other costs more than the best assignment of all at once."""

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks.market_fleet import BASE, FEASIBLE, GIB, SEED, invent_node
from benchmarks.measure import Data, Table
from computepool.hub.jobs.receipts import Order
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet import Fleet, FleetNode, Held, free_of, grant_on, take_room
from computepool.hub.scheduling.scoring import rank_of
from computepool.protocol.gpus import GpuRequest
from computepool.protocol.spec import Optimize
from computepool.protocol.states import IsolationLevel
from computepool.protocol.units import Range

ORDER = Order("job_x", "sha256:spec", "sha256:manifest", IsolationLevel.BUBBLEWRAP, 3600.0)
TARGET_SHARE = 0.05
SLICES, SLOTS = 60, 300
"""Of one sample of the comparison."""
IMPOSSIBLE = 1e12


def _slots(rng: random.Random, count: int) -> Fleet:
    """Free nodes with one card each, and room for one slice."""
    fleet = Fleet()
    while len(fleet) < count:
        node = invent_node(rng, len(fleet), count)
        if not node.traits.gpus:
            continue
        node.traits = replace(node.traits, gpus=node.traits.gpus[:1], cpu_millis=4000, tags=frozenset({"any"}))
        node.free = free_of(node.traits)
        node.free.memory_bytes = 12 * GIB
        fleet.put(node)
    return fleet


def _slices(rng: random.Random, count: int) -> list[Requirements]:
    whole = replace(BASE, cpu_millis=4000, memory_bytes=8 * GIB, optimize=Optimize.COST, image=None)
    asked = [
        GpuRequest(),
        GpuRequest(memory=Range[int](minimum=8 * GIB)),
        GpuRequest(memory=Range[int](minimum=12 * GIB)),
        GpuRequest(memory=Range[int](minimum=24 * GIB)),
        GpuRequest(name="rtx-3060"),
        GpuRequest(name="rtx-4090"),
    ]
    return [replace(whole, gpu=rng.choice(asked)) for _ in range(count)]


def _take(node: FleetNode, needs: Requirements, number: int) -> None:
    take_room(node, Held(f"attempt_{number}", 1, grant_on(node, needs), ORDER, renewed_at=0.0))


def match_many(slices: int, slots: int) -> Data:
    rng = random.Random(SEED)
    fleet, waiting = _slots(rng, slots), _slices(rng, slices)
    for needs in FEASIBLE:
        fleet.choose(needs)
    placed, looked, in_vain = 0, 0, set()
    began = time.perf_counter()
    for number, needs in enumerate(waiting):
        if needs in in_vain:  # as a round does: what found nothing is not tried again until something changes
            continue
        looked += 1
        node = fleet.choose(needs)
        if node is None:
            in_vain.add(needs)
        else:
            placed += 1
            _take(node, needs, number)
    seconds = time.perf_counter() - began
    could = sum(any(fleet.gate(needs, node) is None for needs in set(waiting)) for node in fleet)
    return {
        "slices": slices,
        "slots": slots,
        "placed": placed,
        "looked": looked,
        "left_unused": could,
        "seconds": round(seconds, 3),
    }


def compare(samples: int) -> Data:
    """Expected cost of all slices of a sample, against the exact assignment."""
    try:
        import scipy.optimize  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return {"untested": "scipy is missing: `pip install scipy` into the environment, and run it again"}
    shares, unplaced = [], 0
    for seed in range(samples):
        rng = random.Random(seed)
        fleet, waiting = _slots(rng, SLOTS), _slices(rng, SLICES)
        costs = [[_cost(fleet, needs, node) for node in fleet] for needs in waiting]
        placed = _one_by_one(fleet, waiting)
        unplaced += SLICES - len(placed)
        exact = _exact(scipy.optimize, [costs[number] for number in placed])
        shares.append(sum(placed.values()) / exact - 1)
    return {
        "samples": samples,
        "slices": SLICES,
        "slots": SLOTS,
        "unplaced": unplaced,
        "mean_share": round(sum(shares) / len(shares), 4),
        "worst_share": round(max(shares), 4),
    }


def _cost(fleet: Fleet, needs: Requirements, node: FleetNode) -> float:
    if fleet.gate(needs, node) is not None:
        return IMPOSSIBLE
    return rank_of(node.traits, node.free.cpu_millis, node.cached, needs, ())[0]


def _exact(optimize: Any, costs: Sequence[Sequence[float]]) -> float:
    rows, columns = optimize.linear_sum_assignment(costs)
    return float(sum(costs[row][column] for row, column in zip(rows, columns, strict=True)))


def _one_by_one(fleet: Fleet, waiting: Sequence[Requirements]) -> dict[int, float]:
    """The cost of each slice that found a node."""
    placed = {}
    for number, needs in enumerate(waiting):
        node = fleet.choose(needs)
        if node is not None:
            placed[number] = _cost(fleet, needs, node)
            _take(node, needs, number)
    return placed


def tables(data: Data) -> list[Table]:
    match, quality = data["round"], data["quality"]
    rows = [
        [
            f"{match['slices']:,} slices × {match['slots']:,} free slots",
            f"{match['seconds']:.2f} s, {match['placed']:,} placed, {match['left_unused']} usable slots left",
        ]
    ]
    if "untested" in quality:
        rows.append(["against the exact assignment", f"untested: {quality['untested']}"])
    else:
        mean, worst = quality["mean_share"], quality["worst_share"]
        met = "✓" if mean <= TARGET_SHARE else "✗"
        rows.append(
            [
                f"against the exact assignment, {quality['slices']} slices × {quality['slots']} slots, "
                f"{quality['samples']} samples",
                f"{mean:.1%} dearer, {worst:.1%} at worst; ≤ {TARGET_SHARE:.0%} {met}; "
                f"{quality['unplaced']} slices left to wait",
            ]
        )
    return [
        Table(
            "A round of matching",
            ("", ""),
            rows,
            "Cost is the expected cost to finish, summed over all slices (`optimize: cost`).",
        )
    ]
