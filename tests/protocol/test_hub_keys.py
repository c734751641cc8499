"""How one key of a hub follows another, and what an old one can still do: nothing, after its successor ended it."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.planted import each_check, each_mutant

from computepool.protocol import hub_keys
from computepool.protocol.hub_keys import (
    KEY_ANNOUNCEMENT,
    KEY_RETIREMENT,
    HubKey,
    Retirement,
    ends_of,
    follow_keys,
    keys_at,
    retire,
)
from computepool.protocol.signing import SignatureRefused, Signed, key_id_of, sign

HUB = "hub_1"
END = datetime(2030, 1, 1, tzinfo=UTC)
LATER, BEFORE = END + timedelta(seconds=1), END - timedelta(seconds=1)


class Signer:
    def __init__(self) -> None:
        self.private = Ed25519PrivateKey.generate()
        raw = self.private.public_key().public_bytes_raw()
        self.id, self.public = key_id_of(raw), base64.b64encode(raw).decode()

    @property
    def key(self) -> HubKey:
        return HubKey(key_id=self.id, public_key=self.public)

    def announces(self, other: "Signer") -> HubKey:
        signed = sign(self.private, self.id, KEY_ANNOUNCEMENT, other.key.to_bytes())
        return other.key.model_copy(update={"announcement": signed})

    def ends(self, other: "Signer", at: datetime = END, hub_id: str = HUB) -> Signed:
        body = Retirement(hub_id=hub_id, key_id=other.id, not_after=at).to_bytes()
        return sign(self.private, self.id, KEY_RETIREMENT, body)


OLD, NEW, THIEF = Signer(), Signer(), Signer()
BOTH = [OLD.key, OLD.announces(NEW)]


def check_retired_key_signs_until_its_end_and_not_later():
    keys = retire(BOTH, NEW.ends(OLD), HUB, BEFORE)
    assert set(keys_at(keys, END)) == {OLD.id, NEW.id}
    assert set(keys_at(keys, LATER)) == {NEW.id}


def check_only_a_trusted_key_of_this_hub_ends_another():
    for signed in (THIEF.ends(OLD), NEW.ends(OLD, hub_id="hub_2"), OLD.ends(OLD)):
        with pytest.raises(SignatureRefused):
            retire(BOTH, signed, HUB, BEFORE)


def check_old_key_cannot_end_the_one_that_it_announced():
    with pytest.raises(SignatureRefused, match="came before"):
        retire(BOTH, OLD.ends(NEW), HUB, BEFORE)
    forged = [BOTH[0], BOTH[1].model_copy(update={"retirement": OLD.ends(NEW)})]
    assert ends_of(forged) == {}


def check_key_that_ended_ends_and_announces_nobody():
    keys = retire(BOTH, NEW.ends(OLD), HUB, BEFORE)
    third = NEW.announces(THIEF)
    with pytest.raises(SignatureRefused):
        retire([*keys, third.model_copy(update={"announcement": None})], OLD.ends(THIEF), HUB, LATER)
    assert {key.key_id for key in follow_keys(keys, [OLD.announces(THIEF)])} == {OLD.id, NEW.id}


def check_end_never_moves_to_a_later_instant():
    keys = retire(BOTH, NEW.ends(OLD), HUB, BEFORE)
    assert retire(keys, NEW.ends(OLD, END + timedelta(days=1)), HUB, BEFORE) == keys
    sooner = retire(keys, NEW.ends(OLD, BEFORE), HUB, BEFORE)
    assert ends_of(sooner) == {OLD.id: BEFORE}


def check_announced_keys_are_followed_and_bring_the_ends_of_those_before():
    told = [OLD.announces(NEW), OLD.key.model_copy(update={"retirement": NEW.ends(OLD)}), THIEF.key]
    followed = follow_keys([OLD.key], told)
    assert {key.key_id for key in followed} == {OLD.id, NEW.id}
    assert ends_of(followed) == {OLD.id: END}


def ends_are_ignored(monkeypatch):
    monkeypatch.setattr(hub_keys, "ends_of", lambda keys: {})


def any_key_ends_any(monkeypatch):
    monkeypatch.setattr(hub_keys, "_ancestors", lambda key_id, keys: [])


def signatures_are_ignored(monkeypatch):
    monkeypatch.setattr(hub_keys, "verify", lambda signed, type, keys: signed.body.encode())


def announcements_are_not_checked(monkeypatch):
    monkeypatch.setattr(hub_keys, "_is_announced", lambda key, by: True)


MUTANTS = {
    check_retired_key_signs_until_its_end_and_not_later: [ends_are_ignored],
    check_only_a_trusted_key_of_this_hub_ends_another: [signatures_are_ignored],
    check_old_key_cannot_end_the_one_that_it_announced: [any_key_ends_any],
    check_key_that_ended_ends_and_announces_nobody: [ends_are_ignored, signatures_are_ignored],
    check_end_never_moves_to_a_later_instant: [ends_are_ignored],
    check_announced_keys_are_followed_and_bring_the_ends_of_those_before: [announcements_are_not_checked],
}


@each_check(MUTANTS)
def test_keys_follow_each_other(check):
    check()


@each_mutant(MUTANTS)
def test_check_finds_the_planted_bug(check, mutant, monkeypatch):
    mutant(monkeypatch)
    # Tests bind some of these by name: they must see the bug too.
    for name in ("ends_of", "keys_at", "retire", "follow_keys"):
        monkeypatch.setitem(globals(), name, getattr(hub_keys, name))
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check()
