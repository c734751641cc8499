"""A receipt holds only when every signature, every name and every digest does."""

import json
from datetime import timedelta
from typing import Any

import pytest
from support.fake_api import digest
from support.receipts import Signer, receipt_item

from computepool.client import ClientError
from computepool.client.receipts import ReceiptItem, read_receipt
from computepool.protocol.hub_keys import KEY_RETIREMENT, HubKey, Retirement
from computepool.protocol.manifest import Manifest
from computepool.protocol.spec import parse_spec
from computepool.protocol.verification import INSTEAD, Check, Evidence, verify

HUB, NODE, OTHER = Signer(), Signer(), Signer()


def judged(item: dict[str, Any], **options: Any) -> dict[str, Check]:
    return {check.name: check for check in verify([ReceiptItem.model_validate(item)], **options)}


def failed(item: dict[str, Any], **options: Any) -> set[str]:
    return {name for name, check in judged(item, **options).items() if not check.passed}


def test_honest_receipt_holds():
    checks = judged(receipt_item(HUB, NODE), job_id="job_1")
    assert set(checks) == {"hub signature", "node signature", "receipt answers order", "isolation"}
    assert all(check.passed for check in checks.values())


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"attempt_id": "attempt_2"}, "attempt"),
        ({"fence": 8}, "fence"),
        ({"spec_digest": "sha256:other"}, "spec digest"),
        ({"manifest_digest": "sha256:other"}, "manifest digest"),
        ({"node_id": "node_2"}, "node"),
        ({"job_id": "job_2"}, "job"),
    ],
)
def test_receipt_of_another_order_is_found(change, wrong):
    checks = judged(receipt_item(HUB, NODE, receipt=change))
    assert not checks["receipt answers order"].passed
    assert wrong in checks["receipt answers order"].detail


@pytest.mark.parametrize(
    "change", [{"slice_index": 1, "slices": 2}, {"attempt_number": 2}, {"node_id": "node_2"}, {"job_id": "job_2"}]
)
def test_order_for_something_else_is_found(change):
    assert "receipt answers order" in failed(receipt_item(HUB, NODE, manifest=change), job_id="job_1")


def test_order_of_a_retired_key_holds_for_the_time_before_its_end_alone():
    issued = Manifest.model_validate_json(ReceiptItem.model_validate(receipt_item(HUB, NODE)).manifest.body).issued_at

    def trusted(not_after):
        body = Retirement(hub_id="hub_1", key_id=HUB.hub_key["key_id"], not_after=not_after).to_bytes()
        ended = {**HUB.hub_key, "retirement": OTHER.sign(KEY_RETIREMENT, body)}
        return [HubKey.model_validate(ended), HubKey.model_validate(OTHER.hub_key)]

    assert failed(receipt_item(HUB, NODE), hub_keys=trusted(issued)) == set()
    late = judged(receipt_item(HUB, NODE), hub_keys=trusted(issued - timedelta(seconds=1)))
    assert not late["hub signature"].passed
    assert "ended" in late["hub signature"].detail


def test_receipt_of_another_job_is_found():
    assert failed(receipt_item(HUB, NODE, "job_1"), job_id="job_2") == {"receipt answers order"}


SPEC = parse_spec(
    {"run": ["python3", "a.py"], "env": {"SEED": "7"}, "outputs": ["out/**"], "max_runtime": "2h", "slices": 2}
)
ORDER = {
    "spec_digest": SPEC.digest(),
    "argv": ("python3", "a.py"),
    "env": {"SEED": "7"},
    "outputs": ("out/**",),
    "max_runtime_seconds": 7200,
    "slices": 2,
}


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({}, None),
        ({"argv": ("python3", "b.py")}, "command"),
        ({"env": {"SEED": "8"}}, "env"),
        ({"env": {"SEED": "7", "LD_PRELOAD": "x"}}, "env"),
        ({"outputs": ()}, "outputs"),
        ({"max_runtime_seconds": 60}, "max_runtime"),
        ({"slices": 3}, "slices"),
        ({"network": True}, "network"),
        ({"spec_digest": "sha256:mine"}, "spec digest"),
    ],
)
def test_order_for_something_else_than_was_submitted_is_found(change, wrong):
    order = {**ORDER, **change}
    item = receipt_item(HUB, NODE, manifest=order, receipt={"spec_digest": order["spec_digest"]})
    check = judged(item, spec=SPEC)["spec"]
    assert check.passed is (wrong is None)
    assert check.detail == (f"another spec was ordered: {wrong}" if wrong else "what was ordered is what was submitted")


def test_order_at_a_weaker_level_than_was_asked_for_is_found():
    spec = parse_spec({"run": ["true"], "isolation": "bubblewrap", "max_runtime": "1m"})
    item = receipt_item(HUB, NODE, manifest={"spec_digest": spec.digest()}, receipt={"spec_digest": spec.digest()})
    assert judged(item, spec=spec)["spec"].detail == "another spec was ordered: isolation"


