"""Sizes, durations, cores, credits and ranges."""

import contextlib
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from computepool.protocol.units import (
    CPU_EXAMPLES,
    GIB,
    KIB,
    MAX_CPUS,
    MAX_CREDITS,
    MAX_DURATION_SECONDS,
    MAX_SIZE_BYTES,
    MIB,
    MICROS_PER_CREDIT,
    PIB,
    TIB,
    BadValueError,
    Range,
    about_bytes,
    format_bytes,
    format_cpus,
    format_credits,
    format_duration,
    format_range,
    nearest,
    parse_bytes,
    parse_cpu_range,
    parse_cpus,
    parse_credits,
    parse_duration,
    parse_range,
    parse_size_range,
    short_repr,
)

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
SIZES = st.integers(0, MAX_SIZE_BYTES)
CPUS = st.integers(10, int(MAX_CPUS) * 1000).map(lambda thousandths: thousandths / 1000)


@pytest.mark.parametrize(
    ("written", "size_bytes"),
    [
        ("16GB", 16 * GIB),
        ("16GiB", 16 * GIB),
        ("16gb", 16 * GIB),
        ("16Gi", 16 * GIB),
        ("16G", 16 * GIB),
        (" 16 GB ", 16 * GIB),
        ("512MB", 512 * MIB),
        ("4k", 4 * KIB),
        ("1.5TB", 3 * TIB // 2),
        ("1PB", PIB),
        ("100B", 100),
        ("0.0000001KB", 1),
        ("16", 16 * GIB),
        (16, 16 * GIB),
        (0.5, GIB // 2),
        (0, 0),
    ],
)
def test_sizes_are_powers_of_two_and_a_bare_number_is_gigabytes(written, size_bytes):
    assert parse_bytes(written) == size_bytes


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("16GX", "did you mean 16GB?"),
        ("16 parsecs", "did you mean 16PB?"),
        ("16xb", "16GB, 512MB or 1.5TB"),
        ("lots", "'lots' is not a size"),
        ("", "is not a size"),
        ("-1GB", "is not a size"),
        (-1, "below zero"),
        ("1e3GB", "is not a size"),
        ("١٦GB", "is not a size"),
        (True, "True is not a size"),
        (None, "None is not a size"),
        (math.nan, "is not a size"),
        (math.inf, "is not a size"),
        ([16], "is not a size"),
        ("2000PB", "more than 1PB"),
        (17179869184, "a bare number is gigabytes"),
        pytest.param(10**5000, "a number of 16610 bits", id="huge number"),
        pytest.param("9" * 5000 + "GB", "is not a size", id="huge text"),
    ],
)
def test_a_wrong_size_is_named_with_what_to_write(written, said):
    with pytest.raises(BadValueError) as caught:
        parse_bytes(written)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (90, 90),
        ("90", 90),
        ("90s", 90),
        ("15m", 900),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("1.5h", 5400),
        ("1d", 86400),
        ("1w", 604800),
        ("2 hours", 7200),
        ("45 min", 2700),
        ("1W2D3H4M5S", 604800 + 2 * 86400 + 3 * 3600 + 4 * 60 + 5),
        (90.0, 90),
        ("0s", 0),
    ],
)
def test_durations_are_whole_seconds(written, seconds):
    assert parse_duration(written) == seconds


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("soon", "'soon' is not a duration"),
        ("", "is not a duration"),
        ("30m1h", "is not a duration"),
        ("1h1h", "is not a duration"),
        ("2x", "1h30m"),
        ("1h30", "is not a duration"),
        ("-5m", "is not a duration"),
        (-5, "below zero"),
        (0.5, "the nearest is 1s"),
        ("90.5", "the nearest is 1m31s"),
        (False, "False is not a duration"),
        (None, "is not a duration"),
        ("1s" * 200, "is not a duration"),
        ("999999w", "more than ten years"),
    ],
)
def test_a_wrong_duration_is_named_with_what_to_write(written, said):
    with pytest.raises(BadValueError) as caught:
        parse_duration(written)
    assert said in str(caught.value)


@pytest.mark.parametrize(("written", "cpus"), [(8, 8.0), ("8", 8.0), (0.5, 0.5), ("0.125", 0.125), (0.1, 0.1)])
def test_cores_may_be_fractions(written, cpus):
    assert parse_cpus(written) == cpus


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (0, "the nearest valid value is 0.01"),
        (5000, "the nearest valid value is 4096"),
        (0.12345, "the nearest is 0.123"),
        (-1, "below zero"),
        ("eight", "write it like 8, 8+, 4..8 or 0.5"),
        (True, "is not a number of cores"),
    ],
)
def test_a_wrong_number_of_cores_is_named_with_the_nearest(written, said):
    with pytest.raises(BadValueError) as caught:
        parse_cpus(written)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("written", "micros"),
    [(40, 40_000_000), (0.1, 100_000), ("0.1", 100_000), (0.3, 300_000), ("12.345678", 12_345_678), (1e-6, 1), (0, 0)],
)
def test_credits_become_micros_without_float_error(written, micros):
    assert parse_credits(written) == micros


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (0.0000001, "the nearest is 0.000001"),
        (-1, "below zero"),
        ("40 credits", "write it like 40 or 0.25"),
        (MAX_CREDITS + 1, "at most"),
        (str(2**63), "is more than 1000000000 credits"),
        ("9" * 10_000 + ".5", "is more than 1000000000 credits"),
        (True, "is not an amount of credits"),
        ("NaN", "is not an amount of credits"),
    ],
)
def test_a_wrong_amount_is_named_with_the_nearest(written, said):
    with pytest.raises(BadValueError) as caught:
        parse_credits(written)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("written", "minimum", "maximum"),
    [
        ("24GB..", 24 * GIB, None),
        ("24GB+", 24 * GIB, None),
        ("..80GB", 0, 80 * GIB),
        ("16GB..32GB", 16 * GIB, 32 * GIB),
        ("16GB .. 32GB", 16 * GIB, 32 * GIB),
        ("16..32", 16 * GIB, 32 * GIB),
        ("32+", 32 * GIB, None),
        ("16GB", 16 * GIB, None),
        (16, 16 * GIB, None),
    ],
)
def test_ranges_of_sizes(written, minimum, maximum):
    assert parse_size_range(written) == Range[int](minimum=minimum, maximum=maximum)


