"""The incomplete beta function against values computed to 40 digits elsewhere, and by what must hold of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.hub.reputation.beta import quantile, regularised

REGULARISED = [
    # x, a, b, I_x(a, b)
    (0.05, 3, 2, 0.00048125),
    (0.3, 3, 2, 0.0837),
    (0.7, 3, 2, 0.6517),
    (0.95, 3, 2, 0.98598125),
    (0.3, 13, 2, 1.61026623e-6),
    (0.7, 13, 2, 0.047475615099429966),
    (0.985, 13, 2, 0.98183588663483787),
    (0.3, 53, 2, 7.3850165993860732e-27),
    (0.95, 53, 2, 0.24079304834923269),
    (0.985, 53, 2, 0.8057209744219226),
    (0.7, 53, 6, 8.6385433851141005e-5),
    (0.95, 53, 6, 0.93090646093005775),
    (0.3, 3.25, 2.75, 0.11443393747535583),
    (0.7, 3.25, 2.75, 0.77609183152438542),
    (0.05, 0.5, 0.5, 0.14356629312870627),
    (0.7, 0.5, 0.5, 0.63098988043445459),
    (0.3, 1, 1, 0.3),
    (0.05, 2, 30, 0.46340309014265611),
    (0.3, 2, 30, 0.99977460659709308),
    (0.7, 303, 12, 1.3776712191856917e-33),
    (0.95, 303, 12, 0.1360802062278092),
    (0.985, 303, 12, 0.99681842652880862),
    (0.95, 1003, 52.25, 0.45418742291131279),
    (0.985, 50003, 502, 9.4540968716042406e-24),
]
QUANTILES = [
    # p, a, b, x
    (0.05, 3, 2, 0.24860462573018148),
    (0.5, 3, 2, 0.61427243186761045),
    (0.95, 3, 2, 0.90238853711358561),
    (0.05, 13, 2, 0.70326576105112533),
    (0.5, 13, 2, 0.88297785882282738),
    (0.05, 53, 2, 0.91513804011576646),
    (0.95, 53, 2, 0.99337941757708074),
    (0.05, 53, 6, 0.8272495772495792),
    (0.5, 53, 6, 0.90280134049715176),
    (0.05, 3.25, 2.75, 0.22368843907641739),
    (0.05, 2, 30, 0.011585315861443595),
    (0.95, 2, 30, 0.14409039131834476),
    (0.05, 303, 12, 0.94268002738621183),
    (0.05, 1003, 52.25, 0.93904158254872275),
    (0.95, 1003, 52.25, 0.96095932792833884),
    (0.05, 50003, 502, 0.98932346664792535),
    (0.5, 50003, 502, 0.99006685817374048),
    (0.05, 0.5, 0.5, 0.0061558297024311376),
    (0.95, 0.5, 0.5, 0.99384417029756885),
]

shapes = st.floats(1, 5_000)
"""Records have at least 3 and 2. Below 1 the density has no bound, and no x is near enough to its chance."""
chances = st.floats(0.001, 0.999)


@pytest.mark.parametrize(("x", "a", "b", "expected"), REGULARISED)
def test_the_function_has_its_known_values(x, a, b, expected):
    assert regularised(x, a, b) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("p", "a", "b", "expected"), QUANTILES)
def test_its_inverse_has_its_known_values(p, a, b, expected):
    assert quantile(p, a, b) == pytest.approx(expected, rel=1e-10)


@given(chances, shapes, shapes)
def test_one_undoes_the_other(p, a, b):
    assert regularised(quantile(p, a, b), a, b) == pytest.approx(p, abs=1e-9)


@given(st.floats(0, 1), shapes, shapes)
def test_what_is_left_of_x_is_right_of_its_mirror_image(x, a, b):
    assert regularised(x, a, b) == pytest.approx(1 - regularised(1 - x, b, a), abs=1e-9)


@given(chances, chances, shapes, shapes)
def test_greater_chances_have_greater_quantiles(p, q, a, b):
    low, high = sorted((p, q))
    assert quantile(low, a, b) <= quantile(high, a, b) + 1e-12


@given(chances, shapes, shapes, st.floats(0.01, 100))
def test_more_for_it_raises_a_quantile_and_more_against_it_lowers_it(p, a, b, more):
    here = quantile(p, a, b)
    assert quantile(p, a + more, b) >= here - 1e-12
    assert quantile(p, a, b + more) <= here + 1e-12


def test_the_ends_are_the_ends():
    assert (regularised(0, 3, 2), regularised(1, 3, 2)) == (0, 1)
    assert (regularised(-1, 3, 2), regularised(2, 3, 2)) == (0, 1)
    assert (quantile(0, 3, 2), quantile(1, 3, 2)) == (0, 1)


@pytest.mark.parametrize(("p", "a", "b"), [(0.5, 0, 1), (0.5, 1, -1), (1.5, 1, 1), (float("nan"), 1, 1)])
def test_what_is_no_distribution_is_refused(p, a, b):
    with pytest.raises(ValueError, match=r"no Beta|not a probability"):
        quantile(p, a, b)