def test_succeeded_slice_without_a_receipt_is_found():
    items = [ReceiptItem.model_validate(receipt_item(HUB, NODE))]
    assert all(check.passed for check in verify(items, succeeded=[0]))
    wrong = [check for check in verify(items, succeeded=[0, 1, 3]) if not check.passed]
    assert [(check.slice, check.name) for check in wrong] == [(1, "receipt"), (3, "receipt")]


@pytest.mark.parametrize("change", [{"exit_code": 1}, {"exit_code": None, "reason": "sandbox", "isolation": None}])
def test_receipt_of_a_failure_does_not_prove_a_success(change):
    items = [ReceiptItem.model_validate(receipt_item(HUB, NODE, receipt=change))]
    assert [check.name for check in verify(items, succeeded=[0]) if not check.passed] == ["receipt"]


def test_receipt_that_nobody_signed_proves_no_success():
    item = receipt_item(HUB, OTHER)
    item["node"]["sign_key"] = NODE.text
    checks = verify([ReceiptItem.model_validate(item)], succeeded=[0])
    assert [check.name for check in checks if not check.passed] == ["node signature", "receipt"]


@pytest.mark.parametrize("type", ["Manifest", "mani-fest", "\u202emanifest", ""])
def test_envelope_of_a_strange_type_is_refused_in_words(type):
    item = receipt_item(HUB, NODE)
    item["manifest"]["type"] = type
    checks = verify([read_receipt(item)])
    assert [check.name for check in checks if not check.passed] == ["hub signature"]


def test_receipt_that_is_none_is_refused_in_words():
    changes: list[dict[str, Any]] = [
        {"manifest": None},
        {"receipt": {"type": "a\0b"}},
        {"node": {}},
        {"slice": "x"},
    ]
    for change in changes:
        with pytest.raises(ClientError, match="is not one"):
            read_receipt({**receipt_item(HUB, NODE), **change})


@pytest.mark.parametrize(("part", "name"), [("manifest", "hub signature"), ("receipt", "node signature")])
def test_changed_body_is_found(part, name):
    item = receipt_item(HUB, NODE)
    item[part]["body"] = item[part]["body"].replace('"fence":7', '"fence":9')
    assert name in failed(item)


@pytest.mark.parametrize("part", ["manifest", "receipt"])
@pytest.mark.parametrize("field", ["signature", "key_id", "type"])
def test_envelope_that_was_tampered_with_is_found(part, field):
    item = receipt_item(HUB, NODE)
    item[part][field] = "aaaa"
    assert failed(item)


def test_receipt_signed_by_another_node_is_found():
    item = receipt_item(HUB, OTHER)
    item["node"]["sign_key"] = NODE.text
    assert failed(item) == {"node signature"}


def test_hub_key_beside_the_receipt_is_not_enough_when_keys_are_known():
    known = [HubKey.model_validate(HUB.hub_key)]
    assert failed(receipt_item(HUB, NODE), hub_keys=known) == set()
    assert failed(receipt_item(OTHER, NODE), hub_keys=known) == {"hub signature"}


def test_key_under_a_borrowed_id_is_not_trusted():
    item = receipt_item(HUB, NODE)
    item["hub_keys"] = [{"key_id": HUB.hub_key["key_id"], "public_key": OTHER.text}]
    assert "hub signature" in failed(item)


@pytest.mark.parametrize("key", ["", "AAAA", "%%%", "A" * 44])
def test_nonsense_keys_are_failures_not_crashes(key):
    item = receipt_item(HUB, NODE)
    item["node"]["sign_key"] = key
    item["hub_keys"] = [{"key_id": "x", "public_key": key}]
    assert {"hub signature", "node signature"} <= failed(item)


def test_signed_nonsense_is_a_failure_not_a_crash():
    item = receipt_item(HUB, NODE)
    item["manifest"] = HUB.sign("manifest", b"{}").model_dump(mode="json")
    item["receipt"] = NODE.sign("receipt", b"[1").model_dump(mode="json")
    assert failed(item) == {"hub signature", "node signature"}


def test_strangers_job_at_level_process_is_found():
    item = receipt_item(HUB, NODE, manifest={"own": False}, receipt={"isolation": "process"})
    assert failed(item) == {"isolation"}


def test_own_job_at_level_process_is_said_to_be_not_isolated():
    checks = judged(receipt_item(HUB, NODE, receipt={"isolation": "process"}))
    assert checks["isolation"].passed
    assert "not isolated" in checks["isolation"].detail


