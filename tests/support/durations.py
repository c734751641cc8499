"""How long the tests of each file take, and which files `./dev check` therefore runs.

`./dev test --write-durations` measures and writes tests/durations.json. Only the order of the figures matters: on a
machine that is twice as fast the same files are the quick ones.
"""

import functools
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

KEPT = Path(__file__).parents[1] / "durations.json"
FAST_SECONDS = 45.0
"""Of all fast tests together, summed over the processes that run them side by side."""


class Durations:
    """A pytest plugin of the controlling process: adds up what each file took."""

    def __init__(self) -> None:
        self.tests: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = report.nodeid.partition("::")[0]
        self.seconds[file] += report.duration
        self.tests[file] += report.when == "call" and not report.skipped

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.testsfailed:
            return
        kept = {file: [count, round(self.seconds[file], 2)] for file, count in sorted(self.tests.items()) if count}
        rows = ",\n".join(f"  {json.dumps(file)}: {json.dumps(row)}" for file, row in kept.items())
        KEPT.write_text(f"{{\n{rows}\n}}\n")


def slow_files(measured: Mapping[str, tuple[int, float]], budget_seconds: float) -> set[str]:
    """The files with the slowest tests: all but those that fit into the budget together."""
    quickest_first = sorted(measured, key=lambda file: measured[file][1] / measured[file][0])
    spent = itertools.accumulate(measured[file][1] for file in quickest_first)
    return {file for file, seconds in zip(quickest_first, spent, strict=True) if seconds > budget_seconds}


@functools.cache
def left_out_of_check() -> frozenset[str]:
    """A file that was never measured is not left out."""
    return frozenset(slow_files(json.loads(KEPT.read_text()), FAST_SECONDS))
