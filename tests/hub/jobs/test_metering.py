"""Which seconds are billed, and what is held for them: figure by figure."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from computepool.hub.core.owners import PLATFORM
from computepool.hub.core.settings import Settings
from computepool.hub.jobs.brief import JobBrief
from computepool.hub.jobs.metering import PREPARING_LIMITS, PREPARING_SECONDS, Meter, honest, hub_seconds, rest_of
from computepool.hub.jobs.terms import (
    GRACE_SECONDS,
    HOLD_SECONDS,
    INSTALMENT_SECONDS,
    LEAST_SECONDS,
    Part,
    Terms,
    first_part,
    least_to_begin,
    next_part,
    terms_of,
)
from computepool.hub.ledger.settlement import Basis
from computepool.hub.market.requirements import Requirements
from computepool.protocol.receipt import EndReason
from computepool.protocol.timing import FETCH_SECONDS

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
MOST = 10_000


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


# ── seconds ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("meter", "seconds"),
    [
        (Meter(), 0),
        (Meter(10.0), 10),
        (Meter(10.0000001), 10),  # what floats add is not a begun second
        (Meter(10.001), 11),
        (Meter(10.0, claimed_seconds=7.0), 7),
        (Meter(7.0, claimed_seconds=10.0), 7),
        (Meter(10.0, claimed_seconds=0.0), 0),
        (Meter(10.0, capped_seconds=4.0), 6),
        (Meter(10.0, claimed_seconds=8.0, capped_seconds=3.0), 5),
        (Meter(10.0, capped_seconds=11.0), 0),
        (Meter(10.0, suspended_seconds=5.0), 10),
        (Meter(MOST + 1.0), MOST),
        (Meter(0.5), 1),
    ],
)
def test_lesser_of_both_clocks_is_billed_without_what_was_capped(meter, seconds):
    assert meter.billed(Basis.METERED, MOST) == seconds


@pytest.mark.parametrize("basis", [Basis.SAVED, Basis.KEPT])
@pytest.mark.parametrize(("saved", "seconds"), [(None, 0), (0.0, 0), (3.2, 4), (100.0, 50)])
def test_what_was_not_saved_is_not_billed(basis, saved, seconds):
    assert Meter(50.0, saved_seconds=saved).billed(basis, MOST) == seconds


def test_input_that_came_too_slowly_is_billed_as_long_as_it_may_take():
    """Else a renter's registry that drips would hold slots for nothing."""
    limit = PREPARING_LIMITS[EndReason.SLOW_INPUT]
    assert limit == FETCH_SECONDS
    assert set(PREPARING_LIMITS) == {EndReason.SLOW_INPUT, EndReason.CANCELED}
    for preparing, seconds in ((61.0, 61), (limit + 60.0, limit)):
        meter = Meter(0.0, claimed_seconds=0.0, preparing_seconds=preparing, preparing_limit_seconds=limit)
        assert meter.billed(Basis.METERED, 10**6) == seconds
        assert meter.billed(Basis.METERED, 10) == 10, "and never more than the job may run"


@pytest.mark.parametrize(
    ("preparing", "most", "seconds"),
    [(5.5, MOST, 6), (PREPARING_SECONDS + 1.0, MOST, 60), (30.0, 20, 20), (0.0, MOST, 9)],
)
def test_preparing_costs_a_minute_at_most(preparing, most, seconds):
    assert Meter(9.0, preparing_seconds=preparing).billed(Basis.METERED, most) == seconds


def test_figures_are_those_of_the_meter():
    meter = Meter(1.23456, 2.34567, 3.45678, 4.56789, 5.67891, 6.78912)
    assert meter.in_figures() == {
        "hub": 1.235,
        "claimed": 2.346,
        "suspended": 3.457,
        "capped": 4.568,
        "saved": 5.679,
        "preparing": 6.789,
    }
    nothing = dict.fromkeys(("hub", "suspended", "capped", "preparing"), 0.0)
    assert Meter().in_figures() == {**nothing, "claimed": None, "saved": None}


def test_clock_of_the_hub_counts_from_running_to_exit_without_rest():
    assert hub_seconds(None, later(9), None, 0.0, later(10)) == 0.0
    assert hub_seconds(NOW, None, None, 0.0, later(10)) == 10.0
    assert hub_seconds(NOW, later(8), None, 0.0, later(10)) == 8.0
    assert hub_seconds(NOW, later(8), None, 3.0, later(10)) == 5.0
    assert hub_seconds(NOW, later(8), later(6), 3.0, later(10)) == 3.0
    assert hub_seconds(NOW, later(8), later(9), 0.0, later(10)) == 8.0  # it began to rest after it was over
    assert hub_seconds(NOW, later(8), None, 9.0, later(10)) == 0.0
    assert hub_seconds(later(1), NOW, None, 0.0, later(10)) == 0.0  # a clock that was set back


