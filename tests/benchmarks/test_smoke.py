"""The benchmarks still run. What they measure is nobody's business here: a test machine is busy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.proof(long=True)
@pytest.mark.slow
@pytest.mark.engine("bwrap")
@pytest.mark.timeout(240)
def test_dispatch_benchmark_measures_floor_and_pool(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "dispatch", "--quick", "--count", "3", "--results", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    kept = json.loads((tmp_path / "dispatch.local.json").read_text())
    assert kept["run"]["quick"]
    for figures in kept["data"]["starts"].values():
        assert figures["floor"]["n"] == figures["pool"]["n"] > 0
    assert all(figures["pool"]["per_second"] > 0 for figures in kept["data"]["jobs"].values())
    assert "pool / floor" in done.stdout


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_scheduling_benchmark_finds_the_same_nodes_as_a_plain_scan(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "scheduling", "--quick", "--count", "50", "--results", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    data = json.loads((tmp_path / "scheduling.local.json").read_text())["data"]
    assert all(one["found"] > 0 for one in data["sizes"])
    assert data["heartbeat"]["marked"] == 0
    assert data["round"]["left_unused"] == 0
