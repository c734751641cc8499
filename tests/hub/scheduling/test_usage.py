"""What renters used lately: exact, however often anybody looks, and forgotten by half in each half-life."""

from datetime import timedelta
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fleets import ME, STRANGER, make_brief, make_needs

from computepool.hub.scheduling.occupancy import Occupancy, Occupied
from computepool.hub.scheduling.usage import AHEAD_SECONDS, GPU_MILLIS, Past, Usage, weight_of
from computepool.protocol.gpus import GpuRequest

DAY = timedelta(days=1).total_seconds()
HOUR = 3600.0


def test_gpu_counts_as_ten_cores():
    assert weight_of(make_needs(cpu_millis=2000)) == 2000
    assert weight_of(make_needs(cpu_millis=2000, gpu=GpuRequest(count=2))) == 2000 + 2 * GPU_MILLIS


def test_use_is_forgotten_by_half_in_a_half_life():
    usage = Usage(DAY)
    usage.begin(ME, 1000, 0.0)
    usage.end(ME, 1000, HOUR)
    at_once = usage.of(ME, HOUR)
    assert at_once == pytest.approx(1000 * HOUR, rel=0.02)
    assert usage.of(ME, HOUR + DAY) == pytest.approx(at_once / 2)
    assert usage.of(STRANGER, DAY) == 0


def test_what_runs_for_ever_comes_to_an_end_that_is_known():
    usage = Usage(DAY)
    usage.begin(ME, 1, 0.0)
    assert usage.of(ME, 100 * DAY) == pytest.approx(DAY / log(2))


def test_what_runs_counts_ahead_in_a_renters_standing():
    usage = Usage(DAY)
    usage.begin(ME, 1000, 0.0)
    assert usage.standing(ME, 0.0) == 1000 * AHEAD_SECONDS
    usage.end(ME, 1000, 0.0)
    assert usage.standing(ME, 0.0) == 0


@given(st.lists(st.floats(0, DAY), max_size=20), st.floats(1, 2 * DAY))
def test_looking_changes_nothing(looks, seconds):
    """However often it is settled on the way, the integral is the same."""
    plain, looked = Usage(DAY), Usage(DAY)
    for usage in (plain, looked):
        usage.begin(ME, 1000, 0.0)
    for at in sorted(one for one in looks if one < seconds):
        looked.begin(ME, 0, at)
    assert looked.of(ME, seconds) == pytest.approx(plain.of(ME, seconds))


@given(
    st.lists(st.tuples(st.floats(0, 3 * DAY), st.floats(0, 3 * DAY), st.integers(1, 50_000)), max_size=20),
    st.floats(0, DAY),
)
def test_what_is_remembered_after_a_start_is_what_was_measured_before_it(spans, later):
    now = 3 * DAY
    spans = [(min(a, b), max(a, b), weight) for a, b, weight in spans]
    events = sorted([(a, +weight) for a, _, weight in spans] + [(b, -weight) for _, b, weight in spans])
    measured, remembered = Usage(DAY), Usage(DAY)
    for at, change in events:
        (measured.begin if change > 0 else measured.end)(ME, abs(change), at)
    remembered.remember([Past(ME, weight, now - a, now - b) for a, b, weight in spans], now)
    at = now + later
    assert remembered.of(ME, at) == pytest.approx(measured.of(ME, at), rel=1e-6, abs=1e-3)


def occupied(name, *, own=False, price=10, **needs):
    return Occupied(name, "node_1", make_brief("job_1", make_needs(**needs)), own, price)


def test_own_nodes_are_ones_own_business():
    occupancy = Occupancy(Usage(DAY))
    occupancy.begin(occupied("a", own=True), 0.0)
    assert occupancy.standing(ME, 0.0) == 0
    assert occupancy.share(ME).slices == 0
    occupancy.begin(occupied("b"), 0.0)
    assert (occupancy.share(ME).slices, occupancy.share(ME).hourly_micros) == (1, 10)


def test_attempt_counts_once_however_often_its_begin_and_end_are_told():
    occupancy = Occupancy(Usage(DAY))
    for _ in range(2):
        occupancy.begin(occupied("a", gpu=GpuRequest(count=1)), 0.0)
    assert occupancy.standing(ME, 0.0) == (1000 + GPU_MILLIS) * AHEAD_SECONDS
    for _ in range(2):
        occupancy.end("a", 0.0)
    assert (occupancy.standing(ME, 0.0), occupancy.share(ME).slices, len(occupancy)) == (0, 0, 0)
