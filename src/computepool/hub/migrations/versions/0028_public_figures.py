"""Public names, and roll-ups of jobs and work by day

Revision ID: 0028
Revises: 0027
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "public_names",
        sa.Column("user_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("key", sa.String(length=96), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_public_names_user_id")),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_public_names")),
        sa.UniqueConstraint("key", name=op.f("uq_public_names_key")),
    )
    op.create_table(
        "job_days",
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("submitted", sa.Integer(), nullable=False),
        sa.Column("succeeded", sa.Integer(), nullable=False),
        sa.Column("counted_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("day", "simulated", name=op.f("pk_job_days")),
    )
    op.create_table(
        "work_days",
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("owner_id", sa.String(length=40), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("slices", sa.Integer(), nullable=False),
        sa.Column("gpu_seconds", sa.BigInteger(), nullable=False),
        sa.Column("core_seconds", sa.BigInteger(), nullable=False),
        sa.Column("earned_micros", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_work_days_owner_id")),
        sa.PrimaryKeyConstraint("day", "owner_id", "simulated", name=op.f("pk_work_days")),
    )
    op.create_index("ix_work_days_owner", "work_days", ["owner_id", "day"])
    op.create_index("ix_attempts_finished", "attempts", ["finished_at"])


def downgrade() -> None:
    op.drop_index("ix_attempts_finished", "attempts")
    op.drop_table("work_days")
    op.drop_table("job_days")
    op.drop_table("public_names")
