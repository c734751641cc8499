"""TLS with a hub whose certificate no authority signed: its public key is known beforehand, by its fingerprint.

The fingerprint is the SHA-256 of the key's SubjectPublicKeyInfo, as browsers show it. A renewed certificate for the
same key keeps it. Names and dates in the certificate are not looked at: whoever has the private key is the hub.
"""

import hashlib
import ssl
from typing import Any


class PinMismatch(ssl.SSLError):
    """Whoever answers there has another key than the one that was pinned. Nothing was sent."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(f"expected a certificate with the public key {expected}, got {found}")
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return str(self.args[0])

    def told(self, hub_url: str) -> str:
        """What happened and why, for a person."""
        return (
            f"the hub at {hub_url} shows another key than the one that was pinned: {self}. It was set up anew, or "
            "somebody else answers in its place; nothing was sent"
        )


COMPARE_KEYS = "`computepool hub doctor` on the hub's machine shows its public key. If it is this one"
"""How to tell a new key from an attack; what to do then follows."""


def fingerprint_of(certificate: bytes) -> str:
    """Of the public key in a certificate, which is in DER."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    from cryptography.x509 import load_der_x509_certificate

    key = load_der_x509_certificate(certificate).public_key()
    return f"sha256:{hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()}"


class PinnedContext(ssl.SSLContext):
    """Ends a handshake with anybody but the holder of the pinned key, before a byte of a request goes out."""

    fingerprint: str

    def __new__(cls, fingerprint: str) -> "PinnedContext":
        context = super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # no authority vouches for this key: the pin does
        context.fingerprint = fingerprint
        context.sslsocket_class = _PinnedSocket
        context.sslobject_class = _PinnedObject
        return context

    def check(self, certificate: bytes | None) -> None:
        found = fingerprint_of(certificate) if certificate else "none"
        if found != self.fingerprint:
            raise PinMismatch(self.fingerprint, found)


class _PinnedSocket(ssl.SSLSocket):
    def do_handshake(self, block: bool = False) -> None:
        super().do_handshake(block)
        _check(self)


class _PinnedObject(ssl.SSLObject):
    def do_handshake(self) -> None:
        super().do_handshake()
        _check(self)


def _check(connection: Any) -> None:
    assert isinstance(connection.context, PinnedContext)
    connection.context.check(connection.getpeercert(binary_form=True))


def pin_mismatch(error: BaseException | None) -> PinMismatch | None:
    """The one behind a library's own error."""
    while error is not None and not isinstance(error, PinMismatch):
        error = error.__cause__ or error.__context__
    return error
