"""Own jobs: the submitter's signature under a job

Revision ID: 0020
Revises: 0019
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Jobs from before are not signed."""
    op.add_column("jobs", sa.Column("own_job", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("jobs", "own_job")
