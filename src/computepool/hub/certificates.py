"""The certificate that the hub itself serves HTTPS with: the operator's, or one that it makes.

A hub that other machines can reach speaks HTTPS. Where nobody configured a certificate, and no proxy with TLS stands
before it, it signs one with a key of its own. Clients pin that key by its fingerprint, which their join line carries.
The key stays when the certificate is renewed, so the fingerprint does too.
"""

import contextlib
import hashlib
import ipaddress
import os
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from computepool.hub.core.files import sync_folder
from computepool.hub.core.settings import Settings, SettingsError
from computepool.protocol.addresses import is_loopback
from computepool.protocol.pinning import fingerprint_of

KEY_FILE = "tls.key"
CERTIFICATE_FILE = "tls.crt"
LIFETIME = timedelta(days=365)
RENEWED_BEFORE = timedelta(days=60)
BACKDATED = timedelta(days=1)
"""For clients whose clock is behind."""
WILDCARDS = frozenset({"0.0.0.0", "::"})
ALWAYS_NAMED = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class ServerCertificate:
    certificate_file: Path
    key_file: Path
    names: tuple[str, ...] | None
    """Those it is made for, where the hub makes it itself. None: the operator's."""
    fingerprint: str
    """Of its public key: what clients pin."""
    sha256: str
    """Of the whole certificate, as browsers show it beside."""
    not_after: datetime
    is_self_signed: bool
    """No client trusts it without a pin."""

    @property
    def pin(self) -> str | None:
        """What the addresses of this hub have to carry."""
        return self.fingerprint if self.is_self_signed else None

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.load_into(context)
        return context

    def load_into(self, context: ssl.SSLContext) -> None:
        """Connections that are made from now on see this one. Raises SettingsError."""
        try:
            context.load_cert_chain(self.certificate_file, self.key_file)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(
                f"COMPUTEPOOL_TLS_CERTIFICATE and COMPUTEPOOL_TLS_KEY do not belong together: {error}"
            ) from None


def certificate_for(settings: Settings, host: str, now: datetime) -> ServerCertificate | None:
    """What a hub that listens on `host` serves; None for plain HTTP. Raises SettingsError."""
    if settings.tls_certificate is not None:
        return configured_certificate(settings)
    behind_proxy = (settings.public_url or "").startswith("https://")
    if is_loopback(host) or behind_proxy:
        return None
    return own_certificate(settings.home, _names_of(settings, host), now)


def configured_certificate(settings: Settings) -> ServerCertificate | None:
    """The operator's, or the one that was made here earlier. Raises SettingsError."""
    if settings.tls_certificate is not None:
        return _read(settings.tls_certificate, settings.tls_key or settings.tls_certificate)
    file = settings.home / CERTIFICATE_FILE
    return _read(file, settings.home / KEY_FILE) if file.exists() else None


def own_certificate(home: Path, names: Sequence[str], now: datetime) -> ServerCertificate:
    """The hub's own, made or renewed where it has to be: there is none, it ends soon, or a name is new."""
    key_file, file = home / KEY_FILE, home / CERTIFICATE_FILE
    key = _own_key(key_file)
    found = None
    if file.exists():
        with contextlib.suppress(SettingsError):
            found = _read(file, key_file, tuple(names))
    expected = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    is_ours = found is not None and found.fingerprint == f"sha256:{hashlib.sha256(expected).hexdigest()}"
    if found is None or not is_ours or found.not_after - now < RENEWED_BEFORE or not set(names) <= _named(file):
        _write_private(file, _sign(key, names, now).public_bytes(Encoding.PEM))
        found = _read(file, key_file, tuple(names))
    return found


def renewed(certificate: ServerCertificate, home: Path, now: datetime) -> ServerCertificate:
    """The same, or what it was replaced by: by its operator, or here because it ends soon."""
    if certificate.names is None:
        return _read(certificate.certificate_file, certificate.key_file)
    return own_certificate(home, certificate.names, now)


def own_address() -> str:
    """How others in the network reach this machine. Connecting a datagram socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def _names_of(settings: Settings, host: str) -> tuple[str, ...]:
    outside = (own_address(), socket.gethostname()) if host in WILDCARDS else (host,)
    public = urlsplit(settings.public_url).hostname if settings.public_url else None
    return tuple(dict.fromkeys((*ALWAYS_NAMED, *outside, *([public] if public else []))))


def _own_key(path: Path) -> ec.EllipticCurvePrivateKey:
    if not path.exists():
        key = ec.generate_private_key(ec.SECP256R1())
        _write_private(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return key
    try:
        kept = load_pem_private_key(path.read_bytes(), None)
    except ValueError as error:
        raise SettingsError(
            f"{path} holds no private key ({error}). Restore it, or remove it: a new one is made, and "
            "every machine of the pool has to be told its fingerprint"
        ) from None
    assert isinstance(kept, ec.EllipticCurvePrivateKey)
    return kept


def _sign(key: ec.EllipticCurvePrivateKey, names: Sequence[str], now: datetime) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ComputePool hub")])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _named(file: Path) -> set[str]:
    try:
        found = x509.load_pem_x509_certificate(file.read_bytes()).extensions
        names = found.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return set()
    return {str(name.value) for name in names}


def _read(file: Path, key_file: Path, names: tuple[str, ...] | None = None) -> ServerCertificate:
    try:
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
    except OSError as error:
        raise SettingsError(f"COMPUTEPOOL_TLS_CERTIFICATE: {file}: {error.strerror}") from None
    except ValueError:
        raise SettingsError(f"COMPUTEPOOL_TLS_CERTIFICATE: {file} holds no certificate in PEM") from None
    der = certificate.public_bytes(Encoding.DER)
    return ServerCertificate(
        certificate_file=file,
        key_file=key_file,
        names=names,
        fingerprint=fingerprint_of(der),
        sha256=hashlib.sha256(der).hexdigest(),
        not_after=certificate.not_valid_after_utc,
        is_self_signed=certificate.issuer == certificate.subject,
    )


def _write_private(path: Path, data: bytes) -> None:
    """Whole or not at all, and its owner's alone from the first byte on."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)
