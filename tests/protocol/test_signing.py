"""An envelope that was touched anywhere is refused, before anything of it is parsed."""

import base64
import json
import random
import string

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from support.proofs import figure

from computepool.protocol.signing import SignatureRefused, Signed, key_id_of, load_public_key, sign, verify

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
PUBLIC = KEY.public_key().public_bytes_raw()
KEY_ID = key_id_of(PUBLIC)
KEYS = {KEY_ID: load_public_key(PUBLIC)}
BODY = json.dumps({"job_id": "job_1", "argv": ["echo", "ünïcode ✓"], "fence": 7}).encode()


def test_intact_envelope_gives_its_bytes_back():
    assert verify(sign(KEY, KEY_ID, "manifest", BODY), "manifest", KEYS) == BODY


@given(st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=40), st.text(st.characters(codec="utf-8")))
def test_whatever_is_signed_can_be_verified(type, text):
    body = text.encode()
    assert verify(sign(KEY, KEY_ID, type, body), type, KEYS) == body


def test_type_cannot_be_swapped():
    receipt = sign(KEY, KEY_ID, "receipt", BODY)
    with pytest.raises(SignatureRefused, match="expected a manifest, got a receipt"):
        verify(receipt, "manifest", KEYS)
    with pytest.raises(SignatureRefused, match="does not hold"):
        verify(receipt.model_copy(update={"type": "manifest"}), "manifest", KEYS)


def test_type_and_body_cannot_borrow_from_each_other():
    """A zero byte lies between them in what is signed, and no type has one."""
    signed = sign(KEY, KEY_ID, "a", b"b\0c")
    with pytest.raises(ValueError, match="type"):
        Signed(type="a\0b", key_id=KEY_ID, body="c", signature=signed.signature)


def test_foreign_key_is_refused_under_its_own_and_under_a_trusted_name():
    stranger = Ed25519PrivateKey.generate()
    stranger_id = key_id_of(stranger.public_key().public_bytes_raw())
    with pytest.raises(SignatureRefused, match="not a trusted key"):
        verify(sign(stranger, stranger_id, "manifest", BODY), "manifest", KEYS)
    with pytest.raises(SignatureRefused, match="does not hold"):
        verify(sign(stranger, KEY_ID, "manifest", BODY), "manifest", KEYS)


def test_no_keys_trust_nobody():
    with pytest.raises(SignatureRefused):
        verify(sign(KEY, KEY_ID, "manifest", BODY), "manifest", {})


def test_signature_has_one_spelling():
    signed = sign(KEY, KEY_ID, "manifest", BODY)
    raw = base64.b64decode(signed.signature)
    last = signed.signature[-3]
    alphabet = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
    respelled = [
        signed.signature + "\n",
        signed.signature.rstrip("="),
        base64.urlsafe_b64encode(raw).decode() if b"-" in base64.urlsafe_b64encode(raw) else " " + signed.signature,
        signed.signature[:-3] + alphabet[alphabet.index(last) ^ 1] + "==",  # the spare bits of the last letter
    ]
    for spelling in respelled:
        with pytest.raises(SignatureRefused):
            verify(signed.model_copy(update={"signature": spelling}), "manifest", KEYS)


@pytest.mark.proof
def test_no_flipped_bit_of_the_whole_envelope_is_accepted():
    raw = sign(KEY, KEY_ID, "manifest", BODY).to_bytes()
    everywhere = [(position, bit) for position in range(len(raw)) for bit in range(8)]
    for position, bit in everywhere:
        altered = bytearray(raw)
        altered[position] ^= 1 << bit
        assert not _is_accepted(bytes(altered)), f"bit {bit} of byte {position}"


@pytest.mark.proof
def test_no_random_mutation_of_the_envelope_is_accepted():
    """Bytes replaced, removed, doubled, swapped: accepted only where the JSON still means the very same envelope."""
    rng = random.Random(23)
    original = sign(KEY, KEY_ID, "manifest", BODY)
    raw = original.to_bytes()
    for _ in range(figure(3_000, 100_000)):
        altered = bytearray(raw)
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(altered))
            match rng.randrange(4):
                case 0:
                    altered[place] = rng.randrange(256)
                case 1:
                    del altered[place]
                case 2:
                    altered.insert(place, altered[place])
                case _:
                    other = rng.randrange(len(altered))
                    altered[place], altered[other] = altered[other], altered[place]
        assert not _is_accepted(bytes(altered), unless=original), bytes(altered)


def _is_accepted(raw: bytes, unless: Signed | None = None) -> bool:
    """As an agent would: parse the envelope, then verify."""
    try:
        signed = Signed.model_validate_json(raw)
    except ValueError:
        return False
    if signed == unless:
        return False  # such as a space between two fields: nothing of the envelope changed
    try:
        verify(signed, "manifest", KEYS)
    except SignatureRefused:
        return False
    return True
