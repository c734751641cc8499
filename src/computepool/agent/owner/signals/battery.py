"""Whether the machine lives on its battery."""

import ctypes

from computepool.agent.owner.readings import Unknown
from computepool.agent.owner.signals.machine import Machine

FOLDER = "/sys/class/power_supply"
MAINS = frozenset({"Mains", "USB", "USB_C", "USB_PD", "Wireless"})


def read_battery(machine: Machine) -> bool | Unknown:
    if machine.platform == "darwin":
        return _macos(machine)
    if machine.platform == "win32":
        return _windows()
    return _linux(machine)


def _linux(machine: Machine) -> bool | Unknown:
    discharging = mains = False
    try:
        supplies = sorted(machine.file(FOLDER).iterdir())
    except FileNotFoundError:
        return False
    except OSError as error:
        return Unknown(f"{FOLDER}: {error.strerror}")
    for supply in supplies:
        kind = machine.text(supply / "type")
        if kind in MAINS:
            mains = mains or machine.text(supply / "online") == "1"
        # A mouse has a battery too: its scope is a device.
        elif kind == "Battery" and machine.text(supply / "scope") != "Device":
            discharging = discharging or machine.text(supply / "status") == "Discharging"
    # A full battery may report "Discharging" for a moment on mains.
    return discharging and not mains


def _macos(machine: Machine) -> bool | Unknown:
    answer = machine.ask("pmset", "-g", "batt")
    if isinstance(answer, Unknown):
        return answer
    if "AC Power" in answer:
        return False
    return True if "Battery Power" in answer else Unknown("pmset says nothing of the power's source")


class _PowerStatus(ctypes.Structure):
    _fields_ = (
        ("line", ctypes.c_ubyte),
        ("flag", ctypes.c_ubyte),
        ("percent", ctypes.c_ubyte),
        ("saver", ctypes.c_ubyte),
        ("life_seconds", ctypes.c_ulong),
        ("full_seconds", ctypes.c_ulong),
    )


def _windows() -> bool | Unknown:
    system = getattr(ctypes, "windll", None)
    status = _PowerStatus()
    if system is None or not system.kernel32.GetSystemPowerStatus(ctypes.byref(status)) or status.line not in (0, 1):
        return Unknown("Windows does not tell the power's source")
    return bool(status.line == 0)
