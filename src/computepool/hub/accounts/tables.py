from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.core.tables import Base, Id

EMAIL_LIMIT = 254
NAME_LIMIT = 100
TOKEN_NAME_LIMIT = 80
USER_AGENT_LIMIT = 200
ADDRESS_LIMIT = 64
METHOD_LIMIT = 16
Digest = String(64)
"""SHA-256 in hex. Of a token only this is kept."""


class User(Base):
    """Shares its id with its row in `owners`. A person, or a service account of a team."""

    __tablename__ = "users"
    __table_args__ = (
        CheckConstraint("(managed_by IS NULL) = (email LIKE '%@%')", name="person_iff_email"),
        CheckConstraint("managed_by IS NULL OR password_hash IS NULL", name="service_has_no_password"),
    )

    id: Mapped[str] = mapped_column(Id, ForeignKey("owners.id"), primary_key=True)
    email: Mapped[str] = mapped_column(String(EMAIL_LIMIT), unique=True)
    """In lower case. A service account has `service:` and its id, which is no address."""
    name: Mapped[str] = mapped_column(String(NAME_LIMIT))
    country: Mapped[str | None] = mapped_column(String(2))
    password_hash: Mapped[str | None] = mapped_column(String(200))
    """None: nobody can sign in by password."""
    role: Mapped[str] = mapped_column(String(8))
    created_at: Mapped[datetime]
    disabled_at: Mapped[datetime | None]
    muted_mails: Mapped[list[str]] = mapped_column(default=list, server_default="[]")
    """Kinds of mails (`core.notices.MailKind`) that the user turned off."""
    managed_by: Mapped[str | None] = mapped_column(Id, ForeignKey("owners.id"))
    """The team whose service account it is. None: a person."""


class UserSession(Base):
    """One sign-in. Its refresh tokens are a family: each use makes the next, and an old one betrays a thief."""

    __tablename__ = "sessions"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), index=True)
    generation: Mapped[int] = mapped_column(Integer)
    """Which token of the family is the current one."""
    created_at: Mapped[datetime]
    rotated_at: Mapped[datetime]
    """When the current token was made, which is when the session was last used."""
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None] = mapped_column(index=True)
    user_agent: Mapped[str] = mapped_column(String(USER_AGENT_LIMIT))
    address: Mapped[str | None] = mapped_column(String(ADDRESS_LIMIT))
    """Where it was opened from. None: before this was kept."""
    method: Mapped[str | None] = mapped_column(String(METHOD_LIMIT))
    """How it was opened: a `SignInMethod`, or None as above."""


class PersonalToken(Base):
    __tablename__ = "personal_tokens"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), index=True)
    name: Mapped[str] = mapped_column(String(TOKEN_NAME_LIMIT))
    hash: Mapped[str] = mapped_column(Digest, unique=True)
    scopes: Mapped[list[str]]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    """Written in batches, so up to a minute late."""
    revoked_at: Mapped[datetime | None]


class DeviceLogin(Base):
    """A program without a browser waits for its person to approve it in one."""

    __tablename__ = "device_logins"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    device_hash: Mapped[str] = mapped_column(Digest, unique=True)
    user_code: Mapped[str] = mapped_column(String(8), unique=True)
    state: Mapped[str] = mapped_column(String(8))
    user_id: Mapped[str | None] = mapped_column(Id, ForeignKey("users.id"))
    """Who approved or denied it."""
    user_agent: Mapped[str | None] = mapped_column(String(USER_AGENT_LIMIT))
    """Of the program that began it."""
    address: Mapped[str | None] = mapped_column(String(ADDRESS_LIMIT))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)


class OneTimeToken(Base):
    """A sign-in link. Good once, for a quarter of an hour."""

    __tablename__ = "one_time_tokens"

    hash: Mapped[str] = mapped_column(Digest, primary_key=True)
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    used_at: Mapped[datetime | None]
