"""Keys and secrets at rest. Each purpose has a key of its own, derived from the hub's one secret."""

import contextlib
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from computepool.hub.core.files import sync_folder

KEY_BYTES = 32
NONCE_BYTES = 12
VERSION = b"\x01"
"""First byte of what is encrypted, so that the way of doing it can change one day."""
SECRET_KEY_LEAST_CHARACTERS = 32


class CannotDecryptError(Exception):
    """It was encrypted with another secret key, for another purpose, or was changed since."""


def derive_key(secret_key: bytes, purpose: str, length: int = KEY_BYTES) -> bytes:
    return HKDF(SHA256(), length, salt=b"computepool", info=purpose.encode()).derive(secret_key)


def encrypt(secret_key: bytes, purpose: str, plaintext: bytes, *, bound_to: str = "") -> bytes:
    """`bound_to` names the row it belongs to: moved to another row, it does not decrypt."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    cipher = AESGCM(derive_key(secret_key, purpose))
    return VERSION + nonce + cipher.encrypt(nonce, plaintext, bound_to.encode())


def decrypt(secret_key: bytes, purpose: str, encrypted: bytes, *, bound_to: str = "") -> bytes:
    version, nonce, body = encrypted[:1], encrypted[1 : 1 + NONCE_BYTES], encrypted[1 + NONCE_BYTES :]
    if version != VERSION or len(nonce) != NONCE_BYTES:
        raise CannotDecryptError("this was not encrypted by this hub")
    try:
        return AESGCM(derive_key(secret_key, purpose)).decrypt(nonce, body, bound_to.encode())
    except InvalidTag:
        raise CannotDecryptError(
            f"what is stored as {purpose} does not open with this secret key; was COMPUTEPOOL_SECRET_KEY changed?"
        ) from None


def load_secret_key(configured: str | None, path: Path) -> bytes:
    """The configured one; else the one in the file, which is made, for its owner's eyes only, where there is none."""
    if configured is not None:
        return configured.encode()
    if not path.exists():
        keep_secret_key(path, secrets.token_urlsafe(KEY_BYTES))
    key = path.read_text().strip()
    if len(key) < SECRET_KEY_LEAST_CHARACTERS:
        raise ValueError(f"{path} holds no secret key; restore it from a backup, or start with an empty home folder")
    return key.encode()


def keep_secret_key(path: Path, key: str) -> None:
    """Whole or not at all, and never over one that another start has made meanwhile."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    try:
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    sync_folder(path.parent)  # what the database keeps from now on opens with nothing else
