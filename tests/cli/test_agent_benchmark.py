"""`agent benchmark`: figures of this machine, with no hub and no agent."""

import json

import pytest

from computepool.cli import agent_benchmark
from computepool.cli.app import run


def test_it_prints_figures_and_leaves_nothing_behind(tmp_path, capfd):
    home = tmp_path / "home"
    assert run(["--home", str(home), "agent", "benchmark", "--json"]) == 0
    (device, *_) = json.loads(capfd.readouterr().out)["devices"]
    assert device["device"] == "cpu"
    assert device["trouble"] == ""
    assert device["gflops"] > 0
    assert device["filled_bytes"] > 0
    assert device["figures"]["disk_write_bytes_per_second"] > 0
    assert device["figures"]["host_copy_bytes_per_second"] > 0
    assert list(tmp_path.iterdir()) == []


def test_table_names_what_was_measured_and_with_what(tmp_path, capfd):
    assert run(["--home", str(tmp_path), "agent", "benchmark"]) == 0
    shown = capfd.readouterr()
    for words in ("matrix product", "GFLOP/s", "memory, copied", "disk, written", "disk, read"):
        assert words in shown.out
    if "(python)" in shown.out:
        assert "pip install numpy" in shown.err


def test_machine_that_works_is_not_measured_unless_asked_to(tmp_path, capfd, monkeypatch):
    from computepool.agent import control

    monkeypatch.setattr(control, "ask_agent", lambda path, action: {"attempts": [{"job_id": "job_1"}]})
    assert run(["--home", str(tmp_path), "agent", "benchmark"]) != 0
    assert "--force" in capfd.readouterr().err


@pytest.mark.parametrize(("value", "text"), [(1234.56, "1,234.6 GFLOP/s"), (0.0312, "0.031 GFLOP/s")])
def test_small_and_large_speeds_are_readable(value, text):
    assert agent_benchmark._gflops(value) == text
