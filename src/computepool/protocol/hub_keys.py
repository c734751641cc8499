"""The hub's signing keys: how one follows another, and when an old one ends.

A next key is announced by the current one, which signs it. When it has taken over, it signs the end of the one before:
an instant after which nothing that the old key signed is obeyed any more. What was ordered before stays verifiable.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import Field, ValidationError

from computepool.protocol.model import Wire
from computepool.protocol.signing import SignatureRefused, Signed, key_id_of, load_public_key, verify

KEY_ANNOUNCEMENT = "key_announcement"
KEY_RETIREMENT = "key_retirement"
FOLLOWED_LIMIT = 100
"""Announcements that are followed from one known key to the next."""


class HubKey(Wire):
    key_id: str
    public_key: str
    """Base64 of the 32 raw bytes."""
    announcement: Signed | None = None
    """The key itself, signed by the one before it; None for the first."""
    retirement: Signed | None = None
    """When it ended, signed by the current one; None while it may sign."""


class Retirement(Wire):
    """The end of a key. Signed by a key that came after it."""

    hub_id: str = Field(max_length=80)
    key_id: str = Field(max_length=80)
    not_after: datetime
    """Orders that were issued later, or are read later, are refused."""


def public_key_of(key: HubKey) -> Ed25519PublicKey:
    """Raises ValueError where it is none, or has another id than it says."""
    raw = base64.b64decode(key.public_key, validate=True)
    if key_id_of(raw) != key.key_id:
        raise ValueError(f"{key.key_id} is not the id of that key")
    return load_public_key(raw)


def read_announcement(signed: Signed, keys: Mapping[str, Ed25519PublicKey]) -> HubKey:
    """The next key, if one of `keys` announced it. Raises SignatureRefused."""
    try:
        key = HubKey.model_validate_json(verify(signed, KEY_ANNOUNCEMENT, keys))
        public_key_of(key)
    except (ValidationError, binascii.Error, ValueError) as error:
        raise SignatureRefused(f"the announcement names no key: {str(error).splitlines()[0]}") from None
    return HubKey(key_id=key.key_id, public_key=key.public_key, announcement=signed)


def read_retirement(signed: Signed, keys: Mapping[str, Ed25519PublicKey], hub_id: str | None = None) -> Retirement:
    """The end of a key, if another of `keys` signed it. Raises SignatureRefused."""
    try:
        retirement = Retirement.model_validate_json(verify(signed, KEY_RETIREMENT, keys))
    except ValidationError as error:
        raise SignatureRefused(f"the retirement holds nonsense: {error.errors()[0]['msg']}") from None
    if retirement.key_id == signed.key_id:
        raise SignatureRefused("a key does not sign its own end")
    if hub_id is not None and retirement.hub_id != hub_id:
        raise SignatureRefused(f"the retirement is of hub {retirement.hub_id}, not of {hub_id}")
    return retirement


def trusted_keys(keys: Iterable[HubKey]) -> dict[str, Ed25519PublicKey]:
    """By the id that follows from the key itself: a name beside it could be anything."""
    trusted = {}
    for key in keys:
        try:
            raw = base64.b64decode(key.public_key, validate=True)
            trusted[key_id_of(raw)] = load_public_key(raw)
        except (binascii.Error, ValueError):
            continue
    return trusted


def ends_of(keys: Iterable[HubKey]) -> dict[str, datetime]:
    """When those of them ended whose end one that came later signed."""
    known = list(keys)
    trusted = trusted_keys(known)
    ends: dict[str, datetime] = {}
    for key in known:
        if key.retirement is None or key.retirement.key_id in _ancestors(key.key_id, known):
            continue
        try:
            end = read_retirement(key.retirement, trusted)
        except SignatureRefused:
            continue
        if end.key_id == key.key_id:
            ends[key.key_id] = end.not_after
    return ends


def retire(keys: Iterable[HubKey], signed: Signed, hub_id: str, now: datetime) -> list[HubKey]:
    """The keys with one more end. An end never moves to a later instant, and a key that has ended ends no other.

    Raises SignatureRefused, also where the signer announced the key that it would end: a stolen old key must not be
    able to get rid of its successor.
    """
    known = list(keys)
    end = read_retirement(signed, keys_at(known, now), hub_id)
    if signed.key_id in _ancestors(end.key_id, known):
        raise SignatureRefused(f"{signed.key_id} came before {end.key_id} and does not end it")
    before = ends_of(known).get(end.key_id)
    if before is not None and before <= end.not_after:
        return known
    return [key.model_copy(update={"retirement": signed}) if key.key_id == end.key_id else key for key in known]


def keys_at(keys: Iterable[HubKey], now: datetime) -> dict[str, Ed25519PublicKey]:
    """Those that may sign at this instant."""
    known = list(keys)
    ends = ends_of(known)
    return {key_id: key for key_id, key in trusted_keys(known).items() if key_id not in ends or now <= ends[key_id]}


def _ancestors(key_id: str, keys: Iterable[HubKey]) -> list[str]:
    """Those that announced it, and those that announced these."""
    announced_by = {key.key_id: key.announcement.key_id for key in keys if key.announcement is not None}
    found: list[str] = []
    while (key_id := announced_by.get(key_id, "")) and key_id not in found:
        found.append(key_id)
    return found


def follow_keys(known: Iterable[HubKey], told: Iterable[HubKey]) -> list[HubKey]:
    """What is trusted after a hub told its keys: those known before, with the ends that their successors signed, and
    those that one of them announced. A key that was known to have ended announces nobody any more."""
    found = {key.key_id: key for key in known}
    offered = [key for key in told if key.key_id not in found]
    ended = set(ends_of(found.values()))
    for _ in range(FOLLOWED_LIMIT):
        may_announce = trusted_keys(key for key in found.values() if key.key_id not in ended)
        fresh = [key for key in offered if key.key_id not in found and _is_announced(key, may_announce)]
        if not fresh:
            break
        found |= {key.key_id: key for key in fresh}
    for key in told:
        before = found.get(key.key_id)
        if before is not None and before.retirement is None and key.retirement is not None:
            found[key.key_id] = before.model_copy(update={"retirement": key.retirement})
    return list(found.values())


def _is_announced(key: HubKey, by: Mapping[str, Ed25519PublicKey]) -> bool:
    if key.announcement is None:
        return False
    try:
        announced = read_announcement(key.announcement, by)
    except SignatureRefused:
        return False
    return (announced.key_id, announced.public_key) == (key.key_id, key.public_key)