@pytest.mark.parametrize(
    ("written", "minimum", "maximum"),
    [("8+", 8, None), (8, 8, None), ("4..8", 4, 8), ("..8", 0, 8), ("0.5", 0.5, None)],
)
def test_ranges_of_cores(written, minimum, maximum):
    assert parse_cpu_range(written) == Range[float](minimum=minimum, maximum=maximum)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("..", "neither a beginning nor an end"),
        ("+", "'' is not a size"),
        ("32GB..16GB", "did you mean '16GB..32GB'?"),
        ("1GB..2GB..3GB", "is not a size"),
        ([1, 2], "is not a size"),
    ],
)
def test_a_wrong_range_is_named_with_what_to_write(written, said):
    with pytest.raises(BadValueError) as caught:
        parse_size_range(written)
    assert said in str(caught.value)


def test_a_range_accepts_its_ends_and_what_lies_between():
    range_ = Range[int](minimum=100, maximum=200)
    assert [range_.accepts(value) for value in (99, 100, 150, 200, 201)] == [False, True, True, True, False]
    assert [range_.accepts(value, tolerance=0.08) for value in (91, 92, 216, 217)] == [False, True, True, False]
    assert Range[int](minimum=100).accepts(10**12)


@settings(deadline=None)
@given(SIZES)
def test_a_formatted_size_reads_back(size_bytes):
    assert parse_bytes(format_bytes(size_bytes)) == size_bytes


@settings(deadline=None)
@given(st.integers(0, MAX_DURATION_SECONDS))
def test_a_formatted_duration_reads_back(seconds):
    assert parse_duration(format_duration(seconds)) == seconds


@settings(deadline=None)
@given(CPUS)
def test_formatted_cores_read_back(cpus):
    assert parse_cpus(format_cpus(cpus)) == cpus
    assert parse_cpus(cpus) == cpus


@settings(deadline=None)
@given(st.integers(0, MAX_CREDITS * MICROS_PER_CREDIT))
def test_formatted_credits_read_back(micros):
    assert parse_credits(format_credits(micros)) == micros


@settings(deadline=None)
@given(st.tuples(SIZES, SIZES).map(sorted), st.booleans())
def test_a_formatted_range_of_sizes_reads_back(ends, is_open):
    range_ = Range[int](minimum=ends[0], maximum=None if is_open else ends[1])
    assert parse_size_range(format_range(range_, format_bytes)) == range_


@settings(deadline=None)
@given(st.tuples(CPUS, CPUS).map(sorted), st.booleans())
def test_a_formatted_range_of_cores_reads_back(ends, is_open):
    range_ = Range[float](minimum=ends[0], maximum=None if is_open else ends[1])
    assert parse_range(format_range(range_, format_cpus), parse_cpus, CPU_EXAMPLES) == range_


@settings(deadline=None)
@given(ANYTHING | st.from_regex(r"[0-9]{1,20}(\.[0-9]+)?[a-zA-Z. +]{0,6}[0-9]{0,3}", fullmatch=True))
def test_parsers_raise_nothing_but_bad_value(value):
    for parse in (parse_bytes, parse_duration, parse_cpus, parse_credits, parse_size_range, parse_cpu_range):
        with contextlib.suppress(BadValueError):
            parse(value)


@settings(deadline=None)
@given(ANYTHING)
def test_a_value_in_a_message_is_short_and_printable(value):
    shown = short_repr(value)
    assert len(shown) <= 80
    assert shown.isprintable()


def test_a_foreign_object_is_shown_by_its_kind_alone():
    class Rude:
        def __repr__(self) -> str:
            raise RuntimeError

    assert short_repr(Rude()) == "a Rude"


def test_nearest_finds_slips_and_nothing_far():
    assert nearest("memroy", ["memory", "disk"]) == "memory"
    assert nearest("banana", ["memory", "disk"]) is None


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KB"),
        (1536, "1.5 KB"),
        (20_197_621_760, "18.8 GB"),
        (200 * 1024**3, "200 GB"),
    ],
)
def test_sizes_for_reading_are_rounded(size_bytes, text):
    assert about_bytes(size_bytes) == text
