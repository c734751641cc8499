"""Benchmarks

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "benchmarks",
        sa.Column("node_id", sa.String(length=40), nullable=False),
        sa.Column("mark", sa.String(length=12), nullable=False),
        sa.Column("words", sa.String(length=500), nullable=False),
        sa.Column("tier_millis", sa.Integer(), nullable=False),
        sa.Column("tier_basis", sa.String(length=12), nullable=False),
        sa.Column("hardware", sa.String(length=64), nullable=False),
        sa.Column("figures", JSON, nullable=False),
        sa.Column("measured_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name=op.f("fk_benchmarks_node_id")),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_benchmarks")),
    )


def downgrade() -> None:
    """Every node is examined again after the next upgrade."""
    op.drop_table("benchmarks")
