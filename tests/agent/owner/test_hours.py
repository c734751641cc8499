"""Hours of the week: what people write, and what the clock on the wall shows when clocks are changed."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.agent.owner.hours import parse_hours
from computepool.protocol.units import BadValueError

BERLIN = ZoneInfo("Europe/Berlin")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")


def at(text, zone=BERLIN, fold=0):
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).astimezone(UTC)


@pytest.mark.parametrize(
    ("hours", "moment", "is_open"),
    [
        ("always", "2026-03-04 03:00", True),
        ("22:00-07:00", "2026-03-04 21:59", False),
        ("22:00-07:00", "2026-03-04 22:00", True),
        ("22:00-07:00", "2026-03-05 06:59", True),
        ("22:00-07:00", "2026-03-05 07:00", False),
        ("09:00-17:00", "2026-03-04 12:00", True),
        ("09:00-17:00", "2026-03-04 17:00", False),
        ("00:00-24:00", "2026-03-04 23:59", True),
        # A night belongs to the day on which it begins.
        ("mon-fri 22:00-07:00", "2026-03-07 06:00", True),  # Saturday morning, of Friday's night
        ("mon-fri 22:00-07:00", "2026-03-07 23:00", False),
        ("mon-fri 22:00-07:00", "2026-03-02 06:00", False),  # Monday morning is Sunday's night
        ("mon-fri 22:00-07:00, sat-sun", "2026-03-07 12:00", True),
        ("mon-fri 22:00-07:00, sat-sun", "2026-03-09 00:00", False),
        ("fri-mon", "2026-03-08 12:00", True),
        ("fri-mon", "2026-03-10 12:00", False),
        ("Saturday 10:00 - 12:00", "2026-03-07 11:00", True),
        ("daily 10:00-12:00", "2026-03-03 11:00", True),
    ],
)
def test_hours_are_open_when_the_wall_clock_says_so(hours, moment, is_open):
    assert parse_hours(hours).are_open(at(moment), BERLIN) is is_open


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty part"),
        ("mon-fri 22:00", "not days"),
        ("25:00-26:00", "no clock shows"),
        ("10:60-11:00", "no clock shows"),
        ("10:00-10:00", "lasts no time"),
        ("24:00-01:00", "lasts no time"),
        ("mox", "did you mean mon?"),
        ("mon-fri 22:00-07:00 sat", "goes on after its times"),
        ("mon, ", "empty part"),
        (7, "not hours"),
    ],
)
def test_wrong_hours_say_what_is_wrong(text, told):
    with pytest.raises(BadValueError, match=told.replace("?", r"\?")):
        parse_hours(text)


def test_ten_at_night_is_ten_at_night_in_summer_and_winter():
    hours = parse_hours("22:00-07:00")
    for day in ("2026-01-15", "2026-07-15"):
        assert hours.next_change(at(f"{day} 12:00"), BERLIN) == at(f"{day} 22:00")


def test_night_in_which_clocks_go_forward_or_back_ends_at_seven():
    hours = parse_hours("22:00-07:00")
    assert hours.next_change(at("2026-03-28 23:00"), BERLIN) == at("2026-03-29 07:00")
    assert hours.next_change(at("2026-10-24 23:00"), BERLIN) == at("2026-10-25 07:00")


def test_end_in_an_hour_that_clocks_skip_comes_when_they_are_changed():
    hours = parse_hours("01:00-02:30")
    closes = hours.next_change(at("2026-03-29 01:30"), BERLIN)
    assert closes == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)  # 02:00 has become 03:00


def test_hour_that_clocks_show_twice_is_open_twice():
    hours = parse_hours("02:00-02:30")
    for fold in (0, 1):
        assert hours.are_open(at("2026-10-25 02:15", fold=fold), BERLIN)
    first_end = hours.next_change(at("2026-10-25 02:15", fold=0), BERLIN)
    assert first_end == at("2026-10-25 02:30", fold=0)
    assert hours.next_change(first_end, BERLIN) == at("2026-10-25 02:00", fold=1)


SPANS = st.tuples(
    st.sampled_from(["", "mon ", "tue-thu ", "sat-mon "]), st.integers(0, 1439), st.integers(1, 1440)
).filter(lambda span: span[1] != span[2])


@given(
    st.lists(SPANS, min_size=1, max_size=3),
    st.integers(0, 366 * 24 * 60),
    st.sampled_from([BERLIN, LORD_HOWE, ZoneInfo("Asia/Kolkata"), UTC]),
)
def test_nothing_changes_before_the_next_change(spans, minute, zone):
    text = ", ".join(f"{days}{a // 60:02}:{a % 60:02}-{b // 60:02}:{b % 60:02}" for days, a, b in spans)
    hours = parse_hours(text)
    now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
    change = hours.next_change(now, zone)
    state = hours.are_open(now, zone)
    if change is None:
        change = now + timedelta(days=7)
        assert hours.are_open(change, zone) == state
    else:
        assert hours.are_open(change, zone) != state
    # Every minute near the ends, every quarter of an hour between.
    steps = {0.0, (change - now).total_seconds() - 60}
    steps |= {float(second) for second in range(0, int((change - now).total_seconds()), 900)}
    for seconds in steps:
        if 0 <= seconds < (change - now).total_seconds():
            assert hours.are_open(now + timedelta(seconds=seconds), zone) == state
