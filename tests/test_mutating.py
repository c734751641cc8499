"""The bugs that the tests of money are tested with: each is one, and is what it says."""

import os
import subprocess
import sys
from typing import Any

import pytest
from support.proofs import figure, proving

from tools.mutants import ROOT
from tools.mutating import REACHED, Mutant, mutants_of, watched

LEAST_PERCENT = 85
LONGEST_SECONDS = 6000

SOURCE = """
LIMIT = 3

def paid(micros: int, least: int = 1) -> int:
    if micros < least:
        raise ValueError(f"{micros + 1}")
    return min(micros, LIMIT) - 1
"""


def found() -> dict[str, Mutant]:
    return {one.what: one for one in mutants_of("m", SOURCE, "m.py")}


def run(mutant: Mutant) -> Any:
    names: dict[str, Any] = {}
    exec(mutant.code, names)
    return names["paid"]


def test_every_kind_of_bug_is_made_once() -> None:
    assert sorted(found()) == sorted(
        [
            "`3` → `4`",
            "`3` → `2`",
            "`micros < least` → `micros <= least`",
            "`if micros < least:` → `if not micros < least:`",
            "`raise ValueError(f'{micros + 1}')` → nothing",
            "`return min(micros, LIMIT) - 1` → `return None`",
            "`min(micros, LIMIT) - 1` → `min(micros, LIMIT) + 1`",
            "`min(micros, LIMIT)` → `max(micros, LIMIT)`",
            "`1` → `0`",
            "`1` → `2`",
        ]
    )


def test_each_is_what_it_says_and_nothing_else() -> None:
    mutants = found()
    assert run(mutants["`3` → `4`"])(9) == 3
    assert run(mutants["`min(micros, LIMIT) - 1` → `min(micros, LIMIT) + 1`"])(2) == 3
    assert run(mutants["`raise ValueError(f'{micros + 1}')` → nothing"])(0) == -1
    assert run(mutants["`return min(micros, LIMIT) - 1` → `return None`"])(2) is None
    assert not mutants["`3` → `4`"].in_function
    assert mutants["`micros < least` → `micros <= least`"].line == 5


def test_watched_module_tells_which_lines_it_reaches() -> None:
    lines: list[int] = []
    names: dict[str, Any] = {REACHED: lambda path, line: lines.append(line)}
    exec(watched(SOURCE, "m.py"), names)
    assert names["paid"](2) == 1
    assert lines == [5, 7]


@pytest.mark.slow
@pytest.mark.proof
def test_mutants_of_money_are_found_by_its_tests() -> None:
    """All of them, or as many as there is time for. Their tests run with small figures, in processes of their own.

    In every run two mutants of one module, and its own tests.
    """
    words = ["--seconds", str(LONGEST_SECONDS), "--at-least", str(figure(100, LEAST_PERCENT))]
    if not proving():
        words += ["payments.amounts", "--most", "1", "--tests", "tests/hub/payments/test_amounts.py"]
    environment = {name: value for name, value in os.environ.items() if name != "COMPUTEPOOL_PROVE"}
    command = [sys.executable, "-m", "tools.mutants", *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert proving() or "found 2 of 2 mutants" in done.stdout
    sys.stdout.write(done.stdout)
