"""The regularised incomplete beta function and its inverse, to within 1e-10: all of scipy that a hub needs."""

from math import exp, lgamma, log, log1p, sqrt
from statistics import NormalDist

CLOSE_ENOUGH = 1e-14
"""Relative, of the continued fraction."""
LAST_STEP = 1e-7
"""Relative to both ends: Newton's steps square what is missing, so that after one of this size nothing is."""
TERMS_LIMIT = 100_000
STEPS_LIMIT = 200
TINY = 1e-300
"""Stands for a zero that would be divided by."""


def regularised(x: float, a: float, b: float) -> float:
    """I_x(a, b): the chance that a Beta(a, b) is at most x."""
    _check(a, b)
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    # The fraction converges quickly on one side of the mean; the other is its mirror image.
    if x < (a + 1) / (a + b + 2):
        return _front(x, a, b) * _fraction(x, a, b) / a
    return 1.0 - _front(x, a, b) * _fraction(1.0 - x, b, a) / b


def quantile(p: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = p. Newton's steps, kept between bounds that close in on it."""
    _check(a, b)
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{p} is not a probability")
    if p in (0.0, 1.0):
        return p
    low, high = 0.0, 1.0
    x = _first_guess(p, a, b)
    for _ in range(STEPS_LIMIT):
        miss = regularised(x, a, b) - p
        low, high = (low, x) if miss > 0 else (x, high)
        slope = _front(x, a, b) / (x * (1.0 - x))
        following = x - miss / slope if slope > TINY else low
        if low < following < high:
            if abs(following - x) <= LAST_STEP * x * (1.0 - x):
                return following
        else:
            following = (low + high) / 2
            if not low < following < high:
                return following
        x = following
    return x


def _check(a: float, b: float) -> None:
    if not (a > 0.0 and b > 0.0):
        raise ValueError(f"there is no Beta({a}, {b})")


def _front(x: float, a: float, b: float) -> float:
    """x^a (1 - x)^b / B(a, b)."""
    return exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))


def _fraction(x: float, a: float, b: float) -> float:
    """1 / (1 + d1 / (1 + d2 / (1 + …))), from the front to the back (Lentz)."""
    numerator, denominator = 1.0, 1.0 / _nonzero(1.0 - (a + b) * x / (a + 1))
    value = denominator
    for m in range(1, TERMS_LIMIT):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            denominator = 1.0 / _nonzero(1.0 + term * denominator)
            numerator = _nonzero(1.0 + term / numerator)
            value *= denominator * numerator
        if abs(denominator * numerator - 1.0) < CLOSE_ENOUGH:
            break
    return value


def _nonzero(value: float) -> float:
    return value if abs(value) > TINY else TINY


def _first_guess(p: float, a: float, b: float) -> float:
    """From the normal distribution where that is near (Abramowitz and Stegun 26.5.22); else the middle."""
    if a <= 1.0 or b <= 1.0:
        return 0.5
    y = -NormalDist().inv_cdf(p)
    left, right = 1 / (2 * a - 1), 1 / (2 * b - 1)
    h, third = 2 / (left + right), (y * y - 3) / 6
    if h + third <= 0:
        return a / (a + b)
    w = y * sqrt(h + third) / h - (right - left) * (third + 5 / 6 - 2 / (3 * h))
    guess = a / (a + b * exp(min(2 * w, 500.0)))
    return guess if 0.0 < guess < 1.0 else a / (a + b)
