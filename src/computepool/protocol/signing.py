"""Signed envelopes: what a manifest, a receipt and a key announcement travel in.

The signature covers the type and the exact bytes of the body. Nothing of a body is parsed before its signature held,
so a bit flip, a swapped type or a foreign key is refused before any of our own code looks at it.
"""

import base64
import hashlib
from collections.abc import Mapping

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import Field

from computepool.protocol.model import Wire

_DOMAIN = b"computepool/1\0"
"""Keeps our signatures from meaning anything in another protocol."""


class SignatureRefused(Exception):
    """The envelope is not what it claims to be. Drop it; do not look inside."""


class Signed(Wire):
    """A body in the exact bytes that were signed, as text: JSON is carried as it is, not encoded again."""

    type: str = Field(max_length=40, pattern=r"^[^\x00]*$")
    """Without a zero byte: that is what ends it in what is signed."""
    key_id: str = Field(max_length=80)
    body: str
    signature: str = Field(max_length=100)


def key_id_of(public_key: bytes) -> str:
    return "ed25519:" + hashlib.sha256(public_key).hexdigest()[:16]


def sign(key: Ed25519PrivateKey, key_id: str, type: str, body: bytes) -> Signed:
    signature = key.sign(_signed_bytes(type, body))
    return Signed(type=type, key_id=key_id, body=body.decode(), signature=base64.b64encode(signature).decode())


def verify(signed: Signed, expected_type: str, keys: Mapping[str, Ed25519PublicKey]) -> bytes:
    """The body's bytes, once the signature over type and body held under one of the keys that the caller trusts."""
    if signed.type != expected_type:
        raise SignatureRefused(f"expected a {expected_type}, got a {signed.type}")
    key = keys.get(signed.key_id)
    if key is None:
        raise SignatureRefused(f"signed by {signed.key_id}, which is not a trusted key")
    body = signed.body.encode()
    try:
        signature = base64.b64decode(signed.signature, validate=True)
        if base64.b64encode(signature).decode() != signed.signature:
            # Base64 has spare bits: the same signature in another spelling is still an altered envelope.
            raise ValueError("not the canonical spelling")
        key.verify(signature, _signed_bytes(expected_type, body))
    except (InvalidSignature, ValueError):
        raise SignatureRefused(f"the signature of this {expected_type} does not hold") from None
    return body


def load_public_key(public_key: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(public_key)


def _signed_bytes(type: str, body: bytes) -> bytes:
    return _DOMAIN + type.encode() + b"\0" + body
