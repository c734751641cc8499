"""Spot follows use by elapsed time, within its bounds, at a limited pace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.hub.market.book import Book
from computepool.hub.market.spot import (
    HALF_LIFE_SECONDS,
    LONGEST_STEP_SECONDS,
    NEUTRAL_USE,
    PACE_PER_HOUR,
    PRIOR_UNITS,
    Bounds,
    Segment,
    Spot,
    Use,
    restored,
    target_of,
)

BOUNDS = Bounds()
CARDS = Segment("3.0", "US")
uses = st.builds(Use, busy=st.integers(0, 500), total=st.integers(0, 500))
seconds = st.floats(-1e9, 1e9, allow_nan=False)


def after(spot: Spot, use: Use, minutes: int, step_seconds: float = 60.0) -> Spot:
    for _ in range(round(minutes * 60 / step_seconds)):
        spot = spot.step(use, step_seconds, BOUNDS)
    return spot


@given(st.lists(st.tuples(uses, seconds), max_size=30))
def test_spot_stays_within_its_bounds_whatever_happens(story):
    spot = Spot()
    for use, elapsed in story:
        spot = spot.step(use, elapsed, BOUNDS)
        assert 500 <= spot.published_millis <= 2000
        assert 0.5 <= spot.level <= 2.0
        assert 0 <= spot.use <= 1


@given(uses, st.floats(-1e12, 0))
def test_a_clock_that_goes_back_moves_nothing(use, elapsed):
    spot = Spot(1.3, 0.7, 1300)
    assert spot.step(use, elapsed, BOUNDS) == spot


@given(uses, st.floats(LONGEST_STEP_SECONDS, 1e12))
def test_a_clock_that_jumps_ahead_counts_as_a_short_absence(use, elapsed):
    assert Spot().step(use, elapsed, BOUNDS) == Spot().step(use, LONGEST_STEP_SECONDS, BOUNDS)


@given(st.integers(0, 400), st.integers(1, 12))
def test_use_is_smoothed_by_time_and_not_by_looks(busy, looks):
    one = Spot(1.0, 0.2, 1000).step(Use(busy, 400), 240, BOUNDS)
    many = Spot(1.0, 0.2, 1000)
    for _ in range(looks):
        many = many.step(Use(busy, 400), 240 / looks, BOUNDS)
    assert many.use == pytest.approx(one.use)


def test_half_the_way_is_gone_in_a_half_life():
    spot = after(Spot(use=NEUTRAL_USE), Use(100_000, 100_000), minutes=round(HALF_LIFE_SECONDS / 60))
    assert spot.use == pytest.approx((1 + NEUTRAL_USE) / 2, abs=0.001)


def test_target_goes_from_bound_to_bound_through_one():
    assert target_of(0, BOUNDS) == 0.5
    assert target_of(NEUTRAL_USE, BOUNDS) == 1
    assert target_of(1, BOUNDS) == 2


@given(st.floats(0, 1), st.floats(0, 1))
def test_more_use_never_lowers_the_target(one, other):
    low, high = sorted((one, other))
    assert target_of(low, BOUNDS) <= target_of(high, BOUNDS)


@given(uses, st.floats(0, 1), st.floats(0.5, 2), st.floats(0, LONGEST_STEP_SECONDS))
def test_pace_is_limited(use, smoothed, level, elapsed):
    moved = Spot(level, smoothed, round(level * 1000)).step(use, elapsed, BOUNDS)
    assert abs(moved.level - level) <= PACE_PER_HOUR * elapsed / 3600 + 1e-9


def test_four_hundred_nodes_that_vanish_and_return_move_it_gently():
    busy = after(Spot(), Use(300, 500), minutes=24 * 60)
    assert busy.published_millis == 1000
    worst, spot = 0.0, busy
    for minute in range(120):  # the storm: four hundred go; what is left is all in use
        use = Use(100, 100) if minute < 60 else Use(300, 500)
        moved = spot.step(use, 60, BOUNDS)
        worst, spot = max(worst, abs(moved.level - spot.level)), moved
        assert spot.level < busy.level + 1.25 * PACE_PER_HOUR
    assert worst <= PACE_PER_HOUR / 60 + 1e-9
    assert after(spot, Use(300, 500), minutes=6 * 60).published_millis == pytest.approx(1000, abs=10)


def test_few_cards_say_little():
    one_idle = after(Spot(), Use(0, 1), minutes=24 * 60)
    many_idle = after(Spot(), Use(0, 400), minutes=24 * 60)
    assert one_idle.published_millis > 900
    assert many_idle.published_millis < 550


def test_an_empty_segment_returns_to_one():
    gone = after(Spot(2.0, 1.0, 2000), Use(0, 0), minutes=24 * 60)
    assert gone.published_millis == pytest.approx(1000, abs=10)


def test_bounds_that_were_narrowed_hold_at_once():
    narrow = Bounds(900, 1100)
    assert Spot(2.0, 1.0, 2000).step(Use(10, 10), 0, narrow).published_millis == 1100
    assert restored(500, 0, 500, narrow).published_millis == 900


def test_published_factor_does_not_flap():
    spot, seen = Spot(), []
    for minute in range(600):
        spot = spot.step(Use(300 + minute % 2, 500), 60, BOUNDS)
        seen.append(spot.published_millis)
    assert len(set(seen[60:])) == 1


def test_a_book_tells_which_segments_moved():
    book = Book()
    moved: frozenset[Segment] = frozenset()
    for _ in range(10):
        moved |= book.step({CARDS: Use(400, 400), Segment("3.0", "EU"): Use(0, 0)}, 60)
    assert moved == {CARDS}
    assert book.spot_millis(CARDS) > 1000
    assert PRIOR_UNITS > 0
