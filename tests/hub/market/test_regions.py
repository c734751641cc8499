"""Regions: who is where, and what a table of them may say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.hub.market.regions import (
    DEFAULT_REGIONS,
    ELSEWHERE,
    EUROPEAN_UNION,
    BadRegions,
    Region,
    merge,
    read_csv,
    read_millis,
    spell_millis,
)
from computepool.hub.market.service import BadTable, read_table
from computepool.hub.market.settings import Rates, Regions, Tables, Tiers
from computepool.protocol.countries import COUNTRIES
from computepool.protocol.countries_alpha3 import ALPHA3


@pytest.mark.parametrize(
    ("country", "region", "factor"),
    [
        ("IN", "IN", 700),
        ("DE", "EU", 950),
        ("US", "US", 1000),
        ("GB", "GB", 1000),
        ("BR", ELSEWHERE, 1000),
        (None, ELSEWHERE, 1000),
    ],
)
def test_a_new_pool_has_the_regions_of_the_design(country, region, factor):
    assert Tables().region_of(country) == (region, factor)


def test_european_union_has_twenty_seven_members():
    assert len(next(region for region in DEFAULT_REGIONS if region.name == "EU").countries) == 27


def test_csv_with_and_without_a_heading():
    for text in ("country,factor\nDE,0.9\nin,0.65\n", "DE,0.9\n\n# a note\nin,0.65"):
        assert read_csv(text) == (
            Region(name="DE", countries=("DE",), factor_millis=900),
            Region(name="IN", countries=("IN",), factor_millis=650),
        )


def test_codes_of_three_letters_are_those_of_published_indexes():
    assert [one.name for one in read_csv("DEU,0.9\nind,0.65\nUSA,1")] == ["DE", "IN", "US"]
    with pytest.raises(BadRegions, match="line 2: DE is there already"):
        read_csv("DEU,0.9\nDE,0.9")
    assert len(ALPHA3) == 249
    assert frozenset(ALPHA3.values()) == COUNTRIES


def test_csv_may_name_the_region():
    found = read_csv("DE,0.9,Alps\nAT,0.9,Alps\nCH,1.3")
    assert [(one.name, one.countries) for one in found] == [("Alps", ("AT", "DE")), ("CH", ("CH",))]


def test_digits_of_a_published_index_are_rounded_to_thousandths():
    found = read_csv("DE,0.94949999\nIN,0.2871362\nUS,1.000")
    assert [one.factor_millis for one in found] == [949, 287, 1000]


def test_name_of_a_region_is_the_same_however_it_is_spelled():
    found = read_csv("DE,0.95,Alps\nAT,0.95,alps")
    assert [(one.name, one.countries) for one in found] == [("Alps", ("AT", "DE"))]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DE,0.9\nUK,0.9", "line 2: 'UK' is not an ISO 3166 two-letter country code; is GB meant?"),
        ("DE,zero", "line 1: 'zero' is not a number"),
        ("DE,-1", "line 1: -1 is not a factor from 0.05 to 20.0"),
        ("DE,nan", "line 1: 'nan' is not a number"),
        ("DE,1e400", "line 1: '1e400' is not a number"),
        ("DE,1e999999", "line 1: '1e999999' is not a number"),
        ("DE,1_0", "line 1: '1_0' is not a number"),
        ("DE,٠.٩", "line 1: '٠.٩' is not a number"),
        ("DE,0", "line 1: 0 is not a factor"),
        ("DE,1000", "line 1: 1000 is not a factor"),
        ("DE", "line 1: expected `country,factor`"),
        ("DE,1\nDE,1", "line 2: DE is there already, in line 1"),
        ("DE,1,EU\nFR,2,EU", "line 2: the region EU has the factor 1.0, and here 2"),
        ("DE,1,elsewhere", "line 1: 'elsewhere' is not a name"),
        ("DE,1,<script>", "line 1"),
        ("", "there is no country in it"),
        ("country,factor\n", "there is no country in it"),
    ],
)
def test_csv_errors_name_the_line(text, said):
    with pytest.raises(BadRegions) as caught:
        read_csv(text)
    assert said in str(caught.value)


@given(st.text(max_size=200))
def test_csv_reader_takes_whatever_it_is_given(text):
    try:
        regions = read_csv(text)
    except BadRegions:
        return
    Regions(items=regions)


def test_import_takes_a_country_out_of_where_it_was():
    merged = merge(DEFAULT_REGIONS, read_csv("DE,0.8"))
    tables = Tables(regions=Regions(items=merged))
    assert tables.region_of("DE") == ("DE", 800)
    assert tables.region_of("FR") == ("EU", 950)
    assert tables.region_of("IN") == ("IN", 700)


def test_import_leaves_what_it_does_not_name():
    merged = merge(DEFAULT_REGIONS, read_csv("CH,0.95,EU"))
    tables = Tables(regions=Regions(items=merged))
    assert tables.region_of("CH") == tables.region_of("FR") == ("EU", 950)
    whole = read_csv("\n".join(f"{code},0.9,eu" for code in EUROPEAN_UNION))
    assert Tables(regions=Regions(items=merge(DEFAULT_REGIONS, whole))).region_of("FR") == ("eu", 900)


def test_import_that_would_give_a_region_two_factors_is_refused():
    with pytest.raises(BadRegions, match=r"the region EU also has AT BE .* at 0.95: name them too"):
        merge(DEFAULT_REGIONS, read_csv("DE,0.9,EU"))


@given(st.integers(0, 10**9))
def test_thousandths_are_spelled_exactly(millis):
    assert read_millis(spell_millis(millis)) == millis


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("regions", {"items": [{"name": "A", "countries": ["XX"], "factor_millis": 1000}]}, "not an ISO 3166"),
        ("regions", {"items": [{"name": "A", "countries": ["DE"], "factor_millis": 0}]}, "has to be at least"),
        ("regions", {"items": [{"name": "A", "countries": ["DE"], "factor_millis": 0.5}]}, "is not a whole number"),
        ("regions", {"items": [{"name": "A", "countries": [], "factor_millis": 1000}]}, "is empty"),
        (
            "regions",
            {
                "items": [
                    {"name": "A", "countries": ["DE"], "factor_millis": 1000},
                    {"name": "B", "countries": ["DE"], "factor_millis": 1000},
                ]
            },
            "DE is in two regions, A and B",
        ),
        ("regions", {"itmes": []}, "is not known here"),
        ("tiers", {"cards": {"rtx-4090": -1}}, "has to be at least"),
        ("tiers", {"cards": {"rtx-4090": 10**9}}, "has to be at most"),
        ("tiers", {"cards": {"RTX 4090": 1, "rtx-4090": 2}}, "twice"),
        ("tiers", {"cards": {"!!": 1}}, "names no card"),
        ("rates", {"base_micros": -5}, "has to be at least"),
        ("rates", {"base_micros": 1.5}, "is not a whole number"),
        ("rates", {"spot_least_millis": 1500}, "has to be at most"),
        ("rates", {"spot_most_millis": 500}, "has to be at least"),
        ("rates", {"preemptible_percent": 0}, "has to be at least"),
        ("rates", {"preemptible_percent": 101}, "has to be at most"),
        ("rates", {"preemptible_percent": 70.0}, "is not a whole number"),
    ],
)
def test_absurd_tables_are_refused_with_the_field(name, value, said):
    with pytest.raises(BadTable) as caught:
        read_table(name, value)
    assert said in str(caught.value.message)
    assert caught.value.fields


def test_tables_name_cards_as_requests_do():
    assert Tiers(cards={"NVIDIA GeForce RTX 4090": 3100}).cards == {"rtx-4090": 3100}


def test_a_base_rate_of_zero_makes_everything_free_and_breaks_nothing():
    assert Tables(rates=Rates(base_micros=0)).rates.base_micros == 0
