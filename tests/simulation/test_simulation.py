"""The whole grid under seeded faults (promises 1, 10, 11, 13), and the planted bugs that show that it can fail."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.proofs import figure

TESTS = Path(__file__).parent.parent
SEEDS = figure(300, 10_000)
LEAST_FAULTS_PER_SEED = 0.3
FAULTS = (
    "hub_crash",
    "agent_crash",
    "line_cut",
    "partition",
    "laptop_sleep",
    "clock_jump",
    "submit_reply_lost",
    "duplicate_message",
)


def simulate(*arguments: str) -> dict[str, Any]:
    # Strings hash alike in every run, so that a seed means the same world everywhere.
    environment = os.environ | {"PYTHONPATH": str(TESTS), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "simulation", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.timeout(figure(600, 7200))
def test_every_promise_holds_under_every_seed():
    report = simulate("--seeds", f"0:{SEEDS}")
    assert report["failed_seed"] is None, (
        f"seed {report['failed_seed']}: {report['failure']}\n"
        f"again: PYTHONHASHSEED=0 PYTHONPATH=tests python -m simulation --seeds {report['failed_seed']}"
    )
    for fault in FAULTS:
        assert report["fired"].get(fault, 0) >= SEEDS * LEAST_FAULTS_PER_SEED, f"{fault} fired too rarely to prove much"
    for crash in ("hub_crash_before_commit", "hub_crash_after_commit"):
        assert report["fired"].get(crash, 0) >= SEEDS * 0.02, f"{crash} fired too rarely to prove much"


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.timeout(figure(300, 3600))
def test_no_healthy_job_is_given_up_while_the_hub_is_away():
    report = simulate("--restarts-only", "--seeds", f"0:{figure(25, 500)}")
    assert report["failed_seed"] is None, f"seed {report['failed_seed']}: {report['failure']}"
    assert report["fired"]["hub_crash"] >= 25


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "mutant", ["rescue_overwrites_completion", "fences_are_not_checked", "silence_is_never_noticed"]
)
def test_a_planted_bug_is_found_within_300_seeds(mutant: str):
    report = simulate("--mutant", mutant, "--seeds", "0:300")
    assert report["failed_seed"] is not None, f"{mutant} was not found"
