"""The load of the whole machine: processor, memory, disk and network, from the files of Linux.

Elsewhere only the disk is told.
"""

import contextlib
import shutil
from pathlib import Path

from computepool.agent.detect.tools import ROOT
from computepool.protocol.telemetry import MachineLoad

IDLE_FIELDS = (3, 4)
"""Of the line `cpu` in /proc/stat: idle, and waiting for a disk."""
BUSY_FIELDS = 8
"""What follows counts the time of guests, which is in the first ones already."""


class MachineMeter:
    """Rates are since the reading before; the first has none."""

    def __init__(self, folder: Path, root: Path = ROOT) -> None:
        self._folder = folder
        self._root = root
        self._ticks: tuple[int, int] | None = None
        self._network: tuple[float, int, int] | None = None

    def read(self, now: float) -> MachineLoad:
        """`now` is on a clock that does not jump. Blocks for a few small files."""
        received, sent = self._read_network(now)
        return MachineLoad(
            cpu=self._read_cpu(),
            memory_used_bytes=self._read_memory(),
            disk_used_bytes=self._read_disk(),
            received_bytes_per_second=received,
            sent_bytes_per_second=sent,
        )

    def _read_cpu(self) -> float | None:
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = [int(field) for field in (self._root / "proc/stat").read_text().split("\n", 1)[0].split()[1:]]
            total = sum(fields[:BUSY_FIELDS])
            busy, before = total - sum(fields[place] for place in IDLE_FIELDS), self._ticks
            self._ticks = (busy, total)
            if before is not None and total > before[1]:
                return round(min(max((busy - before[0]) / (total - before[1]), 0.0), 1.0), 4)
        return None

    def _read_memory(self) -> int | None:
        with contextlib.suppress(OSError, ValueError, KeyError, IndexError):
            lines = (line.partition(":") for line in (self._root / "proc/meminfo").read_text().splitlines())
            told = {name: int(rest.split()[0]) * 1024 for name, _, rest in lines}
            return max(0, told["MemTotal"] - told["MemAvailable"])
        return None

    def _read_disk(self) -> int | None:
        with contextlib.suppress(OSError):
            return shutil.disk_usage(self._folder).used
        return None

    def _read_network(self, now: float) -> tuple[float | None, float | None]:
        with contextlib.suppress(OSError, ValueError, IndexError):
            received, sent = self._count_bytes()
            before, self._network = self._network, (now, received, sent)
            if before is not None and now > before[0]:
                seconds = now - before[0]
                return (
                    round(max(0, received - before[1]) / seconds, 1),
                    round(max(0, sent - before[2]) / seconds, 1),
                )
        return None, None

    def _count_bytes(self) -> tuple[int, int]:
        """Of the network cards; where no interface is one, as in a container, of all but the loopback."""
        counted: dict[str, tuple[int, int]] = {}
        for line in (self._root / "proc/net/dev").read_text().splitlines()[2:]:
            name, _, rest = line.partition(":")
            fields = rest.split()
            counted[name.strip()] = (int(fields[0]), int(fields[8]))
        counted.pop("lo", None)
        cards = [name for name in counted if (self._root / "sys/class/net" / name / "device").exists()]
        chosen = [counted[name] for name in cards or counted]
        return sum(received for received, _ in chosen), sum(sent for _, sent in chosen)
