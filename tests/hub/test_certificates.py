"""Which certificate a hub serves, and that its key outlives it."""

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from support.planted import each_check, each_mutant
from support.secure_site import make_certificate

from computepool.hub import certificates
from computepool.hub.certificates import (
    LIFETIME,
    RENEWED_BEFORE,
    ServerCertificate,
    certificate_for,
    own_certificate,
    renewed,
)
from computepool.hub.core.settings import Settings, SettingsError

NOW = datetime(2030, 1, 1, tzinfo=UTC)
NAMES = ("localhost", "192.0.2.7")


def settings(home, **changes) -> Settings:
    return Settings(home=home, **changes)


def certificate_at(host: str, home: Path, **changes) -> ServerCertificate:
    made = certificate_for(settings(home, **changes), host, NOW)
    assert made is not None
    return made


# ── when there is one ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_hub_on_loopback_speaks_plain_http(tmp_path, host):
    assert certificate_for(settings(tmp_path), host, NOW) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "pool.example.org"])
def test_hub_beyond_loopback_makes_a_certificate(tmp_path, host):
    made = certificate_at(host, tmp_path, public_url="http://public.example.org:8000")
    assert made.pin == made.fingerprint
    found = x509.load_pem_x509_certificate(made.certificate_file.read_bytes())
    names = {str(name.value) for name in found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value}
    assert {"localhost", "127.0.0.1", "::1", "public.example.org"} <= names
    assert host in names or host in certificates.WILDCARDS
    assert found.not_valid_before_utc < NOW < found.not_valid_after_utc


def test_hub_behind_a_proxy_with_tls_speaks_plain_http(tmp_path):
    assert certificate_for(settings(tmp_path, public_url="https://pool.example.org"), "0.0.0.0", NOW) is None


def test_operators_certificate_comes_first(tmp_path):
    file = make_certificate(tmp_path)
    given = certificate_at("127.0.0.1", tmp_path, tls_certificate=file)
    assert (given.certificate_file, given.key_file) == (file, file)
    assert given.context().get_ca_certs() == []
    assert given.pin is not None  # nobody else vouches for it either


def test_unusable_certificate_is_told_by_its_setting(tmp_path):
    (tmp_path / "empty.pem").write_text("")
    with pytest.raises(SettingsError, match="no certificate"):
        certificate_for(settings(tmp_path, tls_certificate=tmp_path / "empty.pem"), "0.0.0.0", NOW)
    other = make_certificate(tmp_path)
    (tmp_path / "other").mkdir()
    made = certificate_at("0.0.0.0", tmp_path, tls_certificate=other, tls_key=make_certificate(tmp_path / "other"))
    with pytest.raises(SettingsError, match="do not belong together"):
        made.context()


def test_damaged_key_is_never_replaced_silently(tmp_path):
    own_certificate(tmp_path, NAMES, NOW)
    (tmp_path / "tls.key").write_text("nothing")
    with pytest.raises(SettingsError, match="holds no private key"):
        own_certificate(tmp_path, NAMES, NOW)


# ── how long it lasts ────────────────────────────────────────────────────────────────────────────────────────────────


def check_files_are_their_owners_alone(home):
    own_certificate(home, NAMES, NOW)
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.iterdir()} == {0o600}
    assert {path.name for path in home.iterdir()} == {"tls.key", "tls.crt"}


def check_certificate_stays_until_it_has_to_change(home):
    made = own_certificate(home, NAMES, NOW)
    just_before = NOW + LIFETIME - RENEWED_BEFORE - timedelta(seconds=1)
    assert own_certificate(home, NAMES, just_before) == renewed(made, home, just_before) == made


def check_renewed_certificate_keeps_its_key(home):
    made = own_certificate(home, NAMES, NOW)
    later = NOW + LIFETIME - timedelta(days=59)
    after = renewed(made, home, later)
    assert after.not_after - later > timedelta(days=300)
    assert (after.fingerprint, after.sha256 == made.sha256) == (made.fingerprint, False)


def check_new_name_gets_into_the_certificate_and_keeps_the_key(home):
    made = own_certificate(home, NAMES, NOW)
    other = own_certificate(home, (*NAMES, "198.51.100.2"), NOW)
    assert (other.fingerprint, other.sha256 == made.sha256) == (made.fingerprint, False)
    assert own_certificate(home, NAMES, NOW).sha256 == other.sha256


def check_certificate_of_another_key_is_replaced(home):
    made = own_certificate(home, NAMES, NOW)
    (home / "tls.crt").write_bytes(make_certificate(home, NAMES).read_bytes())
    (home / "site.pem").unlink()
    assert own_certificate(home, NAMES, NOW).fingerprint == made.fingerprint
    own_certificate(home, NAMES, NOW).context()


def key_is_made_anew(monkeypatch):
    monkeypatch.setattr(certificates, "_own_key", lambda path: ec.generate_private_key(ec.SECP256R1()))


def it_is_never_renewed(monkeypatch):
    monkeypatch.setattr(certificates, "RENEWED_BEFORE", timedelta(days=-10_000))


def it_is_always_renewed(monkeypatch):
    monkeypatch.setattr(certificates, "RENEWED_BEFORE", timedelta(days=10_000))


def names_are_not_compared(monkeypatch):
    monkeypatch.setattr(certificates, "_named", lambda file: {*NAMES, "198.51.100.2"})


def files_are_everybodys(monkeypatch):
    monkeypatch.setattr(certificates, "_write_private", lambda path, data: path.write_bytes(data))


MUTANTS = {
    check_files_are_their_owners_alone: [files_are_everybodys],
    check_certificate_stays_until_it_has_to_change: [it_is_always_renewed],
    check_renewed_certificate_keeps_its_key: [key_is_made_anew, it_is_never_renewed],
    check_new_name_gets_into_the_certificate_and_keeps_the_key: [names_are_not_compared, key_is_made_anew],
    check_certificate_of_another_key_is_replaced: [key_is_made_anew],
}


@each_check(MUTANTS)
def test_own_certificate(check, tmp_path):
    check(tmp_path)


@each_mutant(MUTANTS)
def test_check_finds_the_planted_bug(check, mutant, tmp_path, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        check(tmp_path)
