from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.accounts.tables import EMAIL_LIMIT, NAME_LIMIT, Digest
from computepool.hub.core.tables import Base, Id

_OPEN = text("accepted_at IS NULL AND revoked_at IS NULL")


class Team(Base):
    """Shares its id with its row in `owners`. Its handle is in `handles`."""

    __tablename__ = "teams"

    id: Mapped[str] = mapped_column(Id, ForeignKey("owners.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME_LIMIT))
    created_at: Mapped[datetime]


class TeamMember(Base):
    __tablename__ = "team_members"

    team_id: Mapped[str] = mapped_column(Id, ForeignKey("teams.id"), primary_key=True)
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), primary_key=True, index=True)
    role: Mapped[str] = mapped_column(String(8))
    """A `TeamRole`."""
    joined_at: Mapped[datetime]
    invited_by: Mapped[str | None] = mapped_column(Id)
    """None: who made the team."""


class Invitation(Base):
    """A link with which somebody joins a team."""

    __tablename__ = "invitations"
    __table_args__ = (
        CheckConstraint("(accepted_at IS NULL) = (accepted_by IS NULL)", name="accepted_by_somebody"),
        Index("ix_invitations_open", "team_id", "created_at", sqlite_where=_OPEN, postgresql_where=_OPEN),
    )

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    team_id: Mapped[str] = mapped_column(Id, ForeignKey("teams.id"))
    email: Mapped[str] = mapped_column(String(EMAIL_LIMIT))
    """Only an account with this address can accept it."""
    role: Mapped[str] = mapped_column(String(8))
    hash: Mapped[str] = mapped_column(Digest, unique=True)
    invited_by: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    accepted_at: Mapped[datetime | None]
    accepted_by: Mapped[str | None] = mapped_column(Id)
    revoked_at: Mapped[datetime | None]
