"""The hub's settings. Only this file reads the environment."""

import os
import re
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import SettingsConfigDict
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from computepool.hub.core.edge_settings import EdgeSettings
from computepool.hub.core.smtp_url import default_sender, parse_sender, parse_smtp_url
from computepool.hub.core.storage_settings import StorageSettings
from computepool.hub.core.variables import PREFIX, strange_variables
from computepool.protocol.problem_words import words_for
from computepool.protocol.units import MICROS_PER_CREDIT
from computepool.protocol.versions import AGENT_MINIMUM

DATABASE_VARIABLES = ("COMPUTEPOOL_DATABASE_URL", "DATABASE_URL")
DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
"""Whatever driver a URL names, the hub uses its own."""


class SettingsError(Exception):
    """A setting has a wrong value. The text names the variable and what was expected."""


class Settings(StorageSettings):
    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True, populate_by_name=True
    )

    home: Annotated[Path, Field(description="Folder of the pool's own state: database, keys, artifacts.")] = (
        Path.home() / ".computepool"
    )
    database_url: Annotated[
        str | None,
        Field(
            validation_alias=AliasChoices(*DATABASE_VARIABLES, "database_url"),
            description="Where the truth is kept: `sqlite:///path` or `postgresql://user:password@host/name`. "
            "Unset: SQLite in the home folder.",
        ),
    ] = None
    storage_url: Annotated[
        str | None,
        Field(
            description="Where artifacts and logs are kept: `file:///path` or `s3://bucket` (with the usual AWS_* "
            "variables). Unset: a folder in the home folder."
        ),
    ] = None
    public_url: Annotated[
        str | None,
        Field(description="The hub's address as agents and browsers see it, such as `https://pool.example.org`."),
    ] = None
    secret_key: Annotated[
        str | None,
        Field(
            min_length=32,
            repr=False,
            description="Encrypts the hub's keys and signs tokens; at least 32 characters. Unset: made on the first "
            "start and kept in the home folder.",
        ),
    ] = None
    smtp_url: Annotated[
        str | None,
        Field(
            repr=False,
            description="The server that takes mails: `smtp://user:password@host:587`, which goes on with STARTTLS "
            "where that is offered (`?starttls=required` or `never`), or `smtps://user:password@host:465`. Unset: "
            "mails are written to the log.",
        ),
    ] = None
    mail_from: Annotated[
        str | None,
        Field(
            validate_default=True,
            description="Whom mails are from: `pool@example.org` or `Our pool <pool@example.org>`. Unset: "
            "`computepool@` the name in the public URL.",
        ),
    ] = None
    registration: Annotated[
        Literal["open", "closed"],
        Field(description="Whether people may make themselves an account: `open` or `closed`."),
    ] = "open"
    agent_minimum: Annotated[
        str,
        Field(
            pattern=r"^\d+(\.\d+)*$",
            description="The oldest version of agents that gets strangers' work, such as `0.1`.",
        ),
    ] = AGENT_MINIMUM
    platform_fee_bps: Annotated[
        int,
        Field(
            ge=0,
            le=2000,
            description="The platform's share of every price, in hundredths of a percent: from 0 to 2000, which is "
            "20 %.",
        ),
    ] = 2000
    money: Annotated[
        Literal["on", "off"],
        Field(
            description="Whether work on other people's nodes is paid for, in credits: `on` or `off`. Off: nothing is "
            "priced, held or shown."
        ),
    ] = "on"
    refund_failed_jobs: Annotated[
        bool, Field(description="Whether attempts that failed through the job's own doing cost nothing.")
    ] = False
    welcome_credits: Annotated[
        int,
        Field(
            ge=0,
            le=1_000_000,
            description="Credits that a new account is given, to be spent and never cashed out. 0: none.",
        ),
    ] = 100

    currency: Annotated[
        str,
        Field(
            description="The currency that credits are bought and paid out in: the three letters of ISO 4217, such as "
            "`inr`.",
        ),
    ] = "inr"
    credit_value: Annotated[
        Decimal,
        Field(
            gt=0,
            le=1_000_000,
            max_digits=12,
            decimal_places=6,
            allow_inf_nan=False,
            description="What one credit is worth in that currency.",
        ),
    ] = Decimal(1)
    stripe_secret_key: Annotated[
        str | None,
        Field(
            repr=False,
            description="The secret key of a Stripe account, `sk_test_…` or `sk_live_…`. Unset: the operator grants "
            "credits and pays hosts by hand.",
        ),
    ] = None
    stripe_webhook_secret: Annotated[
        str | None,
        Field(
            repr=False,
            validate_default=True,
            description="What Stripe signs its messages with, `whsec_…`; several with commas between them. Needed "
            "with the secret key.",
        ),
    ] = None
    stripe_api_url: Annotated[
        str | None,
        Field(description="Where Stripe's API is. Unset: at Stripe. Only tests with a stand-in need another one."),
    ] = None

    cash_out_min: Annotated[
        int, Field(ge=0, le=1_000_000_000, description="The fewest credits that are paid out at once.")
    ] = 500
    cash_out_hold_back_days: Annotated[
        int,
        Field(
            ge=0,
            le=365,
            description="Days after the end of a job before what a host earned with it can be cashed out: time for "
            "disputes. Results that nobody checked wait longer, as the guide to cash-outs says.",
        ),
    ] = 7
    dispute_days: Annotated[
        int | None,
        Field(
            ge=0,
            le=365,
            description="Days after its end in which a renter may dispute a job; not more than the days above. Unset: "
            "as many.",
        ),
    ] = None

    fair_share_half_life_hours: Annotated[
        float,
        Field(
            gt=0,
            le=24 * 365,
            allow_inf_nan=False,
            description="After so many hours, what a renter used of the pool counts half.",
        ),
    ] = 24.0
    limit_slices: Annotated[
        int | None,
        Field(ge=1, description="Slices that one renter may run at once on other people's nodes. Unset: no limit."),
    ] = None
    limit_queued_slices: Annotated[
        int, Field(ge=0, description="Slices of one renter that may wait for a node. 0: no limit.")
    ] = 50_000
    limit_queued_bytes: Annotated[
        int, Field(ge=0, description="Bytes of the specs of one renter's open jobs, at least 4 kB each. 0: no limit.")
    ] = 64 * 1024**2
    limit_credits_per_hour: Annotated[
        int | None, Field(ge=1, description="Credits that what one renter runs may cost in an hour. Unset: no limit.")
    ] = None
    limit_credits_per_day: Annotated[
        int | None, Field(ge=1, description="Credits that one renter may spend in a day of UTC. Unset: no limit.")
    ] = None
    limit_credits_per_month: Annotated[
        int | None, Field(ge=1, description="Credits that one renter may spend in a month of UTC. Unset: no limit.")
    ] = None

    reliability_half_life_days: Annotated[
        float,
        Field(ge=1, le=3650, description="After so many days what a node did counts half. From the change on."),
    ] = 30.0

    unproven_slices: Annotated[
        int,
        Field(
            ge=0,
            le=1000,
            description="Slices of others that a node which the hub has measured gets at once before any of them ended "
            "well; one that was not measured gets one. 0: as many as it claims to hold.",
        ),
    ] = 2
    ban_after_wrong_results: Annotated[
        int,
        Field(ge=0, le=100, description="Proven wrong so many times, a node is banned. 0: only by hand."),
    ] = 2
    confirm_findings: Annotated[
        bool,
        Field(
            description="Whether an admin confirms that a result is wrong before its node loses anything. False: what "
            "other nodes find takes effect at once."
        ),
    ] = True
    check_credits_per_day: Annotated[
        int,
        Field(
            ge=0,
            le=1_000_000_000,
            description="Credits that the platform pays for audits and canaries in a day of UTC. A check that would "
            "exceed them is not started.",
        ),
    ] = 100
    canary_rate_per_day: Annotated[
        float,
        Field(
            ge=0,
            le=100,
            allow_inf_nan=False,
            description="Jobs with a known result that each node gets in a day online, on average: to see whether it "
            "gives that. 0: only by hand.",
        ),
    ] = 0.2

    @field_validator("home")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            url = make_url(value)
        except ArgumentError:
            raise ValueError("expected sqlite:///path or postgresql://user:password@host/name") from None
        kind = "postgresql" if url.get_backend_name() == "postgres" else url.get_backend_name()
        if kind not in DRIVERS:
            raise ValueError(f"expected a {' or '.join(DRIVERS)} URL, got {kind}")
        if kind == "sqlite" and url.database in (None, "", ":memory:"):
            raise ValueError("expected sqlite:///path: a database in memory would forget everything")
        return url.set(drivername=DRIVERS[kind]).render_as_string(hide_password=False)

    @field_validator("storage_url")
    @classmethod
    def _known_storage(cls, value: str | None) -> str | None:
        if value is not None and urlsplit(value).scheme not in ("file", "s3"):
            raise ValueError("expected file:///path or s3://bucket")
        return value

    @field_validator("smtp_url")
    @classmethod
    def _known_server(cls, value: str | None) -> str | None:
        if value is not None:
            parse_smtp_url(value)
        return value

    @field_validator("mail_from")
    @classmethod
    def _sender(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None:
            parse_sender(value)
        elif info.data.get("smtp_url") is not None and default_sender(info.data.get("public_url")) is None:
            raise ValueError("is needed with COMPUTEPOOL_SMTP_URL where COMPUTEPOOL_PUBLIC_URL has no name to be from")
        return value

    @field_validator("currency")
    @classmethod
    def _three_letters(cls, value: str) -> str:
        """As the processor writes it. Whether there is such a currency, only the processor knows: `hub doctor` asks."""
        currency = value.strip().lower()
        if not re.fullmatch("[a-z]{3}", currency):
            raise ValueError(f"{value[:20]!r} is not a currency of ISO 4217 in three letters, such as eur")
        return currency

    @field_validator("stripe_secret_key")
    @classmethod
    def _secret_of_stripe(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[sr]k_(test|live)_\w+", value):
            raise ValueError("expected a secret key such as sk_test_… (not a publishable one, pk_…)")
        return value

    @field_validator("stripe_webhook_secret")
    @classmethod
    def _secrets_of_webhooks(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            if info.data.get("stripe_secret_key") is not None:
                raise ValueError(
                    "is needed with COMPUTEPOOL_STRIPE_SECRET_KEY: payments are credited when Stripe says so"
                )
            return None
        if not all(re.fullmatch(r"whsec_\w+", one.strip()) for one in value.split(",")):
            raise ValueError("expected whsec_…, or several with commas between them")
        return value

    @field_validator("dispute_days")
    @classmethod
    def _before_the_money_is_gone(cls, value: int | None, info: ValidationInfo) -> int | None:
        kept: int | None = info.data.get("cash_out_hold_back_days")
        if value is not None and kept is not None and value > kept:
            raise ValueError(f"at most COMPUTEPOOL_CASH_OUT_HOLD_BACK_DAYS, which is {kept}: later, hosts were paid")
        return value

    @field_validator("public_url", "stripe_api_url")
    @classmethod
    def _web_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError("expected an address such as https://pool.example.org")
        return value.rstrip("/")

    @classmethod
    def documented(cls) -> dict[str, FieldInfo]:
        """In the order of the docs: those of this class first, the edge last."""
        inherited = list(StorageSettings.model_fields)
        names = [name for name in cls.model_fields if name not in inherited]
        inherited.sort(key=lambda name: name in EdgeSettings.model_fields)
        return {name: cls.model_fields[name] for name in [*names, *inherited]}

    @property
    def credits_for_newcomers(self) -> int:
        return self.welcome_credits if self.money == "on" else 0

    @property
    def storage_price_micros(self) -> int:
        """For a GB and a day; 0 where storage costs nothing."""
        return int(self.storage_price * MICROS_PER_CREDIT) if self.money == "on" else 0

    @property
    def hold_back(self) -> timedelta:
        return timedelta(days=self.cash_out_hold_back_days)

    @property
    def dispute_window(self) -> timedelta:
        return self.hold_back if self.dispute_days is None else timedelta(days=self.dispute_days)

    @property
    def reliability_half_life(self) -> timedelta:
        return timedelta(days=self.reliability_half_life_days)

    @property
    def effective_database_url(self) -> str:
        return self.database_url or f"sqlite:///{self.home / 'pool.db'}"

    @property
    def effective_storage_url(self) -> str:
        return self.storage_url or f"file://{self.home / 'artifacts'}"


def load_settings(**overrides: object) -> Settings:
    """From the environment. Raises SettingsError, also for a variable that looks like ours and is not known."""
    strange = strange_variables(os.environ, Settings.model_fields)
    if strange:
        raise SettingsError("\n".join(strange))
    try:
        return Settings(**overrides)  # type: ignore[arg-type]  # pydantic checks them, and says which is wrong
    except ValidationError as error:
        lines = []
        for problem in error.errors(include_url=False):
            name = str(problem["loc"][0])
            variable = name if name.isupper() else PREFIX + name.upper()
            if variable == DATABASE_VARIABLES[0] and variable not in os.environ:
                variable = next((usual for usual in DATABASE_VARIABLES if usual in os.environ), variable)
            lines.append(f"{variable}: {words_for(problem)}")
        raise SettingsError("\n".join(lines)) from None
