"""Uptime from coming and going alone."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.hub.reputation.uptime import WINDOW, add_stretch, share

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_stretch_over_midnight_belongs_to_both_days():
    days = add_stretch({}, NOON, NOON + timedelta(hours=18))
    assert days == {"2026-03-01": 12 * 3600, "2026-03-02": 6 * 3600}


def test_days_before_the_window_are_forgotten():
    days = add_stretch({"2025-12-01": 5.0}, NOON, NOON + timedelta(hours=1))
    assert days == {"2026-03-01": 3600}
    assert len(add_stretch({}, NOON - timedelta(days=400), NOON)) <= WINDOW.days + 1


def test_a_node_that_was_there_half_the_time():
    days: dict[str, float] = {}
    for day in range(40):
        start = NOON + timedelta(days=day)
        days = add_stretch(days, start, start + timedelta(hours=12))
    now = NOON + timedelta(days=40)
    assert share(days, None, NOON, now) == pytest.approx(0.5, abs=0.02)


def test_a_new_node_is_judged_by_its_own_life():
    assert share({}, NOON, NOON, NOON + timedelta(hours=1)) == pytest.approx(1)
    days = add_stretch({}, NOON, NOON + timedelta(hours=1))
    assert share(days, None, NOON, NOON + timedelta(hours=4)) == pytest.approx(0.25)
    assert share({}, None, NOON, NOON) == 0


def test_a_clock_that_goes_back_takes_nothing_away():
    days = add_stretch({}, NOON, NOON + timedelta(hours=1))
    assert add_stretch(days, NOON + timedelta(hours=1), NOON) == days


@given(st.lists(st.tuples(st.floats(0, 30), st.floats(0, 30)), max_size=40), st.floats(0, 50), st.booleans())
def test_it_is_a_share_and_near_what_it_really_was(stretches, rest_hours, is_there):
    """Against a plain sum over the window, to within the day that is only partly in it."""
    days: dict[str, float] = {}
    at, truth = NOON, []
    for there, away in stretches:
        begin, end = at, at + timedelta(hours=there)
        days = add_stretch(days, begin, end)
        truth.append((begin, end))
        at = end + timedelta(hours=away)
    now = at + timedelta(hours=rest_hours)
    if is_there:
        truth.append((at, now))
    start = max(NOON, now - WINDOW)
    found = share(days, at if is_there else None, NOON, now)
    really = sum(max(0.0, (min(e, now) - max(b, start)).total_seconds()) for b, e in truth)
    possible = (now - start).total_seconds()
    assert 0 <= found <= 1
    if possible > 0:
        partly = 86_400 / possible if now - WINDOW > NOON else 0
        assert found == pytest.approx(really / possible, abs=partly + 1e-9)
