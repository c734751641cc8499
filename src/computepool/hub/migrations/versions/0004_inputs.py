"""Inputs, and what an image's name meant

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.add_column("jobs", sa.Column("inputs", JSON, nullable=True))
    op.add_column("jobs", sa.Column("image_digest", sa.String(length=80), nullable=True))


def downgrade() -> None:
    """Jobs with inputs that are still open would run without them: cancel them first."""
    op.drop_column("jobs", "image_digest")
    op.drop_column("jobs", "inputs")
