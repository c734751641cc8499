import re
from datetime import timedelta
from pathlib import Path

import pytest

from computepool.hub.core.env_example import env_example
from computepool.hub.core.settings import Settings, SettingsError, load_settings
from computepool.hub.core.variables import NOT_YET, OTHERS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def nobodys_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))


WRONG = [
    ("COMPUTEPOOL_DATABASE_URL", "here", "expected sqlite:///path or postgresql://user:password@host/name"),
    ("COMPUTEPOOL_DATABASE_URL", "sqlite://", "a database in memory would forget everything"),
    ("COMPUTEPOOL_DATABASE_URL", "mysql://root@db/pool", "expected a sqlite or postgresql URL, got mysql"),
    ("DATABASE_URL", "oracle://x", "expected a sqlite or postgresql URL, got oracle"),
    ("COMPUTEPOOL_STORAGE_URL", "gs://bucket", "expected file:///path or s3://bucket"),
    ("COMPUTEPOOL_STORAGE_URL", "/var/pool", "expected file:///path or s3://bucket"),
    ("COMPUTEPOOL_PUBLIC_URL", "pool.example.org", "expected an address such as https://pool.example.org"),
    ("COMPUTEPOOL_PUBLIC_URL", "ftp://pool.example.org", "expected an address such as https://pool.example.org"),
    ("COMPUTEPOOL_PUBLIC_URL", "https://", "expected an address such as https://pool.example.org"),
    ("COMPUTEPOOL_TLS_CERTIFICATE", "/nowhere/hub.pem", "there is no file /nowhere/hub.pem; expected one in PEM"),
    ("COMPUTEPOOL_TLS_KEY", "/dev/null", "is of no use without COMPUTEPOOL_TLS_CERTIFICATE"),
    ("COMPUTEPOOL_SECRET_KEY", "short", "at least 32 characters"),
    ("COMPUTEPOOL_SMTP_URL", "mail.example.org:587", "expected smtp://user:password@host:587 or smtps://"),
    ("COMPUTEPOOL_SMTP_URL", "smtp://u:pass/word@mail.example.org", "write / ? # @ : and % in a password as %2F"),
    ("COMPUTEPOOL_SMTP_URL", "smtp://mail.example.org:99999", "expected smtp://user:password@host:587"),
    ("COMPUTEPOOL_SMTP_URL", "smtp://:secret@mail.example.org", "a password needs a user"),
    ("COMPUTEPOOL_SMTP_URL", "smtp://mail.example.org?tls=yes", "no option but starttls=required or starttls=never"),
    ("COMPUTEPOOL_SMTP_URL", "smtp://mail.example.org?starttls=maybe", "expected starttls=required or starttls=never"),
    ("COMPUTEPOOL_SMTP_URL", "smtps://mail.example.org?starttls=never", "smtps:// is TLS from the beginning"),
    ("COMPUTEPOOL_MAIL_FROM", "nobody", "expected an address such as pool@example.org"),
    ("COMPUTEPOOL_MAIL_FROM", "Our pool <pool@localhost>", "expected an address such as pool@example.org"),
    ("COMPUTEPOOL_MAIL_FROM", "Our pool <pool@example.org", "expected an address such as pool@example.org"),
    ("COMPUTEPOOL_REGISTRATION", "maybe", "is not open or closed"),
    ("COMPUTEPOOL_AGENT_MINIMUM", "newest", "is not a version, such as 0.1"),
    ("COMPUTEPOOL_PLATFORM_FEE_BPS", "2001", "has to be at most 2000"),
    ("COMPUTEPOOL_PLATFORM_FEE_BPS", "-1", "has to be at least 0"),
    ("COMPUTEPOOL_MONEY", "maybe", "is not on or off"),
    ("COMPUTEPOOL_REFUND_FAILED_JOBS", "sometimes", "is neither true nor false"),
    ("COMPUTEPOOL_WELCOME_CREDITS", "-1", "has to be at least 0"),
    ("COMPUTEPOOL_CURRENCY", "rupees", "'rupees' is not a currency of ISO 4217 in three letters, such as eur"),
    ("COMPUTEPOOL_CREDIT_VALUE", "0", "has to be more than 0"),
    ("COMPUTEPOOL_CREDIT_VALUE", "0.0000001", "has more than 6 decimals"),
    ("COMPUTEPOOL_CREDIT_VALUE", "nan", "finite number"),
    ("COMPUTEPOOL_STRIPE_SECRET_KEY", "pk_test_1", "expected a secret key such as sk_test_"),
    ("COMPUTEPOOL_STRIPE_WEBHOOK_SECRET", "secret", "expected whsec_"),
    ("COMPUTEPOOL_STRIPE_API_URL", "127.0.0.1:1", "expected an address such as"),
    ("COMPUTEPOOL_RELIABILITY_HALF_LIFE_DAYS", "0", "has to be at least 1"),
    ("COMPUTEPOOL_RELIABILITY_HALF_LIFE_DAYS", "inf", "has to be at most 3650"),
    ("COMPUTEPOOL_CASH_OUT_MIN", "-1", "has to be at least 0"),
    ("COMPUTEPOOL_CASH_OUT_HOLD_BACK_DAYS", "a week", "is not a whole number"),
    ("COMPUTEPOOL_DISPUTE_DAYS", "8", "at most COMPUTEPOOL_CASH_OUT_HOLD_BACK_DAYS, which is 7"),
    ("COMPUTEPOOL_FAIR_SHARE_HALF_LIFE_HOURS", "0", "has to be more than 0"),
    ("COMPUTEPOOL_FAIR_SHARE_HALF_LIFE_HOURS", "nan", "finite number"),
    ("COMPUTEPOOL_LIMIT_SLICES", "0", "has to be at least 1"),
    ("COMPUTEPOOL_LIMIT_CREDITS_PER_HOUR", "-1", "has to be at least 1"),
    ("COMPUTEPOOL_LIMIT_CREDITS_PER_DAY", "much", "is not a whole number"),
    ("COMPUTEPOOL_LIMIT_CREDITS_PER_MONTH", "0", "has to be at least 1"),
    ("COMPUTEPOOL_UNPROVEN_SLICES", "-1", "has to be at least 0"),
    ("COMPUTEPOOL_BAN_AFTER_WRONG_RESULTS", "-1", "has to be at least 0"),
    ("COMPUTEPOOL_CONFIRM_FINDINGS", "sometimes", "is neither true nor false"),
    ("COMPUTEPOOL_CHECK_CREDITS_PER_DAY", "-1", "has to be at least 0"),
    ("COMPUTEPOOL_CANARY_RATE_PER_DAY", "-1", "has to be at least 0"),
    ("COMPUTEPOOL_CANARY_RATE_PER_DAY", "nan", "finite number"),
    ("COMPUTEPOOL_CORS_ORIGINS", "https://app.example.org/", "is not an origin such as https://app.example.org"),
    ("COMPUTEPOOL_CORS_ORIGINS", "*", "is not an origin such as https://app.example.org"),
    ("COMPUTEPOOL_TRUSTED_PROXIES", "proxy.example.org", "expected addresses or networks such as 127.0.0.1"),
    ("COMPUTEPOOL_TRUSTED_PROXIES", "10.0.0.1/8", "has host bits set"),
    ("COMPUTEPOOL_LIMIT_CONNECTIONS", "0", "has to be at least 10"),
    ("COMPUTEPOOL_LIMIT_CONNECTIONS_PER_ADDRESS", "0", "has to be at least 1"),
    ("COMPUTEPOOL_LIMIT_REQUESTS_PER_ADDRESS", "0", "has to be at least 1"),
    ("COMPUTEPOOL_LIMIT_REQUESTS_PER_ACCOUNT", "0", "has to be at least 1"),
    ("COMPUTEPOOL_LIMIT_STREAMS_PER_ACCOUNT", "0", "has to be at least 1"),
    ("COMPUTEPOOL_LIMIT_NEW_LINKS", "0", "has to be at least 1"),
    ("COMPUTEPOOL_LIMIT_NEW_LINKS_PER_ADDRESS", "0", "has to be at least 1"),
    ("COMPUTEPOOL_LIMIT_REGISTRATIONS_PER_ADDRESS", "0", "has to be at least 1"),
    ("COMPUTEPOOL_LIMIT_HEAD_SECONDS", "0", "has to be at least 1"),
    ("COMPUTEPOOL_LIMIT_STALL_SECONDS", "soon", "is not a number"),
    ("COMPUTEPOOL_UPLOAD_LIMIT_BYTES", "lots", "is not a whole number"),
    ("COMPUTEPOOL_UPLOAD_LIMIT_BYTES", "0", "has to be at least 1"),
    ("COMPUTEPOOL_UPLOAD_LIMIT_BYTES", "1.5", "is not a whole number"),
    ("COMPUTEPOOL_STORAGE_LIMIT_BYTES", "-1", "has to be at least 0"),
    ("COMPUTEPOOL_STORAGE_LIMIT_OBJECTS", "many", "is not a whole number"),
    ("COMPUTEPOOL_STORAGE_LIMIT_BYTES_PER_DAY", "-1", "has to be at least 0"),
    ("COMPUTEPOOL_STORAGE_PRICE", "-0.01", "has to be at least 0"),
    ("COMPUTEPOOL_STORAGE_PRICE", "0.0000001", "has more than 6 decimals"),
    ("COMPUTEPOOL_STORAGE_FREE_BYTES", "5GB", "is not a whole number"),
    ("COMPUTEPOOL_STORAGE_GRACE_DAYS", "366", "has to be at most 365"),
    ("COMPUTEPOOL_DISK_RESERVE_BYTES", "-1", "has to be at least 0"),
    ("COMPUTEPOOL_KEEP_LOGS_DAYS", "0", "has to be at least 1"),
    ("COMPUTEPOOL_LIMIT_QUEUED_SLICES", "-1", "has to be at least 0"),
    ("COMPUTEPOOL_LIMIT_QUEUED_BYTES", "much", "is not a whole number"),
    ("COMPUTEPOOL_KEEP_OUTPUTS_DAYS", "a month", "is not a whole number"),
    ("COMPUTEPOOL_KEEP_AUDIT_DAYS", "0", "has to be at least 1"),
    ("COMPUTEPOOL_KEEP_OUTBOX_DAYS", "0", "has to be at least 1"),
    ("COMPUTEPOOL_KEEP_HISTORY_DAYS", "0", "has to be at least 1"),
]


