"""Every benchmark runs at its smallest size, and what it found can be shown and written into the docs.

What it measured is not looked at: a test machine is busy.
"""

import gc
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from rich.console import Console
from support import children, engines
from support.pool import path_without

from benchmarks import processes, report
from benchmarks.__main__ import BENCHMARKS, measure, tables_of
from benchmarks.measure import Data, Options

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROWS: dict[str, dict[str, int | None]] = {
    "dispatch": {
        "Submit → the job's process is running (idle pool, bubblewrap), ms": 6,
        "Whole no-op jobs per second (bubblewrap, durable, with logs and receipts)": 2,
    },
    "scale": {
        "Allocation, ms (p50 / p99)": 2,
        "A long past, ms (p50 / p95 / p99)": 2,
        "Hub restart with 20 queued slices, s": 2,
        "A log line, from printed to in the reader's hands, ms": 1,
    },
    "scheduling": {
        "One allocation, ms (p50 / p99)": 2,
        "Beside other schedulers, ms (p50 / p95)": 6,
        "What nodes cost": 5,
        "A round of matching": 2,
        "Two renters, 200 slices against 20, over a simulated day": 3,
    },
    "ledger": {
        "Settlements a second, each durable when it is answered": 8,
        "Reading somebody's balances, ms (p50 / p99)": 2,
    },
    "memory": {"At rest": 2, "A hub with 5 agents": 3},
    "agent": {
        "At rest": 4,
        "On top of the bare engine": 2,
        "A job that logs 1 MB/s for 1 s": 3,
        "The owner says pause": 1,
        "3 simulated nodes in one process": 4,
    },
    "floods": {"Neighbours of a flood": 7},
    "api": {
        "Open event streams": 2,
        "Commit → event in a client's hands, ms": 1,
        "Public routes of a pool with 20 nodes, ms": 7,
        "Pages of a pool with 200 jobs and 20 nodes, ms": 9,
        "What telemetry costs": 2,
    },
    "auth": {"GETs a second of one CPU": 5},
    "web": {
        "Pages of the web app": 5,
        "The web app from a fresh clone, s": 1,
        "A long log in the browser": 4,
        "Change on the hub → on the screen, ms": 2,
        "Filter 10 offers, ms": 1,
    },
    "profile": {"Processor time of a no-op job, ms": 6, "Inside the hub": None, "Inside the agent": None},
}
"""The tables of a quick run with their rows; None: some."""

NEED_BUBBLEWRAP: dict[str, list[str]] = {
    "dispatch": [],
    "profile": [],
    "scale": ["lines", "past"],
    "memory": ["alone"],
    "agent": ["burst", "pause"],
    "api": ["streams"],
    "web": ["log"],
}
"""The parts that are untested where bubblewrap is missing; none are named where that is all of it."""


def _check_dispatch(data: Data) -> None:
    assert list(data["starts"]) == ["native", "python"]
    for figures in data["starts"].values():
        assert figures["floor"]["n"] == figures["pool"]["n"] > 0
    assert all(figures[who]["per_second"] > 0 for figures in data["jobs"].values() for who in ("floor", "pool"))


def _check_scale(data: Data) -> None:
    assert [found["nodes"] for found in data["allocation"]] == [5, 20]
    assert all(found["leased"] > found["submit"]["n"] / 2 for found in data["allocation"])
    assert data["past"]["submit"]["none"]["n"] == data["past"]["submit"]["finished"]["n"] > 0
    assert data["lines"]["n"] > 0


def _check_scheduling(data: Data) -> None:
    assert all(found["found"] > 0 for found in data["sizes"])
    assert data["heartbeat"]["marked"] == 0
    assert data["round"]["left_unused"] == 0
    assert data["quality"]["unplaced"] == 0


def _check_ledger(data: Data) -> None:
    for database in ("SQLite", "PostgreSQL"):
        rates = [found["per_second"] for found in data[database]["settlements"].values() if isinstance(found, dict)]
        assert len(rates) == 6
        assert min(rates) > 0
        assert data[database]["reads"]["short"]["n"] == data[database]["reads"]["long"]["n"] > 0


def _check_memory(data: Data) -> None:
    assert data["alone"]["jobs"] > 0
    assert data["crowd"]["agents"] == 5


def _check_agent(data: Data) -> None:
    assert data["burst"]["log_bytes"] == data["burst"]["expected_bytes"] > 0
    assert data["pause"]["n"] > 0
    assert data["simulated"]["still_online"] == 3