def test_attempt_that_never_started_had_no_isolation_to_judge():
    checks = judged(receipt_item(HUB, NODE, receipt={"isolation": None, "exit_code": None}))
    assert checks["isolation"].passed
    assert checks["isolation"].detail == "the command never started"
    assert failed(receipt_item(HUB, NODE, receipt={"isolation": None, "exit_code": 0})) == {"isolation"}


def test_weaker_isolation_than_ordered_is_found():
    item = receipt_item(HUB, NODE, manifest={"isolation": "container"}, receipt={"isolation": "bubblewrap"})
    assert failed(item) == {"isolation"}


@pytest.mark.parametrize(
    ("outputs", "log", "wrong"),
    [
        ({"a": b"1", "b": b"2"}, b"log", set()),
        ({"a": b"1", "b": b"X"}, b"log", {"outputs"}),
        ({"a": b"1"}, b"log", {"outputs"}),
        ({"a": b"1", "b": b"2", "c": b"3"}, b"log", {"outputs"}),
        ({"a": b"1", "b": b"2"}, b"other", {"log"}),
    ],
)
def test_downloads_are_held_against_the_receipt(outputs, log, wrong):
    item = receipt_item(HUB, NODE, log=b"log", outputs={"a": b"1", "b": b"2"})
    evidence = Evidence({path: digest(data) for path, data in outputs.items()}, digest(log), len(log))
    assert failed(item, evidence={(0, 1): evidence}) == wrong


def test_items_survive_a_round_trip_through_a_file():
    item = json.loads(json.dumps(ReceiptItem.model_validate(receipt_item(HUB, NODE)).model_dump(mode="json")))
    assert failed(item) == set()


# ── a result that another's replaced ─────────────────────────────────────────────────────────────────────────────────


def replaced(manifest=None, receipt=None, signer=HUB, **changes):
    """Slice 0's own attempt was wrong; one of another job counts instead."""
    elsewhere = {"node_id": "node_9", "attempt_id": "attempt_9", "fence": 3}
    other = receipt_item(
        signer,
        OTHER,
        "job_hidden",
        outputs={"a.txt": b"right"},
        manifest={**elsewhere, "own": False, "isolation": "bubblewrap", **(manifest or {})},
        receipt={**elsewhere, **(receipt or {})},
    )
    node = {"id": "node_9", "name": "gamma", "sign_key": OTHER.text}
    instead = {"job_id": "job_hidden", "attempt": 1, **{key: other[key] for key in ("manifest", "receipt")}}
    item = receipt_item(HUB, NODE, outputs={"a.txt": b"wrong"})
    return [ReceiptItem.model_validate({**item, "instead": {**instead, "node": node, **changes}})]


FOUND = {(0, INSTEAD): Evidence({"a.txt": digest(b"right")})}
DELIVERED_WRONG = {(0, INSTEAD): Evidence({"a.txt": digest(b"wrong")})}


def wrong_in(items, **asked):
    asked = {"hub_keys": [HubKey.model_validate(HUB.hub_key)], "job_id": "job_1", "succeeded": [0], **asked}
    return {check.name for check in verify(items, **asked) if not check.passed}


def test_a_result_that_another_attempt_replaced_is_verified_by_that_ones_papers():
    assert wrong_in(replaced(), evidence=FOUND) == set()
    assert wrong_in(replaced(), evidence=DELIVERED_WRONG) == {"outputs"}
    said = [check for check in verify(replaced()) if check.name == "same work"]
    assert [(one.attempt, one.passed) for one in said] == [(INSTEAD, True)]
    assert "gamma" in said[0].detail


@pytest.mark.parametrize(
    "change",
    [
        {"argv": ("false",)},
        {"env": {"SEED": "9"}},
        {"slice_index": 1, "slices": 2},
        {"renter": "user_somebody"},
        {"spec_digest": "sha256:other"},
        {"outputs": ("b.txt",)},
        {"bundle": {"digest": "sha256:other", "size_bytes": 3}},
        {"name": "other"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_replacement_that_was_ordered_to_do_something_else_is_found(change):
    same = {"spec_digest": change["spec_digest"]} if "spec_digest" in change else {}
    assert "same work" in wrong_in(replaced(manifest=change, receipt=same))


def test_a_replacement_from_the_same_node_or_of_another_hub_is_found():
    again = {"node_id": "node_1"}
    node = {"id": "node_1", "sign_key": OTHER.text}
    assert "same work" in wrong_in(replaced(manifest=again, receipt=again, node=node))
    assert "hub signature" in wrong_in(replaced(signer=OTHER))
    assert "receipt answers order" in wrong_in(replaced(job_id="job_2"))


def test_a_replacement_that_failed_proves_no_success_and_neither_does_what_it_replaced():
    assert wrong_in(replaced(receipt={"exit_code": 1})) == {"receipt"}
