"""History: usage of attempts, telemetry of nodes and figures of the pool, in packed buckets

Revision ID: 0025
Revises: 0024
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "history",
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("subject", sa.String(length=40), nullable=False),
        sa.Column("start_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("step_seconds", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "subject", "start_at", name=op.f("pk_history")),
    )
    op.create_index("ix_history_age", "history", ["kind", "start_at"])
    op.create_index("ix_attempts_node", "attempts", ["node_id", "id"])


def downgrade() -> None:
    op.drop_index("ix_attempts_node", "attempts")
    op.drop_table("history")
