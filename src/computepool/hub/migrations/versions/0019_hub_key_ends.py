"""Hub keys: who announced them, and when retired ones end

Revision ID: 0019
Revises: 0018
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Keys that were retired before end at the hub's next start."""
    op.add_column("hub_keys", sa.Column("announcement", sa.Text(), nullable=True))
    op.add_column("hub_keys", sa.Column("not_after", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("hub_keys", "not_after")
    op.drop_column("hub_keys", "announcement")
