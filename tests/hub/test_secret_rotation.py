"""`hub keys rotate-secret`: what it seals anew, what ends with the old secret, and that no kill loses a key."""

import asyncio
import os
import signal
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine as SqlEngine
from sqlalchemy import event, select
from sqlalchemy.orm import Session
from support.backups import PASSPHRASE, backup
from support.planted import each_mutant

from computepool.hub import secret_key
from computepool.hub.accounts.background import load_directory
from computepool.hub.accounts.bootstrap import sign_in_this_machine
from computepool.hub.app import create_app
from computepool.hub.backup import restore
from computepool.hub.core.db import durable_engine
from computepool.hub.core.keyring import (
    HubKeyRow,
    announce_next_key,
    are_keys_open,
    load_keyring,
    reseal_keys,
    rotate_keys,
)
from computepool.hub.core.secrets import CannotDecryptError, keep_secret_key
from computepool.hub.core.settings import Settings
from computepool.hub.core.tables import AuditRow
from computepool.hub.engine import Engine
from computepool.hub.lock import AlreadyRunning, lock_database
from computepool.hub.opening import open_engine
from computepool.hub.secret_key import BadNewSecret, NoSecretKey, next_secret_file, rotate_secret, secret_file

OLD, NEW = "the old secret key of a hub in a test", "the new secret key of a hub in a test"
AT = datetime(2027, 1, 1, tzinfo=UTC)
STEPS_LIMIT = 60


@pytest.fixture
def settings(tmp_path, hub_url) -> Settings:
    return Settings(home=tmp_path / "home", database_url=hub_url)


@pytest.fixture
def on_sqlite(tmp_path, sqlite_hub) -> Settings:
    return Settings(home=tmp_path / "home", database_url=sqlite_hub)


def start(settings: Settings, story: Callable[[Engine], Awaitable[Any]] | None = None) -> Any:
    """Open the hub as its start does; the id of its signing key, or what the story returns."""

    async def run() -> Any:
        engine = await open_engine(settings)
        try:
            return engine.keyring.current_id if story is None else await story(engine)
        finally:
            engine.context.db.close()

    return asyncio.run(run())


@contextmanager
def database(settings: Settings) -> Iterator[Session]:
    engine = durable_engine(settings.effective_database_url)
    with Session(engine) as session, session.begin():
        yield session
    engine.dispose()


def secret_of(settings: Settings) -> bytes:
    return secret_file(settings).read_bytes()


# ── a kill at each step ──────────────────────────────────────────────────────────────────────────────────────────────


def rotate_and_die(settings: Settings, step: int) -> int:
    """Rotate in a process that is killed before its n-th step: each look at a file of the secret, each change of one,
    and each commit. The signal that ended it, or 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads: the child needs none of ours
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = step

    def count_down(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(name: str, arguments: tuple[object, ...]) -> None:
        if name in ("open", "os.link", "os.rename", "os.remove") and ".key" in str(arguments):
            count_down()

    try:
        sys.addaudithook(watch)
        event.listen(SqlEngine, "commit", count_down)
        rotate_secret(settings)
        os._exit(0)
    finally:
        os._exit(1)


def no_kill_loses_the_keys(settings: Settings) -> None:
    signer = start(settings)
    with database(settings) as session:
        announce_next_key(session, secret_of(settings), AT)
    kept_old, has_new = 0, 0
    for step in range(1, STEPS_LIMIT):
        before = secret_of(settings)
        ended = rotate_and_die(settings, step)
        assert ended in (0, -signal.SIGKILL)
        assert start(settings) == signer, f"killed at step {step}, the hub has lost its signing key"
        assert not next_secret_file(settings).exists(), "the next start settles an interrupted rotation"
        if ended == 0:
            break
        kept_old, has_new = kept_old + (secret_of(settings) == before), has_new + (secret_of(settings) != before)
    assert ended == 0
    assert secret_of(settings) != before
    assert kept_old, "no kill came before the commit"
    assert has_new, "no kill came after the commit"
    with database(settings) as session:
        rotate_keys(session, AT)
        assert load_keyring(session, secret_of(settings), AT).current_id != signer, "the announced key opens too"


def test_no_kill_at_any_step_loses_the_keys(settings):
    no_kill_loses_the_keys(settings)


def file_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The new secret is in place before anything is sealed with it."""

    def seal(session: Session, settings: Settings) -> bytes:
        old = real(session, settings)
        original = keep_secret_key

        def keep(path: Any, key: str) -> None:
            original(path, key)
            secret_key._put_in_place(settings)
            original(path, key)

        monkeypatch.setattr(secret_key, "keep_secret_key", keep)
        return old

    real = secret_key._old_secret
    monkeypatch.setattr(secret_key, "_old_secret", seal)


