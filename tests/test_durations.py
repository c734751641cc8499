"""Which files `./dev check` runs: those with the quickest tests, by what was measured."""

import json

from support.durations import KEPT, left_out_of_check, slow_files


def test_files_with_the_slowest_tests_are_left_out_until_the_rest_fits() -> None:
    measured = {"quick": (100, 1.0), "slow": (10, 50.0), "one slow test": (1, 3.0), "many quick tests": (1000, 8.0)}
    assert set(slow_files(measured, 10.0)) == {"slow", "one slow test"}
    assert set(slow_files(measured, 100.0)) == set()


def test_figures_leave_enough_to_check() -> None:
    measured = json.loads(KEPT.read_text())
    fast = sum(count for file, (count, _) in measured.items() if file not in left_out_of_check())
    assert fast > 2_000
