import stat

import pytest

from computepool.hub.core.secrets import CannotDecryptError, decrypt, derive_key, encrypt, load_secret_key

KEY = b"a secret key that is long enough"


def test_each_purpose_and_each_secret_has_its_own_key():
    keys = {derive_key(secret, purpose) for secret in (KEY, KEY + b"2") for purpose in ("a", "b", "access-token")}
    assert len(keys) == 6
    assert derive_key(KEY, "a") == derive_key(KEY, "a")
    assert all(len(key) == 32 for key in keys)


def test_what_is_encrypted_opens_only_for_its_purpose_row_and_secret():
    sealed = encrypt(KEY, "hub-key", b"plain", bound_to="key_1")
    assert b"plain" not in sealed
    assert sealed != encrypt(KEY, "hub-key", b"plain", bound_to="key_1")
    assert decrypt(KEY, "hub-key", sealed, bound_to="key_1") == b"plain"
    for secret, purpose, row in [(KEY + b"2", "hub-key", "key_1"), (KEY, "other", "key_1"), (KEY, "hub-key", "key_2")]:
        with pytest.raises(CannotDecryptError):
            decrypt(secret, purpose, sealed, bound_to=row)


def test_every_changed_byte_and_every_cut_is_noticed():
    sealed = encrypt(KEY, "hub-key", b"plain")
    for position in range(len(sealed)):
        changed = bytearray(sealed)
        changed[position] ^= 1
        for bad in (bytes(changed), sealed[:position]):
            with pytest.raises(CannotDecryptError):
                decrypt(KEY, "hub-key", bad)


def test_secret_key_is_made_once_for_its_owner_only(tmp_path):
    path = tmp_path / "secret.key"
    first = load_secret_key(None, path)
    assert len(first) >= 32
    assert load_secret_key(None, path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["secret.key"]
    assert load_secret_key("configured, and also long enough", path) == b"configured, and also long enough"


def test_empty_secret_key_file_is_refused(tmp_path):
    path = tmp_path / "secret.key"
    path.write_text("")
    with pytest.raises(ValueError, match="holds no secret key"):
        load_secret_key(None, path)
