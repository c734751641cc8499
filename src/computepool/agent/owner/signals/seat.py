"""Whether a person can sit at this machine at all, or whether it is a server."""

import contextlib

from computepool.agent.owner.readings import Unknown
from computepool.agent.owner.signals.machine import Machine
from computepool.agent.owner.signals.sessions import list_sessions
from computepool.agent.owner.signals.x11 import local_display

SEAT0 = "/run/systemd/seats/seat0"


def has_logind(machine: Machine) -> bool:
    return machine.file(SEAT0).is_file()


def read_seat(machine: Machine) -> bool | Unknown:
    if machine.platform != "linux" or machine.is_wsl:
        # A Mac or a Windows computer is somebody's, until its owner says otherwise.
        return True
    sessions = list_sessions(machine)
    if any(session.is_graphical or session.seat for session in sessions):
        return True
    if "WAYLAND_DISPLAY" in machine.environ or local_display(machine.environ.get("DISPLAY", "")) is not None:
        return True
    if has_logind(machine):
        return False
    # Without logind, as in a container: a monitor or a keyboard may be somebody's, and who uses it cannot be seen.
    if _has_monitor(machine):
        return Unknown('a monitor is connected, but there is no logind to ask; set seat = "yes" or "no"')
    if _has_keyboard(machine):
        return Unknown('a keyboard is connected, but there is no logind to ask; set seat = "yes" or "no"')
    return False


def _has_monitor(machine: Machine) -> bool:
    with contextlib.suppress(OSError):
        return any(machine.text(path) == "connected" for path in machine.file("/sys/class/drm").glob("card*-*/status"))
    return False


def _has_keyboard(machine: Machine) -> bool:
    """Power buttons are keyboards to the kernel too: only what also has letters counts."""
    devices = machine.text("/proc/bus/input/devices") or ""
    for block in devices.split("\n\n"):
        handlers = next((line for line in block.splitlines() if line.startswith("H: Handlers=")), "")
        # EV=120013: keys, repeated, with lights. A power button has EV=3.
        if "kbd" in handlers and any(line.startswith("B: EV=120013") for line in block.splitlines()):
            return True
    return False
