"""Policies of nodes as their agents tell them, and what owners ask of them through the hub

Revision ID: 0032
Revises: 0031
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

Json = sa.JSON().with_variant(postgresql.JSONB, "postgresql")


def upgrade() -> None:
    op.create_table(
        "node_policies",
        sa.Column("node_id", sa.String(40), nullable=False),
        sa.Column("report", Json, nullable=False),
        sa.Column("remote_edits", sa.Boolean(), nullable=False),
        sa.Column("paused", sa.String(8), nullable=True),
        sa.Column("reported_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name=op.f("fk_node_policies_node_id")),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_node_policies")),
    )
    op.create_table(
        "node_requests",
        sa.Column("node_id", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("body", Json, nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("reason", sa.String(1000), nullable=False),
        sa.Column("requested_by", sa.String(40), nullable=False),
        sa.Column("requested_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name=op.f("fk_node_requests_node_id")),
        sa.PrimaryKeyConstraint("node_id", "kind", name=op.f("pk_node_requests")),
    )


def downgrade() -> None:
    op.drop_table("node_requests")
    op.drop_table("node_policies")