def _check_floods(data: Data) -> None:
    for found in data["floods"].values():
        assert found["requests"]["n"] > 0
        assert found["lost_leases"] == found["refused_requests"] == 0
        assert any(found["sent"].values())


def _check_api(data: Data) -> None:
    assert data["streams"]["streams"] == 3
    assert data["streams"]["arrivals"]["n"] > 0
    assert all(found["n"] > 0 for found in data["public"]["routes"].values())
    assert all(found["page"]["n"] > 0 for found in data["pages"]["pages"].values())
    assert data["telemetry"]["day_bytes"] > 10_000
    assert data["telemetry"]["heartbeats"]["with"]["n"] > 0


def _check_auth(data: Data) -> None:
    assert min(data["per_second"].values()) > 0


def _check_web(data: Data) -> None:
    for found in data["loading"]["scripts"].values():
        assert found["files"] > 1
        assert found["body_bytes"] > 1000
    assert data["log"]["memory_bytes"] > 0
    assert data["log"]["lines_per_second"] > 0
    assert all(found["n"] == 2 for found in data["changes"].values())
    assert data["market"]["filter"]["n"] == 1


def _check_profile(data: Data) -> None:
    assert all(data["shares"][name] for name in ("hub", "agent"))


CHECKS: dict[str, Callable[[Data], None]] = {
    "dispatch": _check_dispatch,
    "scale": _check_scale,
    "scheduling": _check_scheduling,
    "ledger": _check_ledger,
    "memory": _check_memory,
    "agent": _check_agent,
    "floods": _check_floods,
    "api": _check_api,
    "auth": _check_auth,
    "web": _check_web,
    "profile": _check_profile,
}


@pytest.fixture(autouse=True)
def _programs_are_forked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """And what a benchmark sets for its whole process is put back."""
    logging = structlog.get_config()
    monkeypatch.setattr(processes, "_forks", children.forks())
    yield
    structlog.configure(**logging)
    gc.freeze()


def test_every_benchmark_has_a_quick_run() -> None:
    assert set(ROWS) == set(CHECKS) == set(BENCHMARKS), "add the new benchmark's tables and its check here"


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_runs_and_all_its_tables_are_shown(name: str, tmp_path: Path) -> None:
    if name == "web":
        engines.require("node", "chromium")
    kept = measure(name, Options(quick=True), tmp_path)
    assert json.loads((tmp_path / f"{name}.local.json").read_text()) == json.loads(json.dumps(kept))
    rows = check_tables(kept)
    if name in NEED_BUBBLEWRAP and engines.missing("bwrap"):
        parts = [kept["data"][part] for part in NEED_BUBBLEWRAP[name]] or [kept["data"]]
        assert all("bubblewrap does not work here" in part["untested"] for part in parts)
        return
    CHECKS[name](kept["data"])
    assert list(rows) == list(ROWS[name])
    for title, expected in ROWS[name].items():
        assert rows[title] == expected or (expected is None and rows[title] > 0), title
    for part in NEED_BUBBLEWRAP.get(name, ()):
        kept["data"][part] = {"untested": "not on this machine"}
        assert [["untested: not on this machine"]] in [table.rows for table in tables_of(kept)]
    assert len(check_tables(kept)) == len(rows)


def check_tables(kept: Data) -> dict[str, int]:
    """They can be shown and written into the docs. How many rows each has, by its title."""
    tables = tables_of(kept)
    for table in tables:
        assert {len(row) for row in table.rows} == {len(table.columns)}, table.title
    terminal = io.StringIO()
    report.show(Console(file=terminal), kept, tables)
    shown = " ".join(terminal.getvalue().split())  # a title is as wide as its table
    written = report.document(list(BENCHMARKS), [(kept, tables)])
    for table in tables:
        assert f"{kept['benchmark']}: {table.title}" in shown
        assert f"### {table.title}\n" in written
        assert all(" | ".join(row) in written for row in table.rows)
    assert f"## {kept['benchmark'].capitalize()}\n" in written
    return {table.title: len(table.rows) for table in tables}


def test_benchmark_without_bubblewrap_says_untested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", path_without("bwrap"))
    kept = measure("dispatch", Options(quick=True), tmp_path)
    assert "bubblewrap does not work here" in kept["data"]["untested"]
    assert check_tables(kept) == {"Not measured": 1}
