"""Who owns things. A job, a node, a wallet or a secret belongs to one owner: a user, or a team.

A user's id and a team's id are owner ids, so that one column with one foreign key says whose a row is.
"""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import String
from sqlalchemy.orm import Mapped, Session, mapped_column

from computepool.hub.core.errors import NotFound
from computepool.hub.core.tables import Base, Id


class OwnerKind(StrEnum):
    USER = "user"
    TEAM = "team"
    PLATFORM = "platform"


PLATFORM = "owner_platform"
"""The pool itself, which pays for audits. Nobody signs in as it."""


class Owner(Base):
    __tablename__ = "owners"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    kind: Mapped[str] = mapped_column(String(8))
    created_at: Mapped[datetime]


def check_owner(session: Session, owner_id: str) -> None:
    if session.get(Owner, owner_id) is None:
        raise NotFound(f"There is no user or team {owner_id[:60]}.")
