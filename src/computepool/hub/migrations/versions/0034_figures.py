"""Figures: jobs of a day are in daily_totals alone; job lists: an index for what failed, everybody's

Revision ID: 0034
Revises: 0033
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

UNSUCCESSFUL = sa.text("state IN ('canceled', 'failed')")


def upgrade() -> None:
    op.drop_index("ix_work_days_owner", "work_days")
    op.drop_table("job_days")
    op.create_index(
        "ix_jobs_everybodys_unsuccessful",
        "jobs",
        ["created_at", "id"],
        sqlite_where=UNSUCCESSFUL,
        postgresql_where=UNSUCCESSFUL,
    )


def downgrade() -> None:
    op.drop_index("ix_jobs_everybodys_unsuccessful", "jobs")
    op.create_table(
        "job_days",
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("submitted", sa.Integer(), nullable=False),
        sa.Column("succeeded", sa.Integer(), nullable=False),
        sa.Column("counted_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("day", "simulated", name=op.f("pk_job_days")),
    )
    op.create_index("ix_work_days_owner", "work_days", ["owner_id", "day"])
