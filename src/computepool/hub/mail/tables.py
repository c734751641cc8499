from datetime import datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, false, text
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.core.tables import Base, Id

ADDRESS_LIMIT = 320
SUBJECT_LIMIT = 160
WORDS_LIMIT = 500
MESSAGE_ID_LIMIT = 320
_WAITING = text("state = 'waiting'")


class MailState(StrEnum):
    WAITING = "waiting"
    SENT = "sent"
    """The server took it. What becomes of it there is not ours to know."""
    LOGGED = "logged"
    """Written to the log, where there is no server."""
    GIVEN_UP = "given_up"


_S = MailState
NEXT: dict[MailState, frozenset[MailState]] = {
    _S.WAITING: frozenset({_S.SENT, _S.LOGGED, _S.GIVEN_UP}),
    _S.SENT: frozenset(),
    _S.LOGGED: frozenset(),
    _S.GIVEN_UP: frozenset({_S.WAITING}),
}


class Mail(Base):
    """One mail to one person, about one or several notices. Written down before it is sent for the first time."""

    __tablename__ = "mails"
    __table_args__ = (
        CheckConstraint("(ended_at IS NULL) = (state = 'waiting')", name="ended_iff_final"),
        Index("ix_mails_user", "user_id", "created_at"),
        Index("ix_mails_waiting", "user_id", "created_at", "id", sqlite_where=_WAITING, postgresql_where=_WAITING),
        Index("ix_mails_ended", "ended_at"),
    )

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    address: Mapped[str] = mapped_column(String(ADDRESS_LIMIT))
    """As it was when the mail was written."""
    message_id: Mapped[str] = mapped_column(String(MESSAGE_ID_LIMIT))
    """The same each time it is sent, so that one that arrives twice is known to be the same."""
    subject: Mapped[str] = mapped_column(String(SUBJECT_LIMIT))
    body: Mapped[str] = mapped_column(Text)
    """Empty once it was sent: what was told is not kept twice. One that was given up keeps it, to be sent again."""
    notices: Mapped[int]
    """How many it tells of."""
    is_alarm: Mapped[bool] = mapped_column(server_default=false())
    """It tells of nothing but alarms: it is not counted among those of its hour."""
    state: Mapped[str] = mapped_column(String(10))
    tries: Mapped[int]
    words: Mapped[str] = mapped_column(String(WORDS_LIMIT))
    """What the server said last."""
    noticed_at: Mapped[datetime]
    """When the oldest of what it tells happened."""
    created_at: Mapped[datetime]
    tried_at: Mapped[datetime | None]
    next_try_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
