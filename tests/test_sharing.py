"""The order of a run with several workers: all are there, both kinds at any time, long ones early."""

from dataclasses import dataclass

import pytest
from support.sharing import TOGETHER, mixed


@dataclass(frozen=True)
class Named:
    """What of a test its place depends on."""

    nodeid: str
    slow: bool = False

    def get_closest_marker(self, name: str) -> bool | None:
        return True if name == "slow" and self.slow else None


def several(file: str, count: int, *, slow: bool = False, group: str = "") -> list[Named]:
    return [Named(f"{file}::test_{number}{group}", slow) for number in range(count)]


def order(*tests: list[Named]) -> list[str]:
    return [item.nodeid for item in mixed([one for each in tests for one in each])]  # type: ignore[misc]


ALL = (
    several("tests/agent/test_quick.py", 400),
    several("tests/e2e/test_up.py", 30, group="[a@up]"),
    several("tests/e2e/test_slow.py", 40, slow=True),
    several("tests/hub/test_quick.py", 1000),
    several("tests/simulation/test_slow.py", 10, slow=True),
)


def test_nobody_is_left_out_and_the_order_is_always_the_same() -> None:
    once = order(*ALL)
    assert sorted(once) == sorted(one.nodeid for each in ALL for one in each)
    assert order(*ALL) == once


def test_what_waits_runs_beside_what_computes() -> None:
    found = order(*ALL)
    slow = [place for place, name in enumerate(found) if "e2e/test_slow" in name]
    computing_between = [
        sum("hub/" in name or "simulation/" in name for name in found[first:last])
        for first, last in zip(slow, slow[8:], strict=False)
    ]
    assert min(computing_between) > 0


@pytest.mark.parametrize(("early", "late"), [("e2e/", "agent/"), ("test_up", "e2e/test_slow"), ("simulation/", "hub/")])
def test_long_ones_of_a_kind_come_first(early: str, late: str) -> None:
    found = order(*ALL)
    last = max(place for place, name in enumerate(found) if early in name and late not in name)
    first = min(place for place, name in enumerate(found) if late in name)
    assert last < first


def test_quick_ones_of_a_file_stay_together() -> None:
    found = order(*ALL)
    for file, count in (("tests/hub/test_quick", 1000), ("tests/agent/test_quick", 400)):
        is_ours = [file in name for name in found]
        pieces = sum(ours and not before for ours, before in zip(is_ours, [False, *is_ours], strict=False))
        assert pieces <= count / TOGETHER


def test_group_is_in_one_piece() -> None:
    places = [place for place, name in enumerate(order(*ALL)) if name.endswith("@up]")]
    assert places == list(range(places[0], places[0] + 30))


def test_nothing_is_no_trouble() -> None:
    assert order() == []