@pytest.mark.parametrize("typed", ["EUR", "Eur", " eur "])
def test_a_currency_may_be_written_in_capitals(monkeypatch, typed):
    monkeypatch.setenv("COMPUTEPOOL_CURRENCY", typed)
    assert load_settings().currency == "eur"


@pytest.mark.parametrize(("variable", "value", "expected"), WRONG)
def test_wrong_value_is_told_with_its_variable_and_what_was_expected(monkeypatch, variable, value, expected):
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as told:
        load_settings()
    assert str(told.value).startswith(f"{variable}: ")
    assert expected in str(told.value)


def test_every_setting_that_can_be_wrong_is_among_these():
    free = {"home"}
    names = {variable.removeprefix("COMPUTEPOOL_").lower() for variable, *_ in WRONG}
    assert set(Settings.model_fields) - free == names


def test_all_wrong_values_are_told_at_once(monkeypatch):
    monkeypatch.setenv("COMPUTEPOOL_STORAGE_URL", "nowhere")
    monkeypatch.setenv("COMPUTEPOOL_REGISTRATION", "maybe")
    with pytest.raises(SettingsError) as told:
        load_settings()
    assert [line.split(":")[0] for line in str(told.value).splitlines()] == [
        "COMPUTEPOOL_STORAGE_URL",
        "COMPUTEPOOL_REGISTRATION",
    ]


