"""What a machine's owner and an operator see and say of its past."""

import json

import pytest
from support.fake_api import CREATED

RELIABILITY = {
    "mean": 0.8667,
    "lower": 0.7033,
    "has_record": True,
    "ok_attempts": 10,
    "failures_in_a_row": 0,
    "quarantined_until": None,
    "probed": False,
    "slots": None,
    "tenure_days": 40.2,
    "uptime_30d": 0.5,
    "audited": {"ok": 3, "wrong": 0},
    "verified": False,
    "missing_for_verified": ["the operator has not checked its owner"],
}


def event(number, **changes):
    return {
        "id": number,
        "node_id": "node_1",
        "attempt_id": "attempt_1",
        "verdict": "host",
        "reason": "lease_expired",
        "weight": -4.0,
        "at": CREATED,
        "contested_at": None,
        "contest_reason": None,
        "resolution": None,
        "resolved_at": None,
        "resolution_note": None,
    } | changes


@pytest.fixture
def known(hub):
    hub.nodes[0]["reliability"] = dict(RELIABILITY)
    hub.events = [event(7), event(6, verdict="ok", reason="exited", weight=1.0)]
    return hub


def test_node_show_tells_reliability_and_the_last_events(known, cli):
    text = cli("node", "show", "alpha").text
    assert "0.87, at least 0.70 (10 ok for others)" in text
    assert "50% of the last 30 days, known for 40 days" in text
    assert "no: the operator has not checked its owner" in text
    assert "3 right, 0 wrong" in text
    assert "-4" in text
    assert "lease_expired" in text
    document = json.loads(cli("node", "show", "alpha", "--json").text)
    assert document["reliability"]["lower"] == 0.7033


def test_node_show_tells_a_quarantine_and_how_much_it_gets_at_once(known, cli):
    known.nodes[0]["reliability"] |= {"quarantined_until": "2026-01-02T03:04:05Z", "verified": True}
    known.nodes[0]["slices_at_once"] = 2
    text = cli("node", "show", "alpha").text
    assert "in quarantine until" in text
    assert "at most 2 slices at once so far; more as they end well" in text
    known.nodes[0]["reliability"] |= {"quarantined_until": None, "probed": True}
    assert "on probation" in cli("node", "show", "alpha").text


def test_a_hub_that_knows_nothing_of_the_past_shows_none(hub, cli):
    assert "reliability" not in cli("node", "show", "alpha").text


def test_an_owner_contests_and_an_operator_decides(known, cli):
    assert "contested" in cli("node", "contest", "alpha", "7", "--reason", "a power cut").err
    listed = cli("admin", "contests").text
    assert "a power cut" in listed
    assert json.loads(cli("admin", "contests", "--json").text)["items"][0]["id"] == 7
    assert "upheld" in cli("admin", "resolve", "7", "upheld", "--note", "seen").err
    assert known.events[0]["resolution_note"] == "seen"
    assert json.loads(cli("admin", "resolve", "7", "dismissed", "--json").text)["resolution"] == "dismissed"


def test_without_contests_the_list_says_so(hub, cli):
    assert "Nobody objects" in cli("admin", "contests").err


def test_a_contest_needs_a_reason_and_a_number(known, cli):
    assert cli("node", "contest", "alpha", "7").code == 2
    assert cli("node", "contest", "alpha", "zero", "--reason", "x").code == 2
    assert cli("admin", "resolve", "7", "perhaps").code == 2


def test_an_operator_verifies_a_machine_and_takes_it_back(known, cli):
    assert "It is verified." in cli("admin", "verify", "alpha").err
    assert "has not checked its owner" in cli("admin", "unverify", "alpha").err
    assert json.loads(cli("admin", "verify", "alpha", "--json").text)["verified"] is True
