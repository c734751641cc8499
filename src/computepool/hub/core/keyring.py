"""The hub's signing keys: one current, at most one announced as the next, the retired ones for old signatures.

A retired key ends soon after the first start of a hub that signs with its successor; the successor signs that instant,
and nodes and `verify` hear of it.

Private halves are kept in the database, sealed with a key derived from the secret key, so that every hub process and
every backup has them and a stolen database alone has not.
"""

import base64
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from sqlalchemy import String, Text, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from computepool.hub.core.records import record
from computepool.hub.core.secrets import CannotDecryptError, decrypt, encrypt
from computepool.hub.core.tables import Base
from computepool.protocol.hub_keys import KEY_ANNOUNCEMENT, KEY_RETIREMENT, HubKey, Retirement
from computepool.protocol.signing import Signed, key_id_of, sign
from computepool.protocol.timing import MANIFEST_VALID_SECONDS

KEYS_LIMIT = 1000
RETIREMENTS_LIMIT = 16
"""That a node is told when it connects."""
PURPOSE = "hub signing keys"


class KeyState(StrEnum):
    CURRENT = "current"
    NEXT = "next"
    RETIRED = "retired"


class HubKeyRow(Base):
    __tablename__ = "hub_keys"

    id: Mapped[str] = mapped_column(String(80), primary_key=True)
    public_key: Mapped[str] = mapped_column(String(64))
    private_key: Mapped[str] = mapped_column(String(400))
    """Sealed."""
    state: Mapped[str] = mapped_column(String(12))
    created_at: Mapped[datetime]
    announcement: Mapped[str | None] = mapped_column(Text)
    """The key, signed by the one before it."""
    not_after: Mapped[datetime | None]
    """When it ended; None while it may sign."""


@dataclass(frozen=True)
class Keyring:
    current: Ed25519PrivateKey
    current_id: str
    public: tuple[HubKey, ...]
    """Every key that ever signed, the current one first, with its announcement and its end."""
    pinned: tuple[HubKey, ...]
    """What a new node trusts: the current one and the next."""
    announcement: Signed | None
    """The next key, signed by the current one."""
    retirements: tuple[Signed, ...] = ()
    """The ends of those before, signed by the current one; the newest first."""

    def sign(self, type: str, body: bytes) -> Signed:
        return sign(self.current, self.current_id, type, body)


def start_keyring(session: Session, secret_key: bytes, now: datetime, hub_id: str) -> Keyring:
    """The keys of a hub that starts: from now on no other process signs with those that were retired before."""
    ended = update(HubKeyRow).where(HubKeyRow.state == KeyState.RETIRED, HubKeyRow.not_after.is_(None))
    # What was signed a moment ago may still be on its way.
    session.execute(ended.values(not_after=now + timedelta(seconds=MANIFEST_VALID_SECONDS)))
    return load_keyring(session, secret_key, now, hub_id)


def load_keyring(session: Session, secret_key: bytes, now: datetime, hub_id: str = "") -> Keyring:
    """The hub's keys; the first one is made on the first start."""
    rows = session.scalars(select(HubKeyRow).order_by(HubKeyRow.created_at.desc()).limit(KEYS_LIMIT)).all()
    current = next((row for row in rows if row.state == KeyState.CURRENT), None)
    if current is None:
        current = _add_key(session, secret_key, KeyState.CURRENT, now)
        rows = [current, *rows]
    key = _open(secret_key, current)
    coming = next((row for row in rows if row.state == KeyState.NEXT), None)
    ends = {row.id: _retirement(key, current.id, row, hub_id) for row in rows if row.not_after is not None}
    ordered = sorted(rows, key=lambda row: row.state != KeyState.CURRENT)
    return Keyring(
        current=key,
        current_id=current.id,
        public=tuple(_public(row, ends.get(row.id)) for row in ordered),
        pinned=tuple(_public(row) for row in ordered if row.state != KeyState.RETIRED),
        announcement=None if coming is None else _announcement(key, current.id, coming),
        retirements=tuple(ends.values())[:RETIREMENTS_LIMIT],
    )


