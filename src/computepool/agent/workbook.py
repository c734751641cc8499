"""What work has cost the machine: time and energy, by day, kept through restarts for this month and the last."""

import contextlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from computepool.agent.home import write_atomically

KEPT_DAYS = 62
SAVE_SECONDS = 60.0


@dataclass
class Day:
    seconds: float = 0.0
    joules: float = 0.0
    """What the GPUs drew, as their drivers said; 0 where none does."""
    measured: bool = False


class WorkBook:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._days: dict[str, Day] = {}
        self._unsaved = 0.0
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            told = json.loads(file.read_text())
            self._days = {str(day): Day(**figures) for day, figures in told.items()}

    def add(self, now: datetime, seconds: float, watts: float | None) -> None:
        """`now` is local: days are the owner's."""
        day = self._days.setdefault(f"{now:%Y-%m-%d}", Day())
        day.seconds += seconds
        if watts is not None:
            day.joules += watts * seconds
            day.measured = True
        self._unsaved += seconds

    def today(self, now: datetime) -> Day:
        return self._days.get(f"{now:%Y-%m-%d}", Day())

    def month(self, now: datetime) -> Day:
        days = [figures for day, figures in self._days.items() if day.startswith(f"{now:%Y-%m}")]
        return Day(sum(day.seconds for day in days), sum(day.joules for day in days), any(day.measured for day in days))

    def save_if_due(self, now: datetime) -> None:
        if self._unsaved >= SAVE_SECONDS:
            self.save(now)

    def save(self, now: datetime) -> None:
        """Blocking. A disk that is full costs the figures of a minute, not the agent."""
        if not self._unsaved:
            return
        first = f"{now - timedelta(days=KEPT_DAYS):%Y-%m-%d}"
        self._days = {day: figures for day, figures in self._days.items() if day >= first}
        with contextlib.suppress(OSError):
            write_atomically(self._file, json.dumps({day: vars(each) for day, each in self._days.items()}).encode())
            self._unsaved = 0.0