def test_secrets_are_not_shown_in_errors(monkeypatch):
    monkeypatch.setenv("COMPUTEPOOL_SECRET_KEY", "hunter2")
    monkeypatch.setenv("COMPUTEPOOL_DATABASE_URL", "mysql://root:hunter2@db/pool")
    monkeypatch.setenv("COMPUTEPOOL_SMTP_URL", "smtp://me:hunter2@mail.example.org?hunter2=1")
    with pytest.raises(SettingsError) as told:
        load_settings()
    assert "hunter2" not in str(told.value)
    assert told.value.__cause__ is None


def test_mail_server_needs_somebody_to_be_from(monkeypatch):
    monkeypatch.setenv("COMPUTEPOOL_SMTP_URL", "smtp://mail.example.org")
    for nameless in (None, "http://127.0.0.1:8000", "http://localhost"):
        with pytest.raises(SettingsError, match="COMPUTEPOOL_MAIL_FROM: is needed with COMPUTEPOOL_SMTP_URL"):
            load_settings(public_url=nameless)
    assert load_settings(public_url="https://pool.example.org").mail_from is None
    assert load_settings(mail_from="pool@example.org").mail_from == "pool@example.org"


def test_password_of_the_mail_server_is_not_shown_with_the_settings():
    settings = load_settings(smtp_url="smtp://me:hunter2@mail.example.org", mail_from="pool@example.org")
    assert "hunter2" not in repr(settings)


def test_secret_key_is_not_shown_with_the_settings():
    settings = load_settings(secret_key="s" * 32)
    assert "s" * 32 not in repr(settings)
    assert settings.secret_key == "s" * 32


def test_empty_environment_is_a_working_hub():
    settings = load_settings()
    assert settings.home.name == ".computepool"
    assert settings.effective_database_url == f"sqlite:///{settings.home / 'pool.db'}"
    assert settings.effective_storage_url == f"file://{settings.home / 'artifacts'}"


