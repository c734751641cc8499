"""A job that its owner signed, and the manifest with which an honest hub orders it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from computepool.hub.jobs.brief import brief_of, manifest_of, with_signature
from computepool.protocol.manifest import Grant, Manifest
from computepool.protocol.own_job import Work, sign_own_job
from computepool.protocol.signing import Signed, key_id_of
from computepool.protocol.spec import parse_spec
from computepool.protocol.states import IsolationLevel

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
OWNER = Ed25519PrivateKey.from_private_bytes(b"o" * 32)
HUB_ID, NODE_ID, INPUT = "hub_1", "node_1", "artifact_1"
BUNDLE: Mapping[str, Any] = {"id": "artifact_0", "digest": "sha256:aa", "size_bytes": 1}
WRITTEN = {
    "run": 'python3 train.py > "ü"',
    "setup": "pip install numpy",
    "env": {"Z": "ü", "A": "1"},
    "image": "python:3.12",
    "network": True,
    "inputs": {
        "data/b.csv": {"url": "https://data.example.org/b.csv", "sha256": "c" * 64},
        "data/a.csv": INPUT,
    },
    "outputs": ["out/**"],
    "checkpoint": "saved",
    "slices": 3,
    "max_runtime": "2h",
}
SPEC = parse_spec(WRITTEN)


def keys_of(*keys: Ed25519PrivateKey) -> dict[str, Ed25519PublicKey]:
    return {key_id_of(key.public_key().public_bytes_raw()): key.public_key() for key in keys}


def signed_manifest(key: Ed25519PrivateKey = OWNER, **spec: Any) -> Manifest:
    """Through the client's part and the hub's."""
    parsed = parse_spec({**WRITTEN, **spec})
    stored: Mapping[str, Any] = {"data/a.csv": {"id": INPUT, "digest": "sha256:bb", "size_bytes": 2}}
    work = Work.asked_for(parsed, BUNDLE["digest"], {INPUT: "sha256:bb"})
    signed = sign_own_job(key, parsed, work, hub_id=HUB_ID, now=NOW)
    brief = brief_of("job_1", "user_1", "train", parsed, parsed.digest(), BUNDLE, stored)
    return manifest_of(
        with_signature(brief, signed),
        hub_id=HUB_ID,
        node_id=NODE_ID,
        own=True,
        attempt_id="attempt_1",
        number=1,
        slice_index=0,
        fence=7,
        grant=Grant(cpus=1, memory_bytes=1, disk_bytes=1),
        saved=None,
        isolation=IsolationLevel.PROCESS,
        now=NOW + timedelta(minutes=1),
    )


def signature_of(manifest: Manifest) -> Signed:
    assert manifest.own_job is not None
    return manifest.own_job


MANIFEST = signed_manifest()
SIGNATURE = signature_of(MANIFEST)
