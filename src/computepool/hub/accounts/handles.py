"""Handles: the public, unique name of every user and team, such as `ada` or `my-lab`.

A handle belongs to one owner for ever: after a rename the former one still leads to them, and nobody else gets it. Two
handles that look alike (`my-lab`, `mylab`, `my-1ab`) count as the same one.
"""

import hashlib
import re
from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, select, text, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from computepool.hub.accounts.errors import HandleTaken, TooManyHandles
from computepool.hub.core.errors import Invalid
from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.tables import Base, Id
from computepool.protocol.errors import FieldError

MIN_LENGTH, MAX_LENGTH = 3, 32
HANDLES_EACH = 5
"""With former ones: they stay taken."""
PARTS_LIMIT = 500
RESERVED = frozenset({
    "account", "accounts", "admin", "administrator", "api", "auth", "billing", "computepool", "config", "dashboard",
    "docs", "everyone", "grid", "guest", "help", "host", "hosts", "hub", "invitation", "invitations", "job", "jobs",
    "leaderboard", "login", "logout", "mail", "market", "me", "mine", "model", "models", "moderator", "new", "node",
    "nodes", "none", "null", "offers", "official", "operator", "others", "owner", "password", "platform", "pool",
    "public", "register", "root", "search", "secrets", "security", "settings", "shared", "signin", "signup", "staff",
    "status", "submit", "support", "system", "team", "teams", "token", "tokens", "undefined", "user", "users",
    "wallet", "web", "webhooks", "www", "you", "zoo",
})  # fmt: skip
GENERATED_LETTERS = "bcdfghjkmpqtwxz"
"""No vowels, so that no word comes out, and none that looks like another."""
GENERATED_LENGTH = 8

_HANDLE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_ALIKE = str.maketrans({"0": "o", "1": "l", "i": "l", "2": "z", "5": "s", "8": "b", "-": ""})
_CURRENT = text("is_current")


class Handle(Base):
    __tablename__ = "handles"
    __table_args__ = (
        Index("ix_handles_current", "owner_id", unique=True, sqlite_where=_CURRENT, postgresql_where=_CURRENT),
    )

    key: Mapped[str] = mapped_column(String(MAX_LENGTH), primary_key=True)
    """The handle as it is compared: those that look alike have the same."""
    handle: Mapped[str] = mapped_column(String(MAX_LENGTH))
    owner_id: Mapped[str] = mapped_column(Id, ForeignKey("owners.id"), index=True)
    is_current: Mapped[bool]
    """False: the owner has another one now."""
    created_at: Mapped[datetime]


def read_handle(typed: str) -> str:
    """In one spelling. Raises Invalid."""
    handle = typed.strip().lower()
    if not MIN_LENGTH <= len(handle) <= MAX_LENGTH or not _HANDLE.fullmatch(handle):
        raise _bad(
            f"must have {MIN_LENGTH} to {MAX_LENGTH} letters a-z, digits or single hyphens, start with a letter, and "
            "not end with a hyphen"
        )
    if key_of(handle) in _RESERVED_KEYS:
        raise _bad(f"{handle} is reserved")
    return handle


def key_of(handle: str) -> str:
    return handle.translate(_ALIKE).replace("rn", "m").replace("vv", "w")


_RESERVED_KEYS = frozenset(key_of(word) for word in RESERVED)


def generated(owner_id: str, number: int = 0) -> str:
    """The `number`-th handle for an owner who chose none. It tells nothing about them."""
    value = int.from_bytes(hashlib.sha256(f"{owner_id}/{number}".encode()).digest())
    letters = []
    for _ in range(GENERATED_LENGTH):
        value, place = divmod(value, len(GENERATED_LETTERS))
        letters.append(GENERATED_LETTERS[place])
    return f"user-{''.join(letters)}"


def give_handle(session: Session, owner_id: str, now: datetime, handle: str | None = None) -> str:
    """A new owner's first one. `handle`: as `read_handle` gives it; None for a generated one. Raises HandleTaken."""
    if handle is not None:
        if not _take(session, handle, owner_id, now):
            raise HandleTaken(handle)
        return handle
    number = 0
    while not _take(session, chosen := generated(owner_id, number), owner_id, now):
        number += 1
    return chosen


def change_handle(session: Session, owner_id: str, handle: str, now: datetime) -> bool:
    """Whether that is a change. The former one leads to the owner from now on. Raises HandleTaken, TooManyHandles."""
    rows = session.scalars(select(Handle).where(Handle.owner_id == owner_id).with_for_update()).all()
    if any(row.is_current and row.handle == handle for row in rows):
        return False
    known = next((row for row in rows if row.key == key_of(handle)), None)
    if known is None and len(rows) >= HANDLES_EACH:
        raise TooManyHandles(HANDLES_EACH)
    session.execute(update(Handle).where(Handle.owner_id == owner_id, Handle.is_current).values(is_current=False))
    if known is not None:
        session.execute(update(Handle).where(Handle.key == known.key).values(handle=handle, is_current=True))
    elif not _take(session, handle, owner_id, now):
        raise HandleTaken(handle)
    session.expire_all()
    return True


def _take(session: Session, handle: str, owner_id: str, now: datetime) -> bool:
    return insert_if_absent(
        session,
        Handle,
        ["key"],
        key=key_of(handle),
        handle=handle,
        owner_id=owner_id,
        is_current=True,
        created_at=now,
    )


def find_handle(session: Session, owner_id: str) -> str:
    return session.scalars(select(Handle.handle).where(Handle.owner_id == owner_id, Handle.is_current)).one()


def handles_of(session: Session, owner_ids: Collection[str]) -> dict[str, str]:
    """By owner."""
    ids, found = sorted(owner_ids), dict[str, str]()
    for start in range(0, len(ids), PARTS_LIMIT):
        some = Handle.owner_id.in_(ids[start : start + PARTS_LIMIT])
        rows = session.execute(select(Handle.owner_id, Handle.handle).where(some, Handle.is_current))
        found |= {row.owner_id: row.handle for row in rows}
    return found


def find_owner(session: Session, typed: str) -> str | None:
    """Whose a handle is, also a former one."""
    return session.scalar(select(Handle.owner_id).where(Handle.key == key_of(typed.strip().lower())))


def _bad(message: str) -> Invalid:
    return Invalid(
        "The handle is not valid.",
        fields=[FieldError(field="handle", message=message)],
        hint="Examples: ada, my-lab. Handles are public.",
    )
