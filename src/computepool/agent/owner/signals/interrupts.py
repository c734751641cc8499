"""Keyboards and touchpads that have an interrupt of their own: a count that grows is a hand on them.

Seen without reading a single key. It can show that somebody is there, never that nobody is: USB has no line of its own.
"""

import contextlib
import os
import re

from computepool.agent.owner.signals.machine import Machine

FOLDER = "/sys/kernel/irq"
INPUT = re.compile(r"i8042|i2c[_-]hid|hid-over-i2c|ELAN|SYNA|touchpad|atkbd", re.IGNORECASE)
FIND_AGAIN_SECONDS = 300.0


class InputInterrupts:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._found_at: float | None = None
        self._lines: list[str] = []
        self._counts: dict[str, str] = {}
        self._used_at: float | None = None

    def idle_seconds(self) -> float | None:
        """Since the last touch that was seen; None if there was none yet."""
        now = self._machine.monotonic()
        if self._found_at is None or now >= self._found_at + FIND_AGAIN_SECONDS:
            self._found_at, self._lines = now, self._find()
        for line in self._lines:
            count = self._machine.text(f"{FOLDER}/{line}/per_cpu_count")
            if count is None:
                continue
            if self._counts.get(line, count) != count:
                self._used_at = now
            self._counts[line] = count
        return None if self._used_at is None else now - self._used_at

    def _find(self) -> list[str]:
        with contextlib.suppress(OSError):
            names = os.listdir(self._machine.file(FOLDER))  # noqa: PTH208 - names are all that is wanted
            return [name for name in names if INPUT.search(self._machine.text(f"{FOLDER}/{name}/actions") or "")]
        return []
