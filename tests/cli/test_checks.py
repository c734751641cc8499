"""What renters and operators see of results that others computed too."""

import json

from support.fake_api import CREATED

REPLICA = {"job_id": "job_hidden", "slice": 0, "state": "succeeded", "node_id": "node_1", "node_name": "beta"}
AUDIT = {
    "id": "check_1",
    "kind": "audit",
    "slice": 0,
    "state": "guilty",
    "detail": "two others computed another result, and the same",
    "answers": 2,
    "created_at": CREATED,
    "decided_at": CREATED,
}
LISTED = AUDIT | {
    "job_id": "job_1",
    "attempt_id": "attempt_1",
    "node_id": "node_1",
    "node_name": "alpha",
    "owner_id": "user_bob",
    "asked": 2,
    "given_back_micros": 12_500_000,
}


def test_show_tells_replicas_and_audits_of_a_deterministic_job(hub, cli):
    made = hub.add_job({"run": "true", "deterministic": True})
    hub.checks = {"replicas": [REPLICA | {"agrees": True}, REPLICA | {"agrees": False}], "checks": [AUDIT]}
    result = cli("show", made.id)
    text = result.text
    assert "The log of a replica: computepool logs JOB" in result.err
    assert "agrees" in text
    assert "differs" in text
    assert "beta" in text
    assert "two others computed another result" in text


def test_show_of_any_other_job_asks_for_no_checks(hub, cli):
    made = hub.add_job({"run": "true"})
    hub.checks = {"replicas": [REPLICA | {"agrees": True}], "checks": []}
    assert "beta" not in cli("show", made.id).text


def test_an_operator_lists_audits_and_filters_them(hub, cli):
    hub.audits = [dict(LISTED), LISTED | {"id": "check_2", "state": "valid", "given_back_micros": 0}]
    text = cli("admin", "audits").text
    assert "12.5" in text
    assert "2 of 2" in text
    listed = json.loads(cli("admin", "audits", "--state", "guilty", "--json").text)
    assert [one["id"] for one in listed["items"]] == ["check_1"]
    hub.audits = []
    assert "Nothing was checked" in cli("admin", "audits").err


def test_an_operator_sends_a_canary(hub, cli):
    made = hub.add_job({"run": "true", "deterministic": True})
    assert "on its way" in cli("admin", "canary", "alpha", made.id, "--slice", "3").err
    assert hub.canaries == [{"node_id": hub.nodes[0]["id"], "job_id": made.id, "slice": 3}]


def test_an_operator_says_what_canaries_are_drawn_from(hub, cli):
    empty = cli("admin", "canaries", "list")
    assert "0.2 a day" in empty.err
    assert "admin canaries add" in empty.err
    made = hub.add_job({"run": "true", "deterministic": True})
    assert "check_0 is sent" in cli("admin", "canaries", "add", made.id, "--slice", "2").err
    assert (hub.known[0]["job_id"], hub.known[0]["slice"]) == (made.id, 2)
    listed = cli("admin", "canaries", "list").text
    assert "an operator vouches" in listed
    assert "12 s" in listed
    assert json.loads(cli("admin", "canaries", "list", "--json").text)["items"] == hub.known
    assert "to nobody any more" in cli("admin", "canaries", "remove", "check_0").err
    assert hub.known == []


def test_an_operator_decides_accusations(hub, cli):
    assert "No accusation is open" in cli("admin", "accusations", "list").err
    about = {"node_name": "alpha", "owner_id": "user_bob", "kind": "audit", "proven": True, "job_id": "job_1"}
    about |= {"state": "open", "note": None, "created_at": CREATED}
    hub.accusations = [{"id": "accusation_1", **about}, {"id": "accusation_2", **about}]
    listed = cli("admin", "accusations", "list").text
    assert "accusation_1" in listed
    assert "proven" in listed
    assert "accusation_1 is confirmed" in cli("admin", "accusations", "confirm", "accusation_1").err
    told = json.loads(cli("admin", "accusations", "dismiss", "accusation_2", "--note", "both are new", "--json").text)
    assert (told["state"], told["note"]) == ("dismissed", "both are new")
    assert "No accusation is open" in cli("admin", "accusations", "list").err
