"""Credits and coins: exact, or refused in words."""

from decimal import Decimal

import pytest

from computepool.hub.core.settings import Settings
from computepool.hub.payments.amounts import MOST_MINOR, BadAmount, Units, parse_amount, units_of

INR = Units("inr", Decimal(1))
CREDIT = 1_000_000


@pytest.mark.parametrize(
    ("units", "micros", "minor"),
    [
        (INR, CREDIT, 100),
        (INR, 10_000, 1),
        (Units("jpy", Decimal(2)), CREDIT, 2),
        (Units("kwd", Decimal("0.5")), CREDIT, 500),
        (INR, MOST_MINOR * 10_000, MOST_MINOR),
    ],
)
def test_credits_are_whole_coins_both_ways(units, micros, minor):
    assert units.minor_of(micros) == minor
    assert units.micros_of(minor) == micros
    assert units.rounded_up(micros) == micros


def test_amount_between_two_coins_is_refused_and_the_nearest_named():
    with pytest.raises(BadAmount) as refused:
        INR.minor_of(26_000)
    assert refused.value.hint == "The nearest possible amount is 0.03 credits."
    with pytest.raises(BadAmount) as refused:
        INR.minor_of(1)
    assert refused.value.hint == "The nearest possible amount is 0.01 credits."
    with pytest.raises(BadAmount) as refused:
        Units("inr", Decimal(3)).minor_of(3334)
    assert refused.value.hint is None  # no whole micros are exactly so many coins there


def test_more_than_the_processor_takes_at_once_is_refused():
    assert MOST_MINOR == 99_999_999
    with pytest.raises(BadAmount, match=r"1000000\.00 INR") as refused:
        INR.minor_of((MOST_MINOR + 1) * 10_000)
    assert refused.value.hint == "A payment is at most 999999.99 INR."


def test_rounding_up_is_to_the_next_coin_and_never_less():
    assert [INR.rounded_up(one) for one in (0, 1, 10_000, 10_001)] == [0, 10_000, 10_000, 20_000]
    thirds = Units("inr", Decimal(3))
    assert thirds.rounded_up(1) == 3334  # a coin is 3333⅓ micros
    assert thirds.micros_of(1) == 3333


@pytest.mark.parametrize(
    ("currency", "minor", "text"), [("inr", 1234, "12.34 INR"), ("jpy", 1234, "1234 JPY"), ("tnd", 1234, "1.234 TND")]
)
def test_coins_are_spelled_as_the_currency_has_them(currency, minor, text):
    assert Units(currency, Decimal(1)).spelled(minor) == text


@pytest.mark.parametrize(("wish", "micros"), [("100", 100 * CREDIT), ("0.25", 250_000), ("0.000001", 1)])
def test_wish_is_read_to_the_micro(wish, micros):
    assert parse_amount(wish) == micros


@pytest.mark.parametrize("wish", ["0", "-1", "0.0000001", "many", None])
def test_wish_that_moves_nothing_or_too_little_is_refused(wish):
    with pytest.raises(BadAmount) as refused:
        parse_amount(wish)
    assert refused.value.message


def test_operator_says_what_a_credit_is_worth():
    assert units_of(Settings(currency="jpy", credit_value=Decimal(2))) == Units("jpy", Decimal(2))
