"""Names under which users let themselves be seen in public: on the leaderboard, and beside their nodes.

Nobody has one who did not ask for it. A name belongs to one user, however it is capitalized, and cannot be made to look
like another by invisible characters or letters of another alphabet.
"""

import unicodedata
from collections.abc import Collection
from itertools import pairwise

from sqlalchemy import ForeignKey, String, delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from computepool.hub.accounts.errors import PublicNameTaken
from computepool.hub.accounts.tables import User
from computepool.hub.core.errors import Invalid
from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.tables import Base, Id

MIN_LENGTH, MAX_LENGTH = 3, 32
KEY_LIMIT = 3 * MAX_LENGTH
BETWEEN = " -_."
"""What may stand between letters and digits."""
RESERVED = frozenset({"admin", "administrator", "computepool", "hub", "moderator", "operator", "others", "system"})
LOOK_ALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"})
"""Alphabets with letters that look like those of another one: a name has letters of one of them."""
LIST_LIMIT = 100_000


class PublicName(Base):
    __tablename__ = "public_names"

    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(MAX_LENGTH))
    key: Mapped[str] = mapped_column(String(KEY_LIMIT), unique=True)
    """The name as it is compared: without capitals, and without what stands between letters."""


def read_public_name(text: str) -> str:
    """In one spelling. Raises Invalid for what could deceive, or cannot be read."""
    name = " ".join(unicodedata.normalize("NFKC", text).split(" ")).strip()
    if not MIN_LENGTH <= len(name) <= MAX_LENGTH:
        raise _bad(f"A public name has {MIN_LENGTH} to {MAX_LENGTH} characters.")
    if not all(_is_plain(char) or char in BETWEEN for char in name):
        raise _bad("A public name can have only letters, digits, spaces, hyphens, underscores and dots.")
    if name[0] in BETWEEN or name[-1] in BETWEEN or any(a in BETWEEN and b in BETWEEN for a, b in pairwise(name)):
        raise _bad(
            "A public name starts and ends with a letter or a digit, and cannot have two other characters in a row."
        )
    alphabets = {unicodedata.name(char, "").split(" ")[0] for char in name if char.isalpha()}
    if len(alphabets & LOOK_ALIKE) > 1:
        raise _bad("A public name can have letters of only one alphabet.")
    if _key(name) in RESERVED:
        raise _bad(f"The public name {name!r} is reserved.")
    return name


def set_public_name(session: Session, user_id: str, name: str | None) -> bool:
    """Whether that is a change. None: not public any more."""
    before = session.get(PublicName, user_id)
    if (before.name if before is not None else None) == name:
        return False
    session.execute(delete(PublicName).where(PublicName.user_id == user_id))
    if name is not None and not insert_if_absent(
        session, PublicName, ["key"], user_id=user_id, name=name, key=_key(name)
    ):
        raise PublicNameTaken(name)
    return True


def find_public_name(session: Session, user_id: str) -> str | None:
    return list_public_names(session, [user_id]).get(user_id)


def list_public_names(session: Session, among: Collection[str] | None = None) -> dict[str, str]:
    """By user, without those of disabled accounts. `among`: of a few users."""
    query = select(PublicName.user_id, PublicName.name).join(User, User.id == PublicName.user_id)
    query = query.where(User.disabled_at.is_(None)).limit(LIST_LIMIT)
    if among is not None:
        query = query.where(PublicName.user_id.in_(sorted(among)))
    return {row.user_id: row.name for row in session.execute(query)}


def _is_plain(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char) in ("Mn", "Mc")


def _key(name: str) -> str:
    return "".join(char for char in name.casefold() if char not in BETWEEN)


def _bad(message: str) -> Invalid:
    return Invalid(message, hint="Examples: Ada, gpu-garage.42. Public names are visible to everybody.")
