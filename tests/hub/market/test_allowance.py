"""How many strangers' slices a node gets at once: by what was measured and what it has earned, never by its claim."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.hub.market.allowance import CORE_GFLOPS, MeasuredCapacity, Trial, measured_capacity, slices_at_once
from computepool.hub.market.standing import Standing


def at_once(ok_count, measured, first=2, **known):
    trial = Trial(first, MeasuredCapacity(cores=measured))
    return slices_at_once(Standing(mean=0.6, lower=0.3, ok_count=ok_count, **known), trial)


@pytest.mark.parametrize(
    ("ok_count", "measured", "expected"),
    [
        (0, 0, 1),  # never measured: one
        (1, 0, 1),
        (2, 0, 2),
        (10, 0, 6),
        (0, 64, 2),  # measured: two
        (1, 64, 3),
        (10, 64, 12),
        (62, 64, 64),
        (100, 64, 64),  # as far as its measured hardware goes
        (200, 64, 101),  # and beyond it, more slowly
        (0, 1, 1),  # one core was measured
    ],
)
def test_table(ok_count, measured, expected):
    assert at_once(ok_count, measured) == expected


def test_nobody_who_is_trusted_is_held_back():
    assert slices_at_once(Standing(mean=0.6, lower=0.3), None) is None
    assert at_once(0, 0, marked=True) is None
    assert at_once(0, 0, first=0) is None


def test_what_a_node_broke_with_counts_all_the_same():
    assert at_once(50, 64, slots=3) == 3
    assert at_once(0, 0, slots=3) == 1
    assert at_once(50, 64, marked=True, slots=3) == 3


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(1, 100))
def test_every_node_gets_something_and_never_less_for_doing_well_or_being_measured(ok_count, measured, first):
    here = at_once(ok_count, measured, first)
    assert here >= 1
    assert at_once(ok_count + 1, measured, first) >= here
    assert at_once(ok_count, measured + 1, first) >= here
    assert here <= first + ok_count


def device(name, gflops, mark="matches", backend="numpy"):
    return {"device": name, "mark": mark, "gflops": gflops, "backend": backend}


def test_speed_counts_as_cores_whatever_is_claimed():
    assert measured_capacity([device("cpu", 8 * CORE_GFLOPS)]).cores == 8
    assert measured_capacity([device("cpu", 0.1)]).cores == 1
    assert measured_capacity([device("cpu", 8 * CORE_GFLOPS, mark="failed")]).cores == 0
    assert measured_capacity([device("cpu", None)]).cores == 0


def test_plain_python_shows_one_core():
    assert measured_capacity([device("cpu", 0.02, backend="python")]).cores == 1


def test_cards_count_that_were_measured():
    found = measured_capacity(
        [device("cpu", 0.02, backend="python"), device("gpu-0", 30_000), device("gpu-1", 1, mark="failed")]
    )
    assert found.gpus == {"gpu-0"}
    assert measured_capacity([device(f"gpu-{index}", 30_000) for index in range(4)]).slices == 4
