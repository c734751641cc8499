"""Keyboard and mouse of a Mac."""

import ctypes
import ctypes.util
import re
from collections.abc import Callable

from computepool.agent.owner.readings import Idle, Unknown
from computepool.agent.owner.signals.machine import Machine

_COMBINED_SESSION = 0
_ANY_INPUT = 0xFFFFFFFF
IOREG_SECONDS = 5.0
"""A program per look: not more often than this."""


class MacInput:
    """CoreGraphics costs microseconds; where it cannot be had, `ioreg` is asked now and then."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._since_input = _core_graphics() if machine.platform == "darwin" else None
        self._asked_at: float | None = None
        self._last: Idle | Unknown = Unknown("not looked at yet")

    def read(self) -> Idle | Unknown:
        if self._since_input is not None:
            return Idle(max(0.0, self._since_input(_COMBINED_SESSION, _ANY_INPUT)))
        now = self._machine.monotonic()
        if self._asked_at is None or now >= self._asked_at + IOREG_SECONDS:
            self._asked_at, self._last = now, self._ask()
        return self._last

    def _ask(self) -> Idle | Unknown:
        answer = self._machine.ask("ioreg", "-c", "IOHIDSystem", "-d", "4")
        if isinstance(answer, Unknown):
            return answer
        found = re.search(r'"HIDIdleTime"\s*=\s*(\d+)', answer)
        return Idle(int(found[1]) / 1_000_000_000) if found else Unknown("ioreg does not tell the idle time")


def _core_graphics() -> Callable[[int, int], float] | None:
    path = ctypes.util.find_library("ApplicationServices")
    if path is None:
        return None
    try:
        function = ctypes.CDLL(path).CGEventSourceSecondsSinceLastEventType
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_int32, ctypes.c_uint32]

    def seconds(source: int, kind: int) -> float:
        return float(function(source, kind))

    return seconds
