"""An agent runs only intact, fresh manifests that are addressed to it (promise 23)."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import ValidationError
from support.receipts import Signer

from computepool.protocol.manifest import MANIFEST, Grant, Manifest, open_manifest
from computepool.protocol.receipt import RECEIPT
from computepool.protocol.signing import SignatureRefused, key_id_of, load_public_key
from computepool.protocol.states import IsolationLevel

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HUB = Signer(Ed25519PrivateKey.from_private_bytes(b"h" * 32))
KEYS = {key_id_of(HUB.raw): load_public_key(HUB.raw)}


def manifest(**changes):
    facts: dict[str, Any] = {
        "hub_id": "hub_1",
        "node_id": "node_1",
        "job_id": "job_1",
        "attempt_id": "attempt_1",
        "attempt_number": 1,
        "slice_index": 0,
        "slices": 1,
        "fence": 7,
        "issued_at": NOW,
        "expires_at": NOW + timedelta(seconds=300),
        "spec_digest": "sha256:spec",
        "name": "x",
        "argv": ("true",),
        "env": {"A": "1"},
        "grant": Grant(cpus=1, memory_bytes=1, disk_bytes=1),
        "isolation": IsolationLevel.BUBBLEWRAP,
        "own": False,
        "max_runtime_seconds": 60,
    }
    return Manifest(**facts | changes)


def signed(type=MANIFEST, **changes):
    return HUB.sign(type, manifest(**changes).to_bytes())


def opened(envelope, *, hub_id="hub_1", node_id="node_1", now=NOW):
    return open_manifest(envelope, KEYS, hub_id=hub_id, node_id=node_id, now=now)


def test_intact_manifest_is_opened_unchanged():
    assert opened(signed()) == manifest()


@pytest.mark.parametrize(
    ("changes", "reader", "reason"),
    [
        ({}, {"node_id": "node_2"}, "is for node_1, not for this node"),
        ({}, {"hub_id": "hub_2"}, "of hub hub_1, this node belongs to hub_2"),
        ({}, {"now": NOW + timedelta(seconds=301)}, "expired at 2026-01-02 03:09:05 UTC"),
        ({"expires_at": NOW - timedelta(seconds=1)}, {"now": NOW - timedelta(seconds=5)}, "expires before"),
        ({"type": RECEIPT}, {}, "expected a manifest"),
    ],
)
def test_manifest_of_another_place_or_time_is_refused(changes, reader, reason):
    with pytest.raises(SignatureRefused, match=reason):
        opened(signed(**changes), **reader)


def test_manifest_is_good_to_the_second_of_its_expiry():
    assert opened(signed(), now=NOW + timedelta(seconds=300))


def test_altered_body_is_refused_before_it_is_parsed():
    envelope = signed()
    for body in (envelope.body.replace("node_1", "node_2"), "not json at all", ""):
        with pytest.raises(SignatureRefused, match="does not hold"):
            opened(envelope.model_copy(update={"body": body}), node_id="node_2")


def test_signed_nonsense_is_no_manifest():
    with pytest.raises(ValidationError):
        opened(HUB.sign(MANIFEST, b'{"hub_id": "hub_1"}'))


def test_field_of_a_newer_hub_is_ignored():
    body = manifest().to_bytes()[:-1] + b',"a_newer_field":1}'
    assert opened(HUB.sign(MANIFEST, body)) == manifest()


def test_stranger_who_names_the_hubs_key_is_refused():
    stranger = Signer()
    forged = stranger.sign(MANIFEST, manifest().to_bytes()).model_copy(update={"key_id": key_id_of(HUB.raw)})
    with pytest.raises(SignatureRefused):
        opened(forged)
    assert base64.b64decode(forged.signature)  # well-formed, and worth nothing
