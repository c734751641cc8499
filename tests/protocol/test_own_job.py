"""The owner's signature under a job: what exactly is signed, by golden vectors, and that each part of it counts."""

import base64
import json
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.own_jobs import (
    HUB_ID,
    INPUT,
    MANIFEST,
    NODE_ID,
    NOW,
    OWNER,
    SIGNATURE,
    SPEC,
    keys_of,
    signature_of,
    signed_manifest,
)

from computepool.protocol.own_job import OWN_JOB, VALID_SECONDS, OwnJob, Work, key_text, open_own_job, read_key
from computepool.protocol.signing import SignatureRefused, key_id_of

CANONICAL = (
    '{"argv":["sh","-c","python3 train.py > \\"ü\\""],"bundle":"sha256:aa","checkpoint":"saved",'
    '"env":{"A":"1","Z":"ü"},'
    '"image":"python:3.12","inputs":[["data/a.csv","sha256:bb",null],["data/b.csv","sha256:' + "c" * 64 + '",'
    '"https://data.example.org/b.csv"]],"max_runtime_seconds":7200.0,"network":true,"outputs":["out/**"],'
    '"setup":["sh","-c","pip install numpy"],"slices":3}'
)
DIGEST = "sha256:4d9ae7c7c9d8e5698d9d8993ca234ad22d7df9a8b3273701c609352e4b538a02"
SIGNED = "ET0hhZgsXsIY5ToCzchxptnt3DKwo7yZHps9Au/MF4UY1YdFtoc3tUzN5RGcFP3U28pV/tX7zOJ8aZ1pflB6Bw=="


def test_canonical_form_of_the_work_is_this():
    work = Work.asked_for(SPEC, "sha256:aa", {INPUT: "sha256:bb"})
    assert work.canonical_json().decode() == CANONICAL
    assert work.digest() == DIGEST


def test_signature_under_it_is_this():
    assert json.loads(SIGNATURE.body) == {
        "version": 1,
        "hub_id": HUB_ID,
        "node_id": None,
        "isolation": "process",
        "work": DIGEST,
        "expires_at": "2026-01-09T05:04:05Z",
    }
    assert (SIGNATURE.type, SIGNATURE.key_id) == (
        OWN_JOB,
        key_id_of(OWNER.public_key().public_bytes_raw()),
    )
    assert SIGNATURE.signature == SIGNED


def test_manifest_of_the_same_work_is_the_owners_own_in_every_attempt():
    for changes in (
        {},
        {"slice_index": 2, "attempt_number": 7, "attempt_id": "attempt_9", "fence": 99, "image_digest": "sha256:dd"},
        {"inputs": MANIFEST.inputs[::-1]},
        {"issued_at": NOW + timedelta(days=6), "job_id": "job_retried"},
    ):
        manifest = MANIFEST.model_copy(update=changes)
        assert open_own_job(manifest, keys_of(OWNER), now=NOW).work == DIGEST


def test_signature_holds_for_a_week_beside_the_time_that_the_job_may_run():
    until = NOW + timedelta(seconds=VALID_SECONDS + 7200)
    open_own_job(MANIFEST, keys_of(OWNER), now=until)
    with pytest.raises(SignatureRefused, match="expired at 2026-01-09 05:04:05 UTC"):
        open_own_job(MANIFEST, keys_of(OWNER), now=until + timedelta(seconds=1))


def test_spec_that_names_a_node_or_a_level_is_signed_for_these_alone():
    statement = OwnJob.model_validate_json(
        signature_of(signed_manifest(where={"node": NODE_ID}, isolation="container")).body
    )
    assert (statement.node_id, statement.isolation) == (NODE_ID, "container")


@pytest.mark.parametrize(
    "text", ["", "cpk_", "cpk_AAAA", "AAAA", "cpk_" + "A" * 42, "cpk_" + "A" * 44, "cpk_" + "ü" * 43, "cpj_" + "A" * 43]
)
def test_what_is_no_key_is_refused_with_what_to_write(text):
    with pytest.raises(ValueError, match="computepool key"):
        read_key(text)


def test_key_is_read_as_it_is_printed_and_in_no_other_spelling():
    public = Ed25519PrivateKey.generate().public_key()
    text = key_text(public)
    assert read_key(f" {text}\n").public_bytes_raw() == public.public_bytes_raw()
    assert len(text) == 47
    with pytest.raises(ValueError, match="not a public key"):
        read_key("cpk_" + base64.b64encode(b"\xff" * 32).decode().rstrip("="))
