"""The hub's secret key: where it is, and how it is replaced.

The secret is in `secret.key` in the home folder, or in COMPUTEPOOL_SECRET_KEY. What is sealed with it is in the
database. A file and a database cannot change in one step, so a rotation takes three:

1. write the new secret to `secret.key.next`
2. seal everything in the database with it, in one transaction
3. rename `secret.key.next` to `secret.key`

Whoever is killed in between leaves two files, and the database opens with one of them: `read_secret_key` finds out with
which. The next start of the hub, or the next rotation, removes the other one.
"""

import asyncio
import contextlib
import secrets
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from computepool.hub.accounts.repository import revoke_live_sessions
from computepool.hub.api.accounts import TOKEN_ROUTE
from computepool.hub.api.join_tokens import JOIN_TOKEN_ROUTE
from computepool.hub.api.vouchers import ROUTE as VOUCHER_ROUTE
from computepool.hub.core.clock import SystemClock
from computepool.hub.core.db import open_database
from computepool.hub.core.files import sync_folder
from computepool.hub.core.idempotency import forget_keys_of
from computepool.hub.core.keyring import are_keys_open, reseal_keys
from computepool.hub.core.records import record
from computepool.hub.core.secrets import KEY_BYTES, SECRET_KEY_LEAST_CHARACTERS, keep_secret_key, load_secret_key
from computepool.hub.core.settings import Settings
from computepool.hub.lock import lock_database
from computepool.hub.payments.vouchers import reseal_voucher_keys
from computepool.hub.schema import check_schema

NEW_SECRET_VARIABLE = "COMPUTEPOOL_NEW_SECRET_KEY"
DERIVED_ROUTES = (TOKEN_ROUTE, JOIN_TOKEN_ROUTE, VOUCHER_ROUTE)
"""A repeated request gets the same token or code again, which is derived from the secret."""


class NoSecretKey(Exception):
    """The keys in the database open with a secret that is not here."""


class BadNewSecret(Exception):
    """What should become the secret key cannot."""


@dataclass(frozen=True)
class SecretRotated:
    file: Path | None
    """Where the new secret is; None if the operator keeps it, in COMPUTEPOOL_SECRET_KEY."""
    sessions_ended: int
    was_done: bool = False
    """An earlier call, with the same new secret, had sealed everything already."""


def secret_file(settings: Settings) -> Path:
    return settings.home / "secret.key"


def next_secret_file(settings: Settings) -> Path:
    return settings.home / "secret.key.next"


def read_secret_key(session: Session, settings: Settings) -> bytes:
    """The secret that the hub's keys are sealed with; changes no file. Raises NoSecretKey."""
    file = secret_file(settings)
    if settings.secret_key is None and not file.exists():
        raise NoSecretKey(
            f"{file} does not exist. Set COMPUTEPOOL_HOME or COMPUTEPOOL_SECRET_KEY as the hub has it; a hub that "
            "never ran has no keys to change."
        )
    secret_key = load_secret_key(settings.secret_key, file)
    if settings.secret_key is not None or are_keys_open(session, secret_key):
        return secret_key
    # Or the rotation has just ended: the file has the new one by now.
    return _read_next(settings, session) or load_secret_key(None, file)


def settle_secret_key(session: Session, settings: Settings) -> bytes:
    """The secret of a hub that starts, made where there is none. Ends a rotation that was interrupted.

    For whoever holds the hub's lock.
    """
    secret_key = load_secret_key(settings.secret_key, secret_file(settings))
    if settings.secret_key is not None or not next_secret_file(settings).exists():
        return secret_key
    if not are_keys_open(session, secret_key):
        coming = _read_next(settings, session)
        if coming is None:
            return secret_key  # neither opens them; both stay, and the start says so
        _put_in_place(settings)
        return coming
    next_secret_file(settings).unlink()
    sync_folder(settings.home)
    return secret_key


def rotate_secret(settings: Settings, new_secret: str | None = None) -> SecretRotated:
    """Replace the secret key, and seal with the new one whatever the old one sealed.

    `new_secret` is needed where COMPUTEPOOL_SECRET_KEY is set, and only there. Raises AlreadyRunning, NoSecretKey,
    BadNewSecret, SchemaError.
    """
    if (new_secret is None) != (settings.secret_key is None):
        raise BadNewSecret("A new secret is given if COMPUTEPOOL_SECRET_KEY is set, and only then.")
    if not settings.home.is_dir() and settings.database_url is None:
        raise NoSecretKey(f"There is no hub in {settings.home}. Set COMPUTEPOOL_HOME as the hub has it.")
    lock = lock_database(settings)
    try:
        db = open_database(settings.effective_database_url)
        try:
            check_schema(db.engine)
            if new_secret is not None:
                return asyncio.run(db.run(_rotate_configured, settings, _checked(new_secret, settings)))
            # The old one is read, and what an interrupted rotation left is settled, before the new one is made.
            old = asyncio.run(db.run(_old_secret, settings))
            new = secrets.token_urlsafe(KEY_BYTES)
            keep_secret_key(next_secret_file(settings), new)
            ended = asyncio.run(db.run(_seal_everything, old, new.encode()))
            _put_in_place(settings)
            return SecretRotated(secret_file(settings), ended)
        finally:
            db.close()
    finally:
        lock.close()


def _old_secret(session: Session, settings: Settings) -> bytes:
    read_secret_key(session, settings)  # not made here: a hub without one has nothing to rotate
    old = settle_secret_key(session, settings)
    if not are_keys_open(session, old):
        raise NoSecretKey(
            f"{secret_file(settings)} does not open this hub's keys. Is it the one that the hub runs with?"
        )
    return old


def _rotate_configured(session: Session, settings: Settings, new: bytes) -> SecretRotated:
    assert settings.secret_key is not None
    old = settings.secret_key.encode()
    if are_keys_open(session, old):
        return SecretRotated(None, _seal_everything(session, old, new))
    if are_keys_open(session, new):
        return SecretRotated(None, 0, was_done=True)
    raise NoSecretKey("COMPUTEPOOL_SECRET_KEY does not open this hub's keys. Is it the one that the hub runs with?")


def _seal_everything(session: Session, old: bytes, new: bytes) -> int:
    """In one transaction; how many sessions ended."""
    now = SystemClock().now()
    keys = reseal_keys(session, old, new)
    reseal_voucher_keys(session, old, new, now)
    forget_keys_of(session, DERIVED_ROUTES)
    ended = len(revoke_live_sessions(session, now=now))
    record(session, "hub_secret.rotated", "hub", now, keys=keys, sessions_ended=ended)
    return ended


def _checked(new_secret: str, settings: Settings) -> bytes:
    if len(new_secret) < SECRET_KEY_LEAST_CHARACTERS:
        raise BadNewSecret(
            f"The new secret key is too short: it needs {SECRET_KEY_LEAST_CHARACTERS} characters or more."
        )
    if new_secret == settings.secret_key:
        raise BadNewSecret("The new secret key is the old one.")
    return new_secret.encode()


def _read_next(settings: Settings, session: Session) -> bytes | None:
    """The secret of a rotation that was interrupted, if the database is sealed with it."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        file = next_secret_file(settings)
        coming = load_secret_key(None, file) if file.exists() else b""
        if coming and are_keys_open(session, coming):
            return coming
    return None


def _put_in_place(settings: Settings) -> None:
    next_secret_file(settings).replace(secret_file(settings))
    sync_folder(settings.home)
