"""Browser sessions: where and how somebody signed in, what asks for a device login, and which mails are wanted

Revision ID: 0024
Revises: 0023
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

Json = sa.JSON().with_variant(postgresql.JSONB, "postgresql")


COLUMNS = (
    ("sessions", "address", 64),
    ("sessions", "method", 16),
    ("device_logins", "user_agent", 200),
    ("device_logins", "address", 64),
)


def upgrade() -> None:
    """Of sessions and device logins from before it is not known. Everybody gets the mails that they got."""
    for table, column, length in COLUMNS:
        op.add_column(table, sa.Column(column, sa.String(length), nullable=True))
    op.add_column("users", sa.Column("muted_mails", Json, server_default="[]", nullable=False))


def downgrade() -> None:
    op.drop_column("users", "muted_mails")
    for table, column, _ in COLUMNS:
        op.drop_column(table, column)
