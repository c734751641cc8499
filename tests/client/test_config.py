"""Where a client finds its hub, and to whom a token goes."""

import json
import stat

import pytest

from computepool.client.config import (
    DEFAULT_URL,
    ConfigError,
    Credentials,
    find_target,
    forget_credentials,
    load_credentials,
    load_preferences,
    normal_url,
    save_credentials,
    save_preference,
)

FILE = Credentials("http://file:1", "file-token")


@pytest.fixture
def home(tmp_path):
    save_credentials(tmp_path / "home", FILE)
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("url", "token", "environ", "expected"),
    [
        (None, None, {}, ("http://file:1", "file-token")),
        (None, None, {"COMPUTEPOOL_URL": "http://env:2"}, ("http://env:2", None)),
        (None, None, {"COMPUTEPOOL_URL": "http://env:2", "COMPUTEPOOL_TOKEN": "env"}, ("http://env:2", "env")),
        (None, None, {"COMPUTEPOOL_URL": "http://FILE:1/"}, ("http://file:1", "file-token")),
        (None, None, {"COMPUTEPOOL_TOKEN": "env"}, ("http://file:1", "env")),
        ("http://flag:3", None, {"COMPUTEPOOL_URL": "http://env:2"}, ("http://flag:3", None)),
        ("http://flag:3", "flag", {"COMPUTEPOOL_TOKEN": "env"}, ("http://flag:3", "flag")),
        ("http://file:1", None, {}, ("http://file:1", "file-token")),
    ],
)
def test_flag_comes_before_environment_before_file(home, url, token, environ, expected):
    target = find_target(url, token, home, environ)
    assert (target.url, target.token) == expected


def test_without_anything_it_is_the_local_hub(tmp_path):
    target = find_target(None, None, tmp_path, {})
    assert (target.url, target.token) == (DEFAULT_URL, None)


def test_home_comes_from_the_environment(home):
    assert find_target(environ={"COMPUTEPOOL_HOME": str(home)}).token == "file-token"


def test_credentials_are_for_their_owner_alone(home):
    assert stat.S_IMODE((home / "credentials.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_forgetting_signs_out(home):
    assert forget_credentials(home)
    assert load_credentials(home) is None
    assert not forget_credentials(home)


def test_damaged_file_is_named(home):
    (home / "credentials.json").write_text("{")
    with pytest.raises(ConfigError, match="credentials"):
        load_credentials(home)
    (home / "credentials.json").write_text(json.dumps({"url": "http://x"}))
    with pytest.raises(ConfigError, match="lacks"):
        load_credentials(home)


def test_preferences_are_kept(home):
    save_preference(home, "a", True)
    save_preference(home, "b", 2)
    assert load_preferences(home) == {"a": True, "b": 2}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("https://pool.example.org/", "https://pool.example.org"),
        ("https://pool.example.org/api/v1", "https://pool.example.org"),
        ("https://pool.example.org/base/", "https://pool.example.org/base"),
        ("pool.example.org", "https://pool.example.org"),
        ("localhost:8000", "http://localhost:8000"),
        ("127.0.0.1:9", "http://127.0.0.1:9"),
        ("HTTP://Pool:8000", "http://pool:8000"),
    ],
)
def test_addresses_are_brought_to_one_form(written, meant):
    assert normal_url(written) == meant


@pytest.mark.parametrize("written", ["", "ftp://x", "http://", "http://x:99999", "http://a b", "http://x\n"])
def test_what_is_no_address_is_refused(written):
    if written == "http://x\n":
        assert normal_url(written) == "http://x"
        return
    with pytest.raises(ConfigError, match="address"):
        normal_url(written)


# ── how the hub is trusted ───────────────────────────────────────────────────────────────────────────────────────────

PIN, OTHER_PIN = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"


def test_fingerprint_comes_with_the_address_and_is_kept_with_the_token(tmp_path):
    save_credentials(tmp_path, Credentials("https://pool:1", "t", PIN))
    kept = find_target(home=tmp_path, environ={})
    assert (kept.url, kept.token, kept.fingerprint, kept.address) == (
        "https://pool:1",
        "t",
        PIN,
        f"https://pool:1#{PIN}",
    )
    named = find_target(home=tmp_path, environ={"COMPUTEPOOL_URL": f"https://pool:1/#{PIN}"})
    assert (named.token, named.fingerprint) == ("t", PIN)
    assert find_target("https://pool:1", home=tmp_path, environ={}).fingerprint == PIN


def test_token_is_not_for_a_hub_with_another_key_or_without_encryption(tmp_path):
    save_credentials(tmp_path, Credentials("https://pool:1", "t", PIN))
    other = find_target(f"https://pool:1#{OTHER_PIN}", home=tmp_path, environ={})
    assert (other.token, other.fingerprint) == (None, OTHER_PIN)
    assert find_target("http://pool:1", home=tmp_path, environ={}).token is None


def test_insecure_is_kept_for_its_address_alone(tmp_path):
    save_credentials(tmp_path, Credentials("http://pool:1", "t", insecure=True))
    assert find_target(home=tmp_path, environ={}).insecure
    assert not find_target("http://pool:2", home=tmp_path, environ={}).insecure
    assert find_target("http://pool:2", home=tmp_path, environ={}, insecure=True).insecure


def test_fingerprint_that_is_none_or_has_no_certificate_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="not a fingerprint"):
        find_target("https://pool:1#sha256:12", home=tmp_path, environ={})
    with pytest.raises(ConfigError, match="no certificate"):
        find_target(f"http://127.0.0.1:1#{PIN}", home=tmp_path, environ={})
