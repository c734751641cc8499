"""How many strangers' slices a node gets at once: as its measured hardware allows, and as it has earned. Pure.

What a node claims costs its owner nothing, so it decides nothing here. What the hub measured of it, and the strangers'
attempts that ended well there, cannot be had without the hardware.

    at once = max(1 + ok ÷ 2,  min(first + ok, measured))        at most what `Standing.slots` says

A measured node begins with `first` slices and has one more with each attempt that was ok, as far as its measured
hardware goes. Beyond that, and on a node that was never measured, it takes two of them.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from computepool.hub.market.requirements import MILLI
from computepool.hub.market.standing import Standing
from computepool.protocol.benchmark import CPU

TRUSTED_MARKS = frozenset({"matches", "too_slow", "too_fast"})
"""Of devices whose answers were right: their speed is a fact, whatever their name."""
SLOW_BACKEND = "python"
"""An agent without NumPy computes the challenge in plain Python, on one core: that says nothing of the others, nor of
the processor's speed."""
CORE_GFLOPS = 5.0
"""What a core computes in the hub's challenge, rather less than more: a speed counts as so many cores."""
OK_FOR_ONE_MORE = 2
"""Attempts that were ok, for one slice more at once beyond what was measured."""


PROVEN_OK = 10
"""Strangers' attempts that were ok, after which a node has a record of its own."""


class MeasuredCapacity(NamedTuple):
    """What a node was measured to have, whatever it claims."""

    cores: float = 0.0
    gpus: frozenset[str] = frozenset()
    """Their ids."""

    @property
    def cpu_millis(self) -> int:
        return round(self.cores * MILLI)

    @property
    def slices(self) -> int:
        return max(int(self.cores), len(self.gpus))


UNMEASURED = MeasuredCapacity()


class Trial(NamedTuple):
    """Of a node whose claims are not facts."""

    first: int
    """Slices at once with which it begins, if its hardware was measured; 0 for as many as it claims to hold."""
    measured: MeasuredCapacity = UNMEASURED


def measured_capacity(devices: Iterable[Mapping[str, Any]]) -> MeasuredCapacity:
    """Of what an examination says of each device."""
    cores, gpus = 0.0, set()
    for device in devices:
        if device.get("mark") not in TRUSTED_MARKS or not device.get("gflops"):
            continue
        if device["device"] != CPU:
            gpus.add(str(device["device"]))
        elif device.get("backend") == SLOW_BACKEND:
            cores = 1.0
        else:
            cores = max(1.0, float(device["gflops"]) / CORE_GFLOPS)
    return MeasuredCapacity(cores, frozenset(gpus))


def is_on_trial(standing: Standing, trial: Trial | None) -> bool:
    """Whether nothing but its own word speaks for it yet. `trial` is None where nobody doubts that."""
    return trial is not None and bool(trial.first) and not standing.marked and standing.ok_count < PROVEN_OK


def slices_at_once(standing: Standing, trial: Trial | None) -> int | None:
    """None for as many as it claims to hold. `trial` is None where nobody doubts that."""
    if trial is None or not trial.first or standing.marked:
        return standing.slots
    ok_count = standing.ok_count
    earned = max(1 + ok_count // OK_FOR_ONE_MORE, min(trial.first + ok_count, trial.measured.slices))
    return earned if standing.slots is None else min(standing.slots, earned)
