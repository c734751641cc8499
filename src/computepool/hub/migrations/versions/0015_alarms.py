"""Alarms: mails that are not counted among those of an hour

Revision ID: 0015
Revises: 0014
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """What was sent in the last hour counts as it did."""
    op.add_column("mails", sa.Column("is_alarm", sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    op.drop_column("mails", "is_alarm")