def announce_next_key(session: Session, secret_key: bytes, now: datetime) -> str:
    """Make the next key. Nodes pin it when they hear of it; `rotate_keys` then makes it the current one."""
    waiting = session.scalar(select(HubKeyRow.id).where(HubKeyRow.state == KeyState.NEXT))
    if waiting is not None:
        return waiting
    current = session.scalars(select(HubKeyRow).where(HubKeyRow.state == KeyState.CURRENT)).one()
    coming = _add_key(session, secret_key, KeyState.NEXT, now)
    coming.announcement = _announcement(_open(secret_key, current), current.id, coming).model_dump_json()
    session.flush()
    return coming.id


def rotate_keys(session: Session, now: datetime) -> bool:
    """The announced key becomes the current one; the old one is kept for what it signed. False if there is none."""
    if session.scalar(select(HubKeyRow.id).where(HubKeyRow.state == KeyState.NEXT)) is None:
        return False
    for old, new in ((KeyState.CURRENT, KeyState.RETIRED), (KeyState.NEXT, KeyState.CURRENT)):
        session.execute(update(HubKeyRow).where(HubKeyRow.state == old).values(state=new))
    record(session, "hub_key.rotated", "hub", now)
    return True


def are_keys_open(session: Session, secret_key: bytes) -> bool:
    """Whether this secret opens the hub's keys: all are sealed with the same one, so one is tried. True without any.

    Nobody else seals them with another secret before the end of the transaction.
    """
    newest = select(HubKeyRow).order_by(HubKeyRow.created_at.desc()).limit(1).with_for_update()
    row = session.scalars(newest, execution_options={"populate_existing": True}).first()
    try:
        return row is None or bool(_open(secret_key, row))
    except CannotDecryptError:
        return False


def reseal_keys(session: Session, old: bytes, new: bytes) -> int:
    """Seal every private half with another secret; how many there are. Raises CannotDecryptError."""
    are_keys_open(session, old)  # waits for whoever adds a key now, so that the next line finds it
    rows = session.scalars(select(HubKeyRow)).all()  # without a limit: one left out would be lost
    for row in rows:
        row.private_key = _sealed(new, row.id, _open(old, row))
    session.flush()
    return len(rows)


def _add_key(session: Session, secret_key: bytes, state: KeyState, now: datetime) -> HubKeyRow:
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    row = HubKeyRow(
        id=key_id_of(public),
        public_key=base64.b64encode(public).decode(),
        private_key=_sealed(secret_key, key_id_of(public), key),
        state=state,
        created_at=now,
    )
    session.add(row)
    session.flush()
    record(session, f"hub_key.{state}", row.id, now)
    return row


def _sealed(secret_key: bytes, key_id: str, key: Ed25519PrivateKey) -> str:
    private = key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    return base64.b64encode(encrypt(secret_key, PURPOSE, private, bound_to=key_id)).decode()


def _open(secret_key: bytes, row: HubKeyRow) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(
        decrypt(secret_key, PURPOSE, base64.b64decode(row.private_key), bound_to=row.id)
    )


def _announcement(key: Ed25519PrivateKey, key_id: str, coming: HubKeyRow) -> Signed:
    """As it was signed when it was announced; by the current key where an earlier version kept none."""
    if coming.announcement is not None:
        return Signed.model_validate_json(coming.announcement)
    body = HubKey(key_id=coming.id, public_key=coming.public_key).to_bytes()
    return sign(key, key_id, KEY_ANNOUNCEMENT, body)


def _retirement(key: Ed25519PrivateKey, key_id: str, row: HubKeyRow, hub_id: str) -> Signed:
    assert row.not_after is not None
    return sign(
        key, key_id, KEY_RETIREMENT, Retirement(hub_id=hub_id, key_id=row.id, not_after=row.not_after).to_bytes()
    )


def _public(row: HubKeyRow, retirement: Signed | None = None) -> HubKey:
    announcement = Signed.model_validate_json(row.announcement) if row.announcement is not None else None
    return HubKey(key_id=row.id, public_key=row.public_key, announcement=announcement, retirement=retirement)