def test_rest_is_added_up():
    assert rest_of(None, 5.0, NOW, rests=True) == {"rested_since": NOW}
    assert rest_of(NOW, 5.0, later(3), rests=True) == {}
    assert rest_of(None, 5.0, NOW, rests=False) == {}
    assert rest_of(NOW, 5.0, later(3), rests=False) == {"rested_since": None, "rested_seconds": 8.0}


def test_nonsense_from_a_node_is_nothing():
    assert [honest(one) for one in (0.5, 7.0, -0.5, -1.0, math.inf, -math.inf, math.nan)] == [0.5, 7.0, 0, 0, 0, 0, 0]


# ── what is held ─────────────────────────────────────────────────────────────────────────────────────────────────────

PRICE = 3_600
"""A micro for a second."""


def test_constants_of_instalments():
    """The operator's guide and the renter's bill speak of them."""
    assert (INSTALMENT_SECONDS, PREPARING_SECONDS) == (3600, 60)
    assert HOLD_SECONDS - INSTALMENT_SECONDS == GRACE_SECONDS == 120
    assert LEAST_SECONDS == 180


@pytest.mark.parametrize(
    ("max_seconds", "part"),
    [
        (1, Part(1, 1, True)),
        (HOLD_SECONDS, Part(HOLD_SECONDS, HOLD_SECONDS, True)),
        (HOLD_SECONDS + 1, Part(HOLD_SECONDS, HOLD_SECONDS, False)),
    ],
)
def test_first_hold_is_for_an_instalment_and_its_grace(max_seconds, part):
    assert first_part(PRICE, max_seconds) == part


@pytest.mark.parametrize(
    ("settled", "left", "part"),
    [
        (0, None, Part(1000, 1000, True)),
        (900, None, Part(100, 100, True)),
        (999, None, Part(1, 1, True)),
        (1000, None, None),
        (1001, None, None),
        (0, 1000, Part(1000, 1000, True)),
        (0, 999, Part(999, 999, False)),
        (0, LEAST_SECONDS, Part(LEAST_SECONDS, LEAST_SECONDS, False)),
        (0, LEAST_SECONDS - 1, None),
        (900, 100, Part(100, 100, True)),
        (900, 99, None),
        (999, 0, None),
        (0, 0, None),
        (0, -5, None),
    ],
)
def test_next_hold_is_for_what_may_still_come_within_the_budget(settled, left, part):
    assert next_part(PRICE, 1000, settled, left) == part


@pytest.mark.parametrize(("price", "seconds"), [(PRICE, 1000), (PRICE, 120), (7_201, 1000), (1, 90), (36_000, 1)])
def test_what_it_takes_to_begin_is_the_least_of_which_there_is_a_part(price, seconds):
    needed = least_to_begin(price, seconds)
    assert next_part(price, seconds, 0, needed) is not None
    assert next_part(price, seconds, 0, needed - 1) is None


def test_hold_is_rounded_up_and_what_it_lasts_for_down():
    assert first_part(1, 10) == Part(1, 10, True)
    assert next_part(7_201, 1000, 0, 500) == Part(499, 249, False)


def test_what_is_just_enough_does_not_last_longer_than_the_job_may():
    assert next_part(1, 1000, 0, 1) == Part(1, 1000, True)


def terms_for(owner_id: str, seconds: float = 90.5, **wishes: int | None) -> Terms | None:
    requirements = Requirements(owner_id, 1000, 1, 1, max_price_micros=wishes.get("ceiling"))
    brief = JobBrief(
        "job_1", owner_id, "n", ("true",), {}, (), None, None, "d", seconds, 1, 0, requirements,
        budget_micros=wishes.get("budget"),
    )  # fmt: skip
    settings = Settings(platform_fee_bps=1500, refund_failed_jobs=True)
    return terms_of(settings, brief, "user_host", wishes.get("price", PRICE) or 0)


def test_terms_are_what_was_agreed():
    assert terms_for("user_renter", ceiling=7_200, budget=50) == Terms("user_host", 1500, True, 91, 182, 50)
    assert terms_for("user_renter") == Terms("user_host", 1500, True, 91, None, None)
    assert terms_for("user_renter", price=0) is None


def test_platform_has_no_budget():
    assert terms_for(PLATFORM, ceiling=7_200, budget=50) == Terms("user_host", 1500, True, 91, None, None)


@pytest.mark.parametrize(("seconds", "most"), [(0.0, 1), (0.2, 1), (1.0, 1), (1.2, 2), (60.0, 60)])
def test_attempt_may_be_billed_for_a_second_at_least(seconds, most):
    terms = terms_for("user_renter", seconds)
    assert terms is not None
    assert terms.max_seconds == most


def test_terms_come_back_from_the_wire_as_they_were():
    terms = Terms("user_host", 2000, True, 60, 5, None)
    assert Terms.of(terms.to_wire()) == terms
    assert Terms.of(None) is None
