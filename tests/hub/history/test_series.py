"""Buckets: a down-sampled series is the aggregate of its samples, however the samples came together."""

import contextlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.hub.history.metrics import NARROW, NodeMetrics, stored_values
from computepool.hub.history.series import BadChunk, Cell, Series, bounded, decode, encode, merged

SAMPLES = st.lists(
    st.tuples(st.integers(0, 100_000), st.dictionaries(st.integers(0, 5), st.integers(0, 2**28), min_size=1)),
    max_size=60,
)


def aggregate(samples, step):
    """Plainly, from the samples themselves."""
    found: dict[tuple[int, int], list[int]] = {}
    for at, values in samples:
        for code, value in values.items():
            found.setdefault((at // step, code), []).append(value)
    return {key: Cell(len(values), sum(values), min(values), max(values)) for key, values in found.items()}


def cells(series):
    return {(index, code): cell for index, bucket in series.buckets.items() for code, cell in bucket.items()}


@given(
    samples=SAMPLES, steps=st.lists(st.sampled_from([2, 3, 5]), max_size=3), parts=st.integers(1, 4), seed=st.integers()
)
def test_down_sampled_series_is_the_aggregate_of_its_samples(samples, steps, parts, seed):
    rng, step = random.Random(seed), 10
    some = [Series(step) for _ in range(parts)]
    for at, values in samples:
        rng.choice(some).add(at, values)
    rng.shuffle(some)
    whole = merged(*(decode(encode(part)) for part in some))
    for factor in steps:
        step *= factor
        whole = decode(encode(whole.at_step(step)))
    assert cells(whole) == aggregate(samples, step)


@given(samples=SAMPLES, most=st.integers(1, 50))
def test_bounded_series_has_few_buckets_and_all_samples(samples, most):
    series = Series(10)
    for at, values in samples:
        series.add(at, values)
    found = bounded(series, most)
    assert len(found) <= most
    assert cells(found) == aggregate(samples, found.step)


@given(st.binary(max_size=60))
def test_bytes_that_nobody_wrote_are_refused_or_read_and_never_break(data):
    with contextlib.suppress(BadChunk):
        decode(data)


def test_steps_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="does not divide"):
        Series(15).merge(Series(10))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), -1.0, -0.0001])
def test_value_that_is_no_number_is_dropped(value):
    assert stored_values({NodeMetrics.CPU: value, NodeMetrics.POWER[0]: value}) == {}


def test_value_above_its_range_counts_as_the_greatest():
    found = stored_values({NodeMetrics.CPU: 7.0, NodeMetrics.TEMPERATURE[0]: 1e300, NodeMetrics.MEMORY: None})
    assert found == {NodeMetrics.CPU.code: 10_000, NodeMetrics.TEMPERATURE[0].code: NARROW}
