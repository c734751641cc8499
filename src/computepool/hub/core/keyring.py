"""The hub's signing keys: one current, at most one announced as the next, the retired ones for old signatures.

Private halves are kept in the database, sealed with a key derived from the secret key, so that every hub process and
every backup has them and a stolen database alone has not.
"""

import base64
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from sqlalchemy import String, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from computepool.hub.core.records import record
from computepool.hub.core.secrets import decrypt, encrypt
from computepool.hub.core.tables import Base
from computepool.protocol.messages import KEY_ANNOUNCEMENT, HubKey
from computepool.protocol.signing import Signed, key_id_of, sign

KEYS_LIMIT = 1000
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


@dataclass(frozen=True)
class Keyring:
    current: Ed25519PrivateKey
    current_id: str
    public: tuple[HubKey, ...]
    """Every key that ever signed, the current one first."""
    announcement: Signed | None
    """The next key, signed by the current one."""

    def sign(self, type: str, body: bytes) -> Signed:
        return sign(self.current, self.current_id, type, body)


def load_keyring(session: Session, secret_key: bytes, now: datetime) -> Keyring:
    """The hub's keys; the first one is made on the first start."""
    rows = session.scalars(select(HubKeyRow).order_by(HubKeyRow.created_at.desc()).limit(KEYS_LIMIT)).all()
    current = next((row for row in rows if row.state == KeyState.CURRENT), None)
    if current is None:
        current = _add_key(session, secret_key, KeyState.CURRENT, now)
        rows = [current, *rows]
    key = Ed25519PrivateKey.from_private_bytes(
        decrypt(secret_key, PURPOSE, base64.b64decode(current.private_key), bound_to=current.id)
    )
    coming = next((row for row in rows if row.state == KeyState.NEXT), None)
    announced = _public(coming).to_bytes() if coming else None
    return Keyring(
        current=key,
        current_id=current.id,
        public=tuple(_public(row) for row in sorted(rows, key=lambda row: row.state != KeyState.CURRENT)),
        announcement=sign(key, current.id, KEY_ANNOUNCEMENT, announced) if announced else None,
    )


def announce_next_key(session: Session, secret_key: bytes, now: datetime) -> str:
    """Make the next key. Nodes pin it when they hear of it; `rotate_keys` then makes it the current one."""
    waiting = session.scalar(select(HubKeyRow.id).where(HubKeyRow.state == KeyState.NEXT))
    return waiting or _add_key(session, secret_key, KeyState.NEXT, now).id


def rotate_keys(session: Session, now: datetime) -> bool:
    """The announced key becomes the current one; the old one is kept for what it signed. False if there is none."""
    if session.scalar(select(HubKeyRow.id).where(HubKeyRow.state == KeyState.NEXT)) is None:
        return False
    for old, new in ((KeyState.CURRENT, KeyState.RETIRED), (KeyState.NEXT, KeyState.CURRENT)):
        session.execute(update(HubKeyRow).where(HubKeyRow.state == old).values(state=new))
    record(session, "hub_key.rotated", "hub", now)
    return True


def _add_key(session: Session, secret_key: bytes, state: KeyState, now: datetime) -> HubKeyRow:
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    private = key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    row = HubKeyRow(
        id=key_id_of(public),
        public_key=base64.b64encode(public).decode(),
        private_key=base64.b64encode(encrypt(secret_key, PURPOSE, private, bound_to=key_id_of(public))).decode(),
        state=state,
        created_at=now,
    )
    session.add(row)
    session.flush()
    record(session, f"hub_key.{state}", row.id, now)
    return row


def _public(row: HubKeyRow) -> HubKey:
    return HubKey(key_id=row.id, public_key=row.public_key)