def next_secret_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start removes what an interrupted rotation left, without a look at the database."""
    monkeypatch.setattr(secret_key, "are_keys_open", lambda session, secret: True)


def announced_key_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def reseal(session: Session, old: bytes, new: bytes) -> int:
        (coming,) = session.scalars(select(HubKeyRow).where(HubKeyRow.state == "next"))
        kept, sealed = coming.private_key, real(session, old, new)
        coming.private_key = kept
        return sealed

    real = reseal_keys
    monkeypatch.setattr(secret_key, "reseal_keys", reseal)


# ── what goes on, and what ends ──────────────────────────────────────────────────────────────────────────────────────


def caller(engine: Engine) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(create_app(engine))
    return httpx.AsyncClient(transport=transport, base_url="http://hub.test/api/v1/")


def promises_of_people_hold(settings: Settings) -> None:
    """Tokens and vouchers that people have stay valid. Sessions end, and are not listed any more."""

    async def before(engine: Engine) -> dict[str, Any]:
        await load_directory(engine.context, engine.directory)
        local = await sign_in_this_machine(engine.context, engine.directory, None)
        async with caller(engine) as hub:
            mine = {"Authorization": f"Bearer {local.token}"}
            session = (await hub.post("auth/one-time", json={"token": local.sign_in_token})).json()
            made = [
                await hub.post(path, json=body, headers={**mine, "Idempotency-Key": path})
                for path, body in REPEATED.items()
            ]
        assert [answer.status_code for answer in made] == [201] * len(REPEATED), [answer.text for answer in made]
        url = engine.blob_signer.sign_get("aa/bb", 600, "a.txt")
        return {"token": local.token, "session": session, "made": [answer.json() for answer in made], "url": url}

    async def after(engine: Engine) -> None:
        await load_directory(engine.context, engine.directory)
        async with caller(engine) as hub:
            mine = {"Authorization": f"Bearer {had['token']}"}
            assert (await hub.get("me", headers=mine)).status_code == 200
            browser = {"Authorization": f"Bearer {had['session']['access_token']}"}
            assert (await hub.get("me", headers=browser)).status_code == 401
            refresh = {"refresh_token": had["session"]["refresh_token"]}
            assert (await hub.post("auth/refresh", json=refresh)).status_code == 401
            assert (await hub.get("sessions", headers=mine)).json()["items"] == []
            assert (await hub.get("http://hub.test" + had["url"])).status_code == 403
            voucher, token, _ = had["made"]
            assert (await hub.get("me", headers={"Authorization": f"Bearer {token['token']}"})).status_code == 200
            taken = await hub.post("admin/vouchers", json={"credits": "7", "code": CODE}, headers=mine)
            assert taken.status_code == 409, "the code belongs to the earlier voucher"
            redeemed = await hub.post("wallet/vouchers", json={"code": voucher["code"]}, headers=mine)
            assert (redeemed.status_code, redeemed.json().get("credits")) == (201, "7"), redeemed.text
            again = await hub.post("tokens", json=REPEATED["tokens"], headers={**mine, "Idempotency-Key": "tokens"})
            assert again.status_code == 201
            fresh = {"Authorization": f"Bearer {again.json()['token']}"}
            assert (await hub.get("me", headers=fresh)).status_code == 200, "a repeated request gets a token that works"

    had = start(settings, before)
    for _ in range(2):  # a voucher outlives more than one
        made = rotate_secret(settings)
    assert made.file == secret_file(settings)
    start(settings, after)


CODE = "SPRING-2027-LAB"
REPEATED: dict[str, dict[str, Any]] = {
    "admin/vouchers": {"credits": "7", "code": CODE},
    "tokens": {"name": "for a machine", "scopes": ["account:read"]},
    "nodes/join-tokens": {"uses": 1},
}


def test_tokens_and_vouchers_outlive_the_secret_and_sessions_end(settings):
    promises_of_people_hold(settings)


def voucher_keys_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_key, "reseal_voucher_keys", lambda *_: None)


def sessions_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_key, "revoke_live_sessions", lambda *_, **__: [])


def derived_tokens_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_key, "forget_keys_of", lambda *_: None)


MUTANTS = {
    no_kill_loses_the_keys: [file_first, next_secret_is_dropped, announced_key_is_left_out],
    promises_of_people_hold: [voucher_keys_are_forgotten, sessions_are_left, derived_tokens_are_repeated],
}


@each_mutant(MUTANTS)
def test_planted_bug_is_found(check, mutant, on_sqlite, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, CannotDecryptError)):
        check(on_sqlite)


def test_rotation_is_audited_with_how_much_it_sealed(on_sqlite):
    start(on_sqlite)
    rotate_secret(on_sqlite)
    with database(on_sqlite) as session:
        (row,) = session.scalars(select(AuditRow).where(AuditRow.action == "hub_secret.rotated"))
        assert row.details == {"keys": 1, "sessions_ended": 0}


# ── refusals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_hub_that_runs_keeps_its_secret(settings):
    start(settings)
    before = secret_of(settings)
    lock = lock_database(settings)
    with pytest.raises(AlreadyRunning):
        rotate_secret(settings)
    lock.close()
    assert secret_of(settings) == before
    assert not next_secret_file(settings).exists()


def test_secret_that_does_not_open_the_keys_is_not_replaced(on_sqlite):
    with pytest.raises(NoSecretKey, match="does not exist"):
        rotate_secret(on_sqlite)
    start(on_sqlite)
    secret_file(on_sqlite).write_text(OLD)
    with pytest.raises(NoSecretKey, match="does not open this hub's keys"):
        rotate_secret(on_sqlite)
    assert secret_of(on_sqlite) == OLD.encode()


# ── a secret that the operator keeps ─────────────────────────────────────────────────────────────────────────────────


def test_configured_secret_is_replaced_by_the_given_one_and_may_be_asked_for_again(settings):
    old, new = (settings.model_copy(update={"secret_key": secret}) for secret in (OLD, NEW))
    signer = start(old)
    for wrong in (None, "short", OLD):
        with pytest.raises(BadNewSecret):
            rotate_secret(old, wrong)
    made = rotate_secret(old, NEW)
    assert (made.file, made.was_done) == (None, False)
    assert not secret_file(settings).exists()
    assert start(new) == signer
    with pytest.raises(CannotDecryptError, match="does not open with this secret key"):
        start(old)
    assert rotate_secret(old, NEW).was_done, "the answer was lost, and it is asked for again"
    with pytest.raises(NoSecretKey, match="does not open this hub's keys"):
        rotate_secret(old, "another secret, which nothing was ever sealed with")


# ── backups ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_backup_between_the_steps_of_a_rotation_holds_the_secret_that_opens_it(on_sqlite, tmp_path):
    signer = start(on_sqlite)
    old = secret_of(on_sqlite)
    for step in range(1, STEPS_LIMIT):
        rotate_and_die(on_sqlite, step)
        with database(on_sqlite) as session:
            is_sealed_anew = not are_keys_open(session, old)
        if is_sealed_anew:
            break
    assert secret_of(on_sqlite) == old, "killed between the commit and the rename"
    backup(on_sqlite, tmp_path / "pool.backup", PASSPHRASE)
    elsewhere = Settings(home=tmp_path / "other", database_url=f"sqlite:///{tmp_path / 'other' / 'pool.db'}")
    restore(elsewhere, tmp_path / "pool.backup", PASSPHRASE)
    assert start(elsewhere) == signer
