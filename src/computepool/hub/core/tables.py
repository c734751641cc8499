"""The base of all tables, and those that no feature owns."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Index, Integer, MetaData, String, TypeDecorator, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

Id = String(40)
BigId = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts rows by itself only in a column that is exactly INTEGER."""
Json = JSON().with_variant(postgresql.JSONB, "postgresql")
MAIL_TOPICS = "substr(topic, 1, 5) = 'mail/'"
"""In the outbox: notices for people (`core.notices`). A query that says it in these words finds them by their index."""
STREAM_TOPICS = "substr(topic, 1, 5) <> 'mail/'"
"""In the outbox: all others, which event streams are resumed from."""

OF_EVERY_JOB = ("attempt.leased", "attempt.running", "attempt.succeeded", "job.submitted", "job.succeeded")
"""In the audit: actions that every job records. Most records are of these."""
OF_FEW_JOBS = f"action NOT IN {OF_EVERY_JOB}"
BY_PEOPLE = "actor <> 'hub' AND substr(actor, 1, 5) <> 'node_'"
"""In the audit: all other actions, and what was done neither by the hub nor by a node. A query that says it in these
words finds them by their index. The rest has none, as each index costs every job a page a commit."""


UNREAD = "read_at IS NULL"


class Instant(TypeDecorator[datetime]):
    """An instant in UTC. SQLite keeps no zone, so it is put back on the way out."""

    impl = DateTime(timezone=True)
    cache_ok = True

    @property
    def python_type(self) -> type[datetime]:
        """For cursors of lists that are sorted by it."""
        return datetime

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("an instant without a zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: Instant(), dict[str, Any]: Json, list[str]: Json}  # noqa: RUF012 (SQLAlchemy's own)


class HubFact(Base):
    """Few facts about this hub as a whole: its id, its fence epoch."""

    __tablename__ = "hub_facts"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[str]


class OutboxRow(Base):
    """What others must hear of, written in the transaction that caused it."""

    __tablename__ = "outbox"
    __table_args__ = (
        # Few rows are in it, and none for long: whoever sends mails finds them among all the other news.
        Index("ix_outbox_mails", "topic", "id", sqlite_where=text(MAIL_TOPICS), postgresql_where=text(MAIL_TOPICS)),
        Index(
            "ix_outbox_streams", "topic", "id", sqlite_where=text(STREAM_TOPICS), postgresql_where=text(STREAM_TOPICS)
        ),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    topic: Mapped[str] = mapped_column(String(120))
    payload: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    """Grows with the id, which therefore serves as its index."""


class AuditRow(Base):
    """Who did what to which object. Only inserted; a later sealer chains the rows by hash."""

    __tablename__ = "audit"
    __table_args__ = (
        Index("ix_audit_actor", "actor", "id", sqlite_where=text(BY_PEOPLE), postgresql_where=text(BY_PEOPLE)),
        Index("ix_audit_action", "action", "id", sqlite_where=text(OF_FEW_JOBS), postgresql_where=text(OF_FEW_JOBS)),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    at: Mapped[datetime]
    actor: Mapped[str] = mapped_column(Id)
    """A user's or node's id, or `hub`."""
    action: Mapped[str] = mapped_column(String(60))
    subject: Mapped[str] = mapped_column(Id, index=True)
    details: Mapped[dict[str, Any]]


class NoticeRow(Base):
    """Something that its owner should know. Its words are made when it is read (`hub/mail/notice_feed.py`)."""

    __tablename__ = "notices"
    __table_args__ = (
        Index("ix_notices_newest", "owner_id", "id"),
        Index("ix_notices_unread", "owner_id", "id", sqlite_where=text(UNREAD), postgresql_where=text(UNREAD)),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    owner_id: Mapped[str] = mapped_column(Id)
    at: Mapped[datetime]
    action: Mapped[str] = mapped_column(String(60))
    subject: Mapped[str] = mapped_column(Id)
    details: Mapped[dict[str, Any]]
    read_at: Mapped[datetime | None]
