"""Capping a GPU's power, and giving the owner's own limit back, even after a crash."""

import contextlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from computepool.agent.detect.displays import read_number
from computepool.agent.detect.loads import sensor_folder
from computepool.agent.detect.nvml import Nvml

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PowerKnob:
    """How the limit of one GPU is read and set, in watts."""

    limit: float
    lowest: float
    highest: float
    set: Callable[[float], bool]


def nvml_knob(nvml: Nvml, handle: Any) -> PowerKnob | None:
    limit = nvml.ask("nvmlDeviceGetPowerManagementLimit", handle)
    bounds = nvml.ask("nvmlDeviceGetPowerManagementLimitConstraints", handle)
    if limit is None or bounds is None:
        return None

    def change(watts: float) -> bool:
        milliwatts = round(watts * 1000)
        # It answers nothing, whether it was done or not: only the limit itself tells.
        nvml.ask("nvmlDeviceSetPowerManagementLimit", handle, milliwatts)
        return bool(nvml.ask("nvmlDeviceGetPowerManagementLimit", handle) == milliwatts)

    return PowerKnob(limit / 1000, bounds[0] / 1000, bounds[1] / 1000, change)


def kernel_knob(device: Path) -> PowerKnob | None:
    sensors = sensor_folder(device)
    numbers = [read_number(sensors / f"power1_cap{end}") for end in ("", "_min", "_max")] if sensors else [None]
    if sensors is None or None in numbers:
        return None
    limit, lowest, highest = (number or 0 for number in numbers)

    def change(watts: float) -> bool:
        microwatts = round(watts * 1e6)
        with contextlib.suppress(OSError):
            (sensors / "power1_cap").write_text(str(microwatts))
        return read_number(sensors / "power1_cap") == microwatts

    return PowerKnob(limit / 1e6, lowest / 1e6, highest / 1e6, change)


class PowerLimits:
    """Remembers the limits that were there before, in a file, so that the next start can restore them too."""

    def __init__(self, note: Path | None) -> None:
        self._note = note
        self._before: dict[str, float] = {}
        with contextlib.suppress(OSError, ValueError):
            told = json.loads(note.read_text()) if note else {}
            if isinstance(told, dict):
                self._before = {str(key): float(value) for key, value in told.items() if isinstance(value, int | float)}

    @property
    def capped(self) -> Mapping[str, float]:
        """The owner's own limits (watts) of those GPUs that are capped now."""
        return dict(self._before)

    def cap(self, gpu_id: str, knob: PowerKnob, watts: float) -> bool:
        wanted = min(max(watts, knob.lowest), knob.highest)
        is_new = gpu_id not in self._before
        if is_new:
            self._before[gpu_id] = knob.limit
            if not self._save():
                # Without a note, a crash would leave the owner with a slow card for good.
                del self._before[gpu_id]
                return False
        if knob.set(wanted):
            return True
        if is_new:
            del self._before[gpu_id]
            self._save()
        return False

    def restore(self, gpu_id: str, knob: PowerKnob) -> bool:
        before = self._before.get(gpu_id)
        if before is None:
            return True
        if not knob.set(before):
            return False
        del self._before[gpu_id]
        self._save()
        return True

    def _save(self) -> bool:
        if self._note is None:
            return True
        try:
            if self._before:
                draft = self._note.with_name(f"{self._note.name}.new")
                draft.write_text(json.dumps(self._before))
                draft.replace(self._note)
            else:
                self._note.unlink(missing_ok=True)
        except OSError as error:
            log.warning("power.note", extra={"why": str(error)})
            return False
        return True
