"""Declines: how often a node declined what it was offered, and until when it is not asked

Revision ID: 0018
Revises: 0017
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nobody has declined anything yet."""
    op.add_column("reputations", sa.Column("declines", sa.Integer(), server_default="0", nullable=False))
    op.add_column("reputations", sa.Column("declined_until", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("reputations", "declined_until")
    op.drop_column("reputations", "declines")
