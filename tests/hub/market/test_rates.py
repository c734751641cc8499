"""Rates are one product of whole numbers, rounded once. No order, no size and no zero changes that."""

import ast
from fractions import Fraction
from math import ceil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.hub.market import rates
from computepool.hub.market.rates import (
    MOST_FEE_BPS,
    MOST_RATE_MICROS,
    Factors,
    HostPrice,
    core_rate,
    divide_up,
    fee_of,
    gpu_rate,
    round_up,
    slice_cost,
)

CREDIT = 1_000_000
micros = st.integers(0, 10**15) | st.integers(0, 10**8)
millis = st.integers(0, 10**6) | st.integers(0, 5000)
many_factors = st.builds(Factors, base_micros=micros, tier_millis=millis, region_millis=millis, spot_millis=millis)


def test_a_4090_in_the_us_asks_thirty_credits():
    assert gpu_rate(Factors(10 * CREDIT, 3000, 1000, 1000)) == 30 * CREDIT


def test_cpu_tier_is_for_eight_cores():
    eight_cores = Factors(10 * CREDIT, 800, 1000, 1000)
    assert core_rate(eight_cores) == 1 * CREDIT
    assert 8 * core_rate(eight_cores) == gpu_rate(eight_cores)


def test_three_quarters_of_everything_is_exact():
    assert gpu_rate(Factors(10 * CREDIT, 2500, 700, 950)) == 16_625_000


def test_no_float_is_written_or_divided_in_the_rates():
    """Money is exact: neither a literal, nor `/`, nor a name of floating point is in the file."""
    tree = ast.parse(Path(rates.__file__).read_text())
    for node in ast.walk(tree):
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
        assert not isinstance(node, ast.Div)
        assert not (isinstance(node, ast.Name) and node.id in ("float", "round", "math"))


@given(many_factors)
def test_rate_is_the_exact_product_rounded_up_once(factors):
    exact = Fraction(factors.base_micros)
    for factor in (factors.tier_millis, factors.region_millis, factors.spot_millis):
        exact *= Fraction(factor, 1000)
    assert gpu_rate(factors) == min(ceil(exact), MOST_RATE_MICROS)
    assert core_rate(factors) == min(ceil(exact / 8), MOST_RATE_MICROS)
    assert isinstance(gpu_rate(factors), int)


@given(many_factors, st.sampled_from(["base_micros", "tier_millis", "region_millis", "spot_millis"]), millis)
def test_more_of_any_factor_never_lowers_a_rate(factors, name, more):
    values = {one: getattr(factors, one) for one in factors.__dataclass_fields__}
    greater = Factors(**values | {name: values[name] + more})
    assert gpu_rate(greater) >= gpu_rate(factors)
    assert core_rate(greater) >= core_rate(factors)


@given(many_factors)
def test_nothing_of_worth_is_free_and_nothing_is_made_of_nothing(factors):
    assert (gpu_rate(factors) == 0) == (factors.product == 0)
    assert (core_rate(factors) == 0) == (factors.product == 0)


@given(micros, st.integers(0, 10**15))
def test_floor_holds_and_never_lowers_what_is_suggested(floor, suggested):
    asked = HostPrice("gpu", floor_micros=floor).over(suggested)
    assert asked == max(floor, suggested)


@given(micros, micros)
def test_fixed_price_is_the_price(fixed, suggested):
    assert HostPrice("gpu", fixed_micros=fixed).over(suggested) == fixed


@given(st.integers(0, 10**18), st.integers(0, MOST_FEE_BPS))
def test_what_a_renter_pays_is_exactly_host_and_fee(gross, bps):
    fee = fee_of(gross, bps)
    assert 0 <= fee <= gross
    assert fee + (gross - fee) == gross
    assert Fraction(gross * bps, 10_000) - fee < 1


@pytest.mark.parametrize(("price", "rounded"), [(0, 0), (7, 7), (99, 99), (101, 110), (35_412_345, 36_000_000)])
def test_rounding_up_keeps_two_digits(price, rounded):
    assert round_up(price) == rounded


@given(micros)
def test_rounding_up_never_lowers_and_adds_at_most_a_tenth(price):
    assert price <= round_up(price) <= price + divide_up(price, 10)
    assert round_up(round_up(price)) == round_up(price)


@given(micros, st.integers(0, 3600 * 24 * 30), st.integers(1, 10_000))
def test_whole_cost_is_rounded_up_once(price, seconds, slices):
    assert slice_cost(price, seconds, slices) == ceil(Fraction(price * seconds * slices, 3600))
