"""Whether a hub could run here, and what to do where it could not."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import httpx
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.opening import open_store
from computepool.hub.artifacts.store import SignedPut
from computepool.hub.certificates import configured_certificate
from computepool.hub.core.clock import SystemClock
from computepool.hub.core.db import durable_engine
from computepool.hub.core.notices import ADMINS
from computepool.hub.core.origins import public_origin
from computepool.hub.core.settings import Settings, SettingsError
from computepool.hub.lock import AlreadyRunning, lock_database
from computepool.hub.mail.smtp import Away, open_post
from computepool.hub.mail.writing import readers_of
from computepool.hub.opening import prepare_home
from computepool.hub.payments.background import provider_of
from computepool.hub.payments.provider import NoSuchObject, ProviderUnreachable, Refused
from computepool.hub.schema import SchemaError, check_schema
from computepool.protocol.units import about_bytes

LEAST_FREE_BYTES = 1024**3
PROBE_SECONDS = 10


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    message: str
    hint: str | None = None
    warning: bool = False
    """The hub runs, but its operator should know."""

    @property
    def level(self) -> Literal["ok", "warn", "failed"]:
        if not self.ok:
            return "failed"
        return "warn" if self.warning else "ok"


def doctor(settings: Settings) -> list[Check]:
    checks: list[Callable[[Settings], Check]] = [
        _home,
        _disk,
        _process,
        _database,
        _public_url,
        _certificate,
        _bucket,
        _mail,
        _payments,
    ]
    if settings.smtp_url is not None:
        checks.insert(checks.index(_mail) + 1, _mail_to_admins)
    return [check(settings) for check in checks]


def _home(settings: Settings) -> Check:
    try:
        prepare_home(settings)
        probe = settings.home / ".probe"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        return Check("home", False, f"{settings.home}: {error.strerror}", "Set COMPUTEPOOL_HOME to a folder of yours.")
    return Check("home", True, f"{settings.home} is there and can be written to")


def _disk(settings: Settings) -> Check:
    free = shutil.disk_usage(settings.home).free
    ok = free > LEAST_FREE_BYTES
    return Check("disk", ok, f"{about_bytes(free)} free", None if ok else "Make room: logs and artifacts need it.")


def _process(settings: Settings) -> Check:
    try:
        lock_database(settings, patience_seconds=0).close()
    except AlreadyRunning as running:
        return Check("process", True, str(running))
    except SQLAlchemyError:
        return Check("process", True, "unknown: the database does not answer")
    return Check("process", True, "no other hub is running on this database")


def _database(settings: Settings) -> Check:
    engine = durable_engine(settings.effective_database_url)
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT 1"))
        check_schema(engine)
    except SQLAlchemyError as error:
        return Check(
            "database", False, str(error.__cause__ or error).splitlines()[0], "Check COMPUTEPOOL_DATABASE_URL."
        )
    except SchemaError as error:
        return Check("database", False, str(error))
    finally:
        engine.dispose()
    return Check("database", True, f"{engine.dialect.name}, schema up to date")


def _public_url(settings: Settings) -> Check:
    if settings.public_url is None:
        return Check("public url", True, "unset: fine on one machine; set COMPUTEPOOL_PUBLIC_URL for others to join")
    return Check("public url", True, settings.public_url)


def _certificate(settings: Settings) -> Check:
    name, now = "certificate", SystemClock().now()
    try:
        found = configured_certificate(settings)
        if found is not None:
            found.context()
    except SettingsError as error:
        return Check(name, False, str(error), "Both are files in PEM; the key may be in the certificate's file.")
    if found is None:
        return Check(name, True, "none: plain HTTP on this machine alone, or a proxy with TLS; else one is made")
    message = f"good until {found.not_after:%Y-%m-%d}, public key {found.fingerprint}"
    if found.not_after <= now:
        return Check(name, False, f"it ended on {found.not_after:%Y-%m-%d}", "Renew it; the hub reads it every hour.")
    return Check(name, True, message)


def _bucket(settings: Settings) -> Check:
    """Whether browsers may upload to the bucket and read from it: pages of the hub are of another origin."""
    name, origin = "bucket", public_origin(settings)
    if not settings.effective_storage_url.startswith("s3://"):
        return Check(name, True, "none: artifacts are on this machine's disk")
    if origin is None:
        return Check(name, True, "browsers cannot use it: set COMPUTEPOOL_PUBLIC_URL", warning=True)
    hint = f"Allow {origin} in the bucket's CORS rules: docs/guides/operator.md has them."
    try:
        store = open_store(settings.effective_storage_url, BlobSigner(bytes(32), SystemClock()), SystemClock())
        probed = store.sign_put("probe/cors", 1, f"sha256:{'0' * 64}", PROBE_SECONDS)
        refused = [method for method in ("PUT", "GET") if not _is_allowed(probed, method, origin)]
    except SettingsError as error:
        return Check(name, False, str(error).replace("\n", "; "), "Set the AWS_* variables.")
    except httpx.HTTPError as error:
        return Check(name, False, f"it does not answer: {error}", "Check AWS_ENDPOINT_URL and COMPUTEPOOL_STORAGE_URL.")
    if refused:
        return Check(name, True, f"pages of {origin} may not {' or '.join(refused)} there", hint, warning=True)
    return Check(name, True, f"pages of {origin} may upload and download")


def _is_allowed(probed: SignedPut, method: str, origin: str) -> bool:
    """As a browser asks, before it sends a request to another origin."""
    asked = {"Origin": origin, "Access-Control-Request-Method": method}
    if method == "PUT":
        asked["Access-Control-Request-Headers"] = ",".join(sorted(probed.headers))
    told = httpx.options(probed.url, headers=asked, timeout=PROBE_SECONDS).headers
    if told.get("access-control-allow-origin") not in ("*", origin):
        return False
    methods = {one.strip().upper() for one in told.get("access-control-allow-methods", "").split(",")}
    headers = {one.strip().lower() for one in told.get("access-control-allow-headers", "").split(",")}
    needed = set(probed.headers) if method == "PUT" else set()
    return bool(methods & {method, "*"}) and ("*" in headers or needed <= headers)


def _mail(settings: Settings) -> Check:
    """As far as one comes without sending a mail: a connection, TLS, the password."""
    try:
        return Check("mail", True, open_post(settings).probe())
    except Away as away:
        return Check("mail", False, away.words, "Check COMPUTEPOOL_SMTP_URL: user, password, port, ?starttls=.")


def _mail_to_admins(settings: Settings) -> Check:
    """What waits for an operator, and alarms, would otherwise be told to nobody."""
    name, engine = "mail to admins", durable_engine(settings.effective_database_url)
    try:
        check_schema(engine)
        with Session(engine) as session:
            reached = readers_of(session, ADMINS)
    except (SQLAlchemyError, SchemaError):
        return Check(name, True, "unknown: the database is not ready")
    finally:
        engine.dispose()
    if not reached:
        hint = "Give the first admin one: computepool hub admin --email ADDRESS"
        return Check(name, True, "no admin has an address that mails reach", hint, warning=True)
    return Check(name, True, f"goes to {', '.join(user.email for user in reached)}")


def _payments(settings: Settings) -> Check:
    if settings.money == "off":
        return Check("payments", True, "none: this pool does without money")
    provider = provider_of(settings, hub_id="")
    try:
        worth = f"a credit is worth {settings.credit_value} {settings.currency.upper()}"
        return Check("payments", True, f"{provider.probe()}; {worth}")
    except Refused as error:
        hint = f"Check COMPUTEPOOL_CURRENCY, which is {settings.currency}: it has to be one that Stripe takes."
        return Check("payments", False, f"Stripe: {error.words}", hint)
    except (ProviderUnreachable, NoSuchObject) as error:
        words = getattr(error, "words", "") or "it does not know the account of this key"
        hint = "Check COMPUTEPOOL_STRIPE_SECRET_KEY, and whether this machine reaches Stripe."
        return Check("payments", False, f"Stripe: {words}", hint)
    finally:
        provider.close()
