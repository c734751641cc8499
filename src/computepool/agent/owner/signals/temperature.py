"""The processor's temperature: the hottest of the thermometers that belong to it."""

import contextlib
from collections.abc import Iterator

from computepool.agent.owner.readings import Unknown
from computepool.agent.owner.signals.machine import Machine

CPU_CHIPS = frozenset({"coretemp", "k10temp", "zenpower", "cpu_thermal", "via_cputemp", "fam15h_power", "cpu-thermal"})
CPU_ZONES = ("x86_pkg_temp", "cpu", "soc", "tcpu")
PLAUSIBLE = range(1, 150)


def read_cpu_celsius(machine: Machine) -> float | Unknown:
    if machine.platform != "linux":
        return Unknown("this system tells no program its temperature")
    found = list(_chips(machine)) or list(_zones(machine))
    return max(found) if found else Unknown("no thermometer of the processor is found")


def _chips(machine: Machine) -> Iterator[float]:
    with contextlib.suppress(OSError):
        for chip in machine.file("/sys/class/hwmon").iterdir():
            if machine.text(chip / "name") in CPU_CHIPS:
                for path in chip.glob("temp*_input"):
                    # Tctl is what the fan is steered by, up to 27 degrees above the truth.
                    label = machine.text(chip / path.name.replace("_input", "_label"))
                    if label != "Tctl" or not any(machine.text(other) == "Tdie" for other in chip.glob("temp*_label")):
                        yield from _celsius(machine.number(path))


def _zones(machine: Machine) -> Iterator[float]:
    with contextlib.suppress(OSError):
        for zone in machine.file("/sys/class/thermal").glob("thermal_zone*"):
            if (machine.text(zone / "type") or "").lower().startswith(CPU_ZONES):
                yield from _celsius(machine.number(zone / "temp"))


def _celsius(millis: float | None) -> Iterator[float]:
    # Broken thermometers show 0, -273 or 255.
    if millis is not None and int(millis / 1000) in PLAUSIBLE:
        yield millis / 1000
