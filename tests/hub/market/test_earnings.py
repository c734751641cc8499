"""What a card would earn: exact, and never more than there is to share."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from computepool.hub.market.earnings import MILLION, TYPICAL_WATTS, Running
from computepool.hub.market.tiers import TIER_MILLIS

CREDIT = 1_000_000


def test_a_4090_that_works_half_the_day():
    day = Running(30 * CREDIT, 2000, 450, 8 * CREDIT).earned(MILLION // 2, 1)
    assert day.gross_micros == 360 * CREDIT
    assert day.fee_micros == 72 * CREDIT
    assert day.power_micros == 43_200_000  # 450 W for twelve hours at 8 credits
    assert day.net_micros == 360 * CREDIT - 72 * CREDIT - 43_200_000


def test_power_that_nobody_knows_is_not_counted_as_none():
    assert Running(CREDIT, 1000, None, 8 * CREDIT).earned(MILLION, 1).power_micros is None
    assert Running(CREDIT, 1000, 450, None).earned(MILLION, 1).power_micros is None


def test_power_may_cost_more_than_a_card_earns():
    assert Running(CREDIT, 2000, 500, 100 * CREDIT).earned(MILLION, 1).net_micros < 0


@given(
    st.integers(0, 10**15),
    st.integers(0, 2000),
    st.integers(0, 100_000),
    st.integers(0, 10**15),
    st.integers(0, MILLION),
    st.integers(1, 30),
)
def test_nobody_is_promised_a_micro_too_much(price, fee, watts, tariff, use, days):
    earned = Running(price, fee, watts, tariff).earned(use, days)
    hours = Fraction(use * 24 * days, MILLION)
    assert earned.gross_micros <= price * hours < earned.gross_micros + 1
    assert earned.power_micros is not None
    assert 0 <= earned.power_micros - Fraction(watts * tariff, 1000) * hours < 1
    assert earned.net_micros == earned.gross_micros - earned.fee_micros - earned.power_micros


def test_every_card_of_the_table_has_a_usual_draw():
    assert set(TYPICAL_WATTS) == set(TIER_MILLIS)
