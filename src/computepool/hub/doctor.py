"""Whether a hub could run here, and what to do where it could not."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from computepool.hub.certificates import configured_certificate
from computepool.hub.core.clock import SystemClock
from computepool.hub.core.db import durable_engine
from computepool.hub.core.notices import ADMINS
from computepool.hub.core.settings import Settings, SettingsError
from computepool.hub.lock import AlreadyRunning, lock_database
from computepool.hub.mail.smtp import Away, open_post
from computepool.hub.mail.writing import readers_of
from computepool.hub.opening import prepare_home
from computepool.hub.payments.background import provider_of
from computepool.hub.payments.provider import NoSuchObject, Refused, Unreachable
from computepool.hub.schema import SchemaError, check_schema
from computepool.protocol.units import about_bytes

LEAST_FREE_BYTES = 1024**3


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
    except (Unreachable, NoSuchObject) as error:
        words = getattr(error, "words", "") or "it does not know the account of this key"
        hint = "Check COMPUTEPOOL_STRIPE_SECRET_KEY, and whether this machine reaches Stripe."
        return Check("payments", False, f"Stripe: {words}", hint)
    finally:
        provider.close()
