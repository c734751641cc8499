"""What an operator allows a renter, on the command line."""

import json

import pytest

USER = "user_01abc"


def test_limits_are_set_all_at_once_and_what_is_left_out_is_the_default(cli, hub):
    result = cli("admin", "limits", "set", USER, "--slices", "50", "--per-day", "200.25")
    assert result.code == 0, result.err
    assert hub.market.limits[USER] == {
        "slices": 50,
        "hourly_micros": None,
        "daily_micros": 200_250_000,
        "monthly_micros": None,
    }
    cli("admin", "limits", "set", USER, "--per-hour", "0.000001", "--per-month", "1000000000")
    assert hub.market.limits[USER] == {
        "slices": None,
        "hourly_micros": 1,
        "daily_micros": None,
        "monthly_micros": 10**15,
    }
    cli("admin", "limits", "set", USER)
    assert set(hub.market.limits[USER].values()) == {None}


def test_limits_are_shown_with_what_is_used_of_them(cli, hub):
    hub.market.used = {"running_slices": 3, "running_hourly_micros": 4_500_000, "spent_today_micros": 7_000_000}
    cli("admin", "limits", "set", USER, "--slices", "8", "--per-hour", "20", "--per-day", "200")
    lines = [line.split(maxsplit=1) for line in cli("admin", "limits", "show", USER).text.splitlines()]
    assert [(name, rest.strip()) for name, rest in lines[:2]] == [("owner", USER), ("slices", "3 of 8")]
    shown = cli("admin", "limits", "show", USER).text
    assert "4.5 of 20 credits" in shown
    assert "7 of 200 credits" in shown
    assert "12.5 credits" in shown  # this month, without a limit


def test_what_waits_is_shown_with_its_limits(cli, hub):
    hub.market.used |= {"queued_slices": 3_000, "limit_queued_slices": 50_000}
    hub.market.used |= {"queued_bytes": 2 * 1024**2, "limit_queued_bytes": None}
    told = cli("admin", "limits", "set", USER, "--slices", "1").text
    lines = [line.split(maxsplit=1) for line in told.splitlines()]
    assert [(name, rest.strip()) for name, rest in lines[-2:]] == [
        ("queued", "3000 of 50000 slices"),
        ("specs", "2 MB"),
    ]


def test_limits_as_json_are_what_the_hub_said(cli, hub):
    told = json.loads(cli("admin", "limits", "set", USER, "--slices", "1", "--json").out)
    assert told == json.loads(cli("admin", "limits", "show", USER, "--json").out)
    assert (told["owner_id"], told["slices"], told["daily_micros"]) == (USER, 1, None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--slices", "0"), "--slices"),
        (("--slices", "-3"), "--slices"),
        (("--slices", "many"), "--slices"),
        (("--per-day", "lots"), "'lots' is not an amount of credits"),
        (("--per-day", "1e3"), "'1e3' is not an amount of credits"),
        (("--per-hour", "0.0000001"), "finer than a millionth"),
        (("--per-month", "99999999999"), "is more than"),
        (("--per-week", "5"), "--per-week"),
    ],
)
def test_limits_that_make_no_sense_are_refused_before_anything_is_sent(cli, hub, words, said):
    result = cli("admin", "limits", "set", USER, *words)
    assert result.code == 2
    assert said in result.err
    assert hub.market.limits == {}


@pytest.mark.parametrize("owner", ["nobody", "../market/tiers", "a/b", "..", "a b?c#d", "日本", "%2e%2e"])
def test_a_name_is_never_a_way_to_somewhere_else(cli, hub, owner):
    before = json.dumps(hub.market.tables)
    for words in (("show", owner), ("set", owner, "--slices", "1")):
        result = cli("admin", "limits", *words)
        assert result.code not in (0, 70), result.err
        assert "fault" not in result.err
        assert "no user or team" in result.err.lower()
    assert (json.dumps(hub.market.tables), hub.market.limits) == (before, {})


@pytest.mark.parametrize("nothing", ["", " ", "."])
def test_an_owner_has_to_be_named(cli, hub, nothing):
    result = cli("admin", "limits", "show", nothing)
    assert result.code != 0
    assert "No user or team is named." in result.err