def test_usual_database_variable_works_and_ours_comes_first(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:p@db.example.org/one")
    assert load_settings().effective_database_url == "postgresql+psycopg://u:p@db.example.org/one"
    monkeypatch.setenv("COMPUTEPOOL_DATABASE_URL", "sqlite:////srv/pool.db")
    assert load_settings().effective_database_url == "sqlite:////srv/pool.db"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg2", "postgresql+asyncpg"])
def test_every_usual_name_of_postgresql_works(monkeypatch, scheme):
    monkeypatch.setenv("DATABASE_URL", f"{scheme}://u:p@db.example.org:6543/one?sslmode=require")
    expected = "postgresql+psycopg://u:p@db.example.org:6543/one?sslmode=require"
    assert load_settings().effective_database_url == expected


def test_empty_variable_is_an_unset_one(monkeypatch):
    for name in Settings.model_fields:
        monkeypatch.setenv(f"COMPUTEPOOL_{name.upper()}", "")
    assert load_settings() == Settings()


def test_paths_and_addresses_are_made_plain(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMPUTEPOOL_HOME", "~/pool")
    monkeypatch.setenv("COMPUTEPOOL_PUBLIC_URL", "https://pool.example.org/")
    assert load_settings().home == tmp_path / "pool"
    assert load_settings(home="here").home == tmp_path / "here"
    assert load_settings().public_url == "https://pool.example.org"


def test_settings_cannot_be_changed_later():
    with pytest.raises(ValueError, match="frozen"):
        setattr(load_settings(), "registration", "closed")  # noqa: B010 (mypy forbids the plain way)


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("COMPUTEPOOL_DATABSE_URL", "COMPUTEPOOL_DATABASE_URL"),
        ("COMPUTEPOOL_DB_URL", None),
        ("COMPUTEPOOL_REGISTRATIONS", "COMPUTEPOOL_REGISTRATION"),
        ("COMPUTEPOOL_STORAGE", "COMPUTEPOOL_STORAGE_URL"),
        ("COMPUTEPOOL_PORT", None),
    ],
)
def test_misspelt_variable_stops_the_start_with_the_nearest_name(monkeypatch, variable, meant):
    monkeypatch.setenv(variable, "8000")
    with pytest.raises(SettingsError) as told:
        load_settings()
    assert str(told.value).startswith(f"{variable}: there is no such setting")
    if meant is not None:
        assert str(told.value).endswith(f"is {meant} meant?")


@pytest.mark.parametrize("variable", sorted(NOT_YET))
def test_setting_of_something_that_comes_later_is_refused_and_not_ignored(monkeypatch, variable):
    monkeypatch.setenv(variable, "500")
    with pytest.raises(SettingsError, match=f"{variable}: not supported yet"):
        load_settings()
    monkeypatch.setenv(variable, "")
    load_settings()


def test_variables_of_the_cli_the_tests_a_job_and_kubernetes_are_left_alone(monkeypatch):
    for variable in OTHERS:
        monkeypatch.setenv(variable, "x")
    monkeypatch.setenv("COMPUTEPOOL_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("COMPUTEPOOL_SERVICE_PORT_HTTP", "80")
    monkeypatch.setenv("COMPUTEPOOL_PORT", "tcp://10.0.0.1:80")
    monkeypatch.setenv("COMPUTEPOOL_PORT_80_TCP_ADDR", "10.0.0.1")
    assert load_settings() == Settings()


def test_every_variable_that_the_code_and_the_docs_name_is_known():
    known = {f"COMPUTEPOOL_{name.upper()}" for name in Settings.model_fields} | OTHERS | NOT_YET
    places = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "dev"]
    for place in places:
        named = set(re.findall(r"\bCOMPUTEPOOL_[A-Z_]*[A-Z]\b", place.read_text()))
        assert named <= known, (place, named - known)


def test_example_file_names_what_the_store_needs():
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "REGION", "ENDPOINT_URL"):
        assert f"#AWS_{name}=" in env_example()


def test_example_file_is_current():
    program = 'from computepool.hub.core.env_example import env_example; print(env_example(), end="")'
    hint = f"write it anew: ./dev run python -c '{program}' > .env.example"
    assert (ROOT / ".env.example").read_text() == env_example(), hint


def test_example_file_names_every_setting_and_its_defaults_are_valid(monkeypatch):
    lines = [line.removeprefix("#") for line in env_example().splitlines() if line.startswith("#COMPUTEPOOL_")]
    assert len(lines) == len(Settings.model_fields)
    for line in lines:
        name, _, value = line.partition("=")
        monkeypatch.setenv(name, value)
    assert load_settings() == Settings()


def test_nobody_disputes_what_was_paid_out(monkeypatch):
    monkeypatch.setenv("COMPUTEPOOL_CASH_OUT_HOLD_BACK_DAYS", "3")
    settings = load_settings()
    assert settings.dispute_window == settings.hold_back == timedelta(days=3)
    monkeypatch.setenv("COMPUTEPOOL_DISPUTE_DAYS", "2")
    assert load_settings().dispute_window == timedelta(days=2)
