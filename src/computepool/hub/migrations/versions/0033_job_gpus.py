"""Job lists: one owner's jobs with a model of GPU in their order

Revision ID: 0033
Revises: 0032
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

WHICH = sa.text("gpu IS NOT NULL")


def upgrade() -> None:
    op.drop_index("ix_jobs_gpu", "jobs")
    columns = ["gpu", "owner_id", "created_at", "id"]
    op.create_index("ix_jobs_gpu", "jobs", columns, sqlite_where=WHICH, postgresql_where=WHICH)


def downgrade() -> None:
    op.drop_index("ix_jobs_gpu", "jobs")
    op.create_index("ix_jobs_gpu", "jobs", ["gpu", "created_at", "id"], sqlite_where=WHICH, postgresql_where=WHICH)
