"""Samples become figures; a run becomes a file that says when, where and under which load it was measured."""

import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).resolve().parent / "results"
PEERS = Path(__file__).resolve().parent / "peers.json"
Data = dict[str, Any]
"""What a benchmark measured: JSON as it is."""
Figure = TypeVar("Figure", int, float)


@dataclass(frozen=True)
class Options:
    quick: bool
    """A smoke test: every step at the smallest size, on a machine that may be busy. Not kept in git."""
    count: int | None = None
    """How many samples of each kind, instead of the benchmark's own number."""

    def figure(self, quick: Figure, full: Figure) -> Figure:
        return quick if self.quick else full

    def samples(self, quick: int, full: int) -> int:
        return self.count or self.figure(quick, full)


@dataclass(frozen=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


class Unavailable(Exception):
    """This machine lacks what a measurement needs. The text says what; the table says "untested"."""


def measured(measure: Callable[[], Data]) -> Data:
    """What `measure` returns, or why it cannot be measured here: `{"untested": reason}`."""
    try:
        return measure()
    except Unavailable as error:
        return {"untested": str(error)}


def untested_table(title: str, data: Data) -> Table:
    return Table(title, ("",), [[f"untested: {data['untested']}"]])


def percentile(samples: Sequence[float], share: float) -> float:
    """Interpolated between its two neighbours."""
    ordered = sorted(samples)
    place = (len(ordered) - 1) * share
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def summary_ms(samples_seconds: Sequence[float]) -> dict[str, float]:
    milliseconds = [sample * 1000 for sample in samples_seconds]
    figures = {
        "p50_ms": percentile(milliseconds, 0.50),
        "p95_ms": percentile(milliseconds, 0.95),
        "p99_ms": percentile(milliseconds, 0.99),
        "min_ms": min(milliseconds),
        "max_ms": max(milliseconds),
        "mean_ms": statistics.fmean(milliseconds),
    }
    return {"n": len(milliseconds), **{name: round(value, 4) for name, value in figures.items()}}


def ms(figures: Mapping[str, float], *names: str) -> str:
    """`1.23 / 4.56`, of the percentiles named."""
    return " / ".join(_short(figures[f"{name}_ms"]) for name in names)


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def judged(ratio: float, target: float, *, at_least: bool = False) -> str:
    met = ratio >= target if at_least else ratio <= target
    return f"{'≥' if at_least else '≤'} {target:g}× {'✓' if met else '✗'}"


def megabytes(size_bytes: float) -> str:
    return f"{size_bytes / 1e6:.1f} MB"


class Run:
    """Facts about one run, from before its first sample to after its last."""

    def __init__(self, name: str, options: Options) -> None:
        self._name = name
        self._options = options
        self._facts = machine() | {"load_at_start": os.getloadavg()}
        self._began = time.monotonic()

    def save(self, data: Data, folder: Path = RESULTS) -> Data:
        seconds = round(time.monotonic() - self._began, 1)
        facts = self._facts | {"load_at_end": os.getloadavg(), "seconds": seconds, "quick": self._options.quick}
        kept = {"benchmark": self._name, "run": facts, "data": data}
        folder.mkdir(parents=True, exist_ok=True)
        ending = ".local.json" if self._options.quick else ".json"
        (folder / f"{self._name}{ending}").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
        return kept


def machine() -> Data:
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "--short=12", "HEAD")
        + ("+changes" if _git("status", "--porcelain", "-uno") else ""),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "cpu": _cpu_name(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
    }


def _git(*arguments: str) -> str:
    """Its answer; nothing on a machine without git, or outside of a checkout."""
    if shutil.which("git") is None:
        return ""
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
