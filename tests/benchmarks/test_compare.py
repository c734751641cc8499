"""Two commits are compared round by round."""

from typing import Any

from benchmarks.compare import tables


def run(start_ms: float, per_second: float, floor: float = 1.0) -> Any:
    def of(value: float) -> dict[str, float]:
        return {"p50_ms": value, "p95_ms": 2 * value}

    starts = {"pool": of(start_ms), "pool_submit_call": of(5), "floor": of(floor), "floor_submit_call": of(floor)}
    rates = {"pool": {"per_second": per_second}, "floor": {"per_second": 100 / floor}}
    return {"starts": {"native": starts}, "jobs": {"sequential": rates}}


def rows(base: list[Any], newer: list[Any]) -> dict[str, list[str]]:
    (table,) = tables({"base": "a", "newer": "b", "count": 1, "results": {"base": base, "newer": newer}})
    return {str(row[0]): [str(cell) for cell in row[1:]] for row in table.rows}


def test_figure_is_the_median_of_the_rounds_own_ratios() -> None:
    """The machine is slower in the third round, for both."""
    found = rows([run(10, 50), run(10, 50), run(30, 20, 2.0)], [run(11, 45), run(11, 45), run(33, 18, 2.0)])
    assert found["start, native, p50, ms"] == ["10.00", "11.00", "1.100", "1.10 – 1.10", "1.000", "≤ 1.05× ✗"]
    assert found["jobs per second, sequential"] == ["50.00", "45.00", "0.900", "0.90 – 0.90", "1.000", "≥ 0.952× ✗"]
    assert found["submit call, native, p50, ms"][-1] == "≤ 1.05× ✓"


def test_more_jobs_and_shorter_starts_are_better() -> None:
    found = rows([run(10, 50)], [run(5, 100)])
    assert [row[-1][-1] for row in found.values()] == ["✓"] * 4
