"""What renters ask for in a whole world."""

import random
from typing import Any

from simulation.jobs import CHECKPOINT
from simulation.parts import Faults

DEAR = "1000"
"""A ceiling in credits that is higher than whatever is asked for here."""
CEILINGS = ("0.3", "5")
"""Lower than what some hosts ask for while troubles last; in the end all of them ask for nothing."""


def make_spec(rng: random.Random, faults: Faults, kind: str, *, harmless: bool) -> dict[str, object]:
    """Long ones are there to be cut off: with their line, by their owner, by a time limit that they keep."""
    seconds = rng.choice((0.5, 5.0, 40.0, 130.0) if kind != "lazy" else (0.5, 5.0))
    network = rng.random() < 0.5 and not harmless
    if network:
        seconds = rng.choice((40.0, 250.0, 350.0))
        faults.fired["network_job"] += 1
    spec: dict[str, Any] = {
        "run": ["sim", str(seconds), str(rng.choice((0, 0, 0, 1))), str(rng.choice((0, 100, 5000))), kind],
        "slices": rng.choice((1, 1, 3)) if seconds < 200 else 1,
        "retries": rng.choice((0, 2)),
        "resources": {"cpus": rng.choice((1, 2)), "memory": "1GB", "disk": "1GB"},
    }
    if kind != "plain":
        # Troubles last for minutes here: folders are saved more often than elsewhere.
        spec["checkpoint"] = {"path": CHECKPOINT, "every": "20s"}
    if network:
        spec["network"] = True
    if seconds >= 40 and rng.random() < 0.5:
        spec["max_runtime"] = f"{int(seconds) + 20}s"
    if not harmless:
        _bargain(rng, faults, spec)
    return spec


def _bargain(rng: random.Random, faults: Faults, spec: dict[str, Any]) -> None:
    if rng.random() < 0.25:
        spec["resources"]["gpu"] = {"count": rng.choice((1, 2))}
        spec["max_price"] = DEAR
        faults.fired["gpu_job"] += 1
    elif rng.random() < 0.5:
        spec["max_price"] = rng.choice(CEILINGS)
        faults.fired["ceiling"] += 1
    if rng.random() < 0.3:
        spec["preemptible"] = True
        faults.fired["preemptible_job"] += 1


def make_checked_spec(rng: random.Random, faults: Faults) -> dict[str, object]:
    """Run twice, at different owners', and compared."""
    faults.fired["checked_job"] += 1
    return {
        "run": ["sim", str(rng.choice((5.0, 40.0))), "0", "100", "answers"],
        "retries": 2,
        "resources": {"cpus": 1, "memory": "1GB", "disk": "1GB"},
        "max_price": DEAR,
        "deterministic": True,
        "verify": {"replicas": 2},
    }
