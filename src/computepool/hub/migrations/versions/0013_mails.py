"""Mails: what is sent to people, and a way to find what they are to be told

Revision ID: 0013
Revises: 0012
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

MAIL_TOPICS = sa.text("substr(topic, 1, 5) = 'mail/'")
WAITING = sa.text("state = 'waiting'")


def _instant(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _text(name: str, length: int) -> sa.Column[object]:
    return sa.Column(name, sa.String(length=length), nullable=False)


def upgrade() -> None:
    """Notices of the last days that nobody sent are in the outbox: they are sent now."""
    op.create_index(
        "ix_outbox_mails", "outbox", ["topic", "id"], sqlite_where=MAIL_TOPICS, postgresql_where=MAIL_TOPICS
    )
    op.create_table(
        "mails",
        _text("id", 40),
        _text("user_id", 40),
        _text("address", 320),
        _text("message_id", 320),
        _text("subject", 160),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("notices", sa.Integer(), nullable=False),
        _text("state", 10),
        sa.Column("tries", sa.Integer(), nullable=False),
        _text("words", 500),
        _instant("noticed_at"),
        _instant("created_at"),
        _instant("tried_at", nullable=True),
        _instant("next_try_at"),
        _instant("ended_at", nullable=True),
        sa.CheckConstraint("(ended_at IS NULL) = (state = 'waiting')", name=op.f("ck_mails_ended_iff_final")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_mails_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mails")),
    )
    op.create_index("ix_mails_user", "mails", ["user_id", "created_at"])
    op.create_index(
        "ix_mails_waiting", "mails", ["user_id", "created_at", "id"], sqlite_where=WAITING, postgresql_where=WAITING
    )
    op.create_index("ix_mails_ended", "mails", ["ended_at"])


def downgrade() -> None:
    """What was not sent is forgotten."""
    op.drop_table("mails")
    op.drop_index("ix_outbox_mails", "outbox")
