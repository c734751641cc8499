"""Notices: what their readers should know, and what was read already

Revision ID: 0030
Revises: 0029
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

Json = sa.JSON().with_variant(postgresql.JSONB, "postgresql")
BigId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
UNREAD = sa.text("read_at IS NULL")


def upgrade() -> None:
    """They begin with what happens from now on."""
    op.create_table(
        "notices",
        sa.Column("id", BigId, autoincrement=True, nullable=False),
        sa.Column("owner_id", sa.String(40), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("action", sa.String(60), nullable=False),
        sa.Column("subject", sa.String(40), nullable=False),
        sa.Column("details", Json, nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notices")),
    )
    op.create_index("ix_notices_newest", "notices", ["owner_id", "id"])
    op.create_index("ix_notices_unread", "notices", ["owner_id", "id"], sqlite_where=UNREAD, postgresql_where=UNREAD)


def downgrade() -> None:
    op.drop_table("notices")
