"""Fair share: what attempts occupy, what renters spent, their limits, and jobs that run some slices of another again

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """What was used before is not known, and counts for nothing."""
    op.add_column("jobs", sa.Column("slice_indices", JSON, nullable=True))
    op.add_column("attempts", sa.Column("weight", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("attempts", sa.Column("leave_asked_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "spending",
        sa.Column("owner_id", sa.String(length=40), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("micros", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_spending_owner_id")),
        sa.PrimaryKeyConstraint("owner_id", "day", name=op.f("pk_spending")),
    )
    op.create_table(
        "owner_limits",
        sa.Column("owner_id", sa.String(length=40), nullable=False),
        sa.Column("slices", sa.Integer(), nullable=True),
        sa.Column("hourly_micros", sa.BigInteger(), nullable=True),
        sa.Column("daily_micros", sa.BigInteger(), nullable=True),
        sa.Column("monthly_micros", sa.BigInteger(), nullable=True),
        sa.Column("changed_by", sa.String(length=40), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_owner_limits_owner_id")),
        sa.PrimaryKeyConstraint("owner_id", name=op.f("pk_owner_limits")),
    )


def downgrade() -> None:
    """Limits of single renters are gone. A job that runs only some slices is taken for one with fewer slices."""
    op.drop_table("owner_limits")
    op.drop_table("spending")
    op.drop_column("attempts", "leave_asked_at")
    op.drop_column("attempts", "weight")
    op.drop_column("jobs", "slice_indices")
