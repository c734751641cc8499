"""`verify`: with the hub, and with a file alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.fake_api import FakeHub, FakeJob
from support.receipts import Signer, receipt_item

from computepool.protocol.spec import parse_spec

HUB, NODE, OTHER = Signer(), Signer(), Signer()
ASKED = parse_spec({"run": "x"})
DIGEST = {"spec_digest": ASKED.digest()}
SPEC: dict[str, dict[str, Any]] = {
    "manifest": {**DIGEST, "argv": ASKED.argv(), "max_runtime_seconds": ASKED.max_runtime_seconds},
    "receipt": DIGEST,
}


@pytest.fixture
def job(hub: FakeHub) -> FakeJob:
    made = hub.add_job({"run": "x"})
    made.begin()
    made.write(b"the log\n")
    made.outputs = [(0, 1, "a.txt", b"1"), (0, 1, "b/c.txt", b"2")]
    made.finish()
    outputs = {path: content for _, _, path, content in made.outputs}
    made.receipts = [receipt_item(HUB, NODE, made.id, log=b"the log\n", outputs=outputs, **SPEC)]
    hub.hub_keys = [HUB.hub_key]
    return made


def test_honest_job_verifies(hub, cli, job):
    result = cli("verify", "last")
    assert result.code == 0
    assert "WRONG" not in result.text
    assert "✓ verified: 1 receipt" in result.err
    assert "Outputs were not checked" in result.err
    document = json.loads(cli("verify", "last", "--json").out)
    assert document["verified"] is True
    assert {check["check"] for check in document["checks"]} >= {"hub signature", "node signature", "log"}


def test_other_spec_than_the_submitted_one_is_found(hub, cli, job):
    job.document["spec"] = {"run": "something else"}
    result = cli("verify", "last")
    assert result.code == 1
    assert "another spec was ordered" in result.text


def test_other_command_under_the_right_digest_is_found(hub, cli, job):
    job.receipts = [receipt_item(HUB, NODE, job.id, manifest={**SPEC["manifest"], "argv": ("evil",)}, receipt=DIGEST)]
    result = cli("verify", "last")
    assert result.code == 1
    assert "another spec was ordered: command" in result.text


def test_succeeded_slice_without_a_receipt_is_wrong_also_in_a_saved_proof(hub, cli):
    made = hub.add_job({"run": "x", "slices": 2})
    for index in range(2):
        made.begin(index)
    made.finish()
    two = parse_spec({"run": "x", "slices": 2})
    order = {**SPEC["manifest"], "slices": 2, "spec_digest": two.digest()}
    made.receipts = [receipt_item(HUB, NODE, made.id, manifest=order, receipt={"spec_digest": two.digest()})]
    hub.hub_keys = [HUB.hub_key]
    result = cli("verify", "last", "--save", "proof.json")
    assert result.code == 1
    assert "no node's receipt says so" in result.text
    assert result.text.count("WRONG") == 1
    assert cli("verify", "proof.json").text.count("WRONG") == 1


@pytest.mark.parametrize("type", ["Manifest", "mani fest", "\u202emanifest", "x" * 41])
def test_envelope_of_a_strange_type_is_told_and_is_no_fault_of_ours(hub, cli, job, type):
    job.receipts[0]["manifest"]["type"] = type
    result = cli("verify", "last")
    assert result.code == 1
    assert "fault of computepool" not in result.err
    assert "Do not rely on" in result.err


def test_changed_log_is_found(hub, cli, job):
    job.logs[(0, 1)] += b"!"
    result = cli("verify", "last")
    assert result.code == 1
    assert "WRONG" in result.text
    assert json.loads(cli("verify", "last", "--json").out)["verified"] is False


def test_downloads_are_checked(hub, cli, job):
    assert cli("get", "last", "-o", "out").code == 0
    assert cli("verify", "last", "-o", "out").code == 0
    Path("out/a.txt").write_text("changed")
    result = cli("verify", "last", "-o", "out")
    assert result.code == 1
    assert "a.txt differs" in result.text


def test_saved_proof_verifies_without_any_hub(hub, cli, job):
    cli("get", "last", "-o", "out")
    assert cli("verify", "last", "--save", "proof.json").code == 0
    hub.stop()
    result = cli("verify", "proof.json", "-o", "out")
    assert result.code == 0
    assert "Logs were not checked" in result.err
    assert "Outputs were not checked" not in result.err
    Path("out/b/c.txt").unlink()
    assert cli("verify", "proof.json", "-o", "out").code == 1


def test_altered_proof_is_found(hub, cli, job):
    cli("verify", "last", "--save", "proof.json")
    text = Path("proof.json").read_text()
    Path("proof.json").write_text(text.replace('\\"fence\\":7', '\\"fence\\":8'))
    assert cli("verify", "proof.json").code == 1
    Path("proof.json").write_text("{}")
    result = cli("verify", "proof.json")
    assert "not what `verify --save` wrote" in result.err


def test_hub_cannot_swap_its_keys_unnoticed(hub, cli, job):
    assert cli("verify", "last").code == 0
    outputs = {path: content for _, _, path, content in job.outputs}
    job.receipts = [receipt_item(OTHER, NODE, job.id, log=b"the log\n", outputs=outputs, **SPEC)]
    hub.hub_keys = [OTHER.hub_key]
    result = cli("verify", "last")
    assert result.code == 1
    assert "--trust-new-keys" in result.err
    assert cli("verify", "last", "--trust-new-keys").code == 0
    assert cli("verify", "last").code == 0


def test_job_without_a_receipt_says_so(hub, cli, job):
    job.receipts = []
    result = cli("verify", "last")
    assert result.code == 1
    assert "WRONG" in result.text
    job.document["slices"][0]["state"] = "canceled"
    result = cli("verify", "last")
    assert result.code == 1
    assert "no receipt" in result.err


def test_a_result_that_was_replaced_is_checked_by_the_papers_of_what_counts(hub, cli, job):
    elsewhere = {"node_id": "node_9", "attempt_id": "attempt_9"}
    other = receipt_item(
        HUB,
        OTHER,
        "job_hidden",
        outputs={"a.txt": b"right"},
        manifest={**SPEC["manifest"], **elsewhere},
        receipt={**DIGEST, **elsewhere},
    )
    node = {"id": "node_9", "name": "gamma", "sign_key": OTHER.text}
    papers = {key: other[key] for key in ("manifest", "receipt")}
    job.receipts[0]["instead"] = {"job_id": "job_hidden", "attempt": 1, "node": node, **papers}
    job.outputs = [(0, 0, "a.txt", b"right")]
    assert cli("get", "last", "-o", "out").code == 0
    result = cli("verify", "last", "-o", "out", "--save", "proof.json")
    assert result.code == 0, result.text
    assert "what gamma gave counts" in result.text
    hub.stop()
    assert cli("verify", "proof.json", "-o", "out").code == 0
    Path("out/a.txt").write_text("wrong")
    assert "a.txt differs" in cli("verify", "proof.json", "-o", "out").text
