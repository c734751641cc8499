"""Join tokens that can be listed and revoked, and which node came with which

Revision ID: 0026
Revises: 0025
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """How often an earlier token was used is not known: it counts as made for what it had left."""
    op.add_column("join_tokens", sa.Column("uses", sa.Integer(), server_default="1", nullable=False))
    op.add_column("join_tokens", sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True))
    op.execute("UPDATE join_tokens SET uses = uses_left WHERE uses_left > 1")
    op.add_column("nodes", sa.Column("join_token_id", sa.String(40), nullable=True))
    op.create_index("ix_nodes_join_token_id", "nodes", ["join_token_id"])


def downgrade() -> None:
    op.drop_index("ix_nodes_join_token_id", "nodes")
    op.drop_column("nodes", "join_token_id")
    op.drop_column("join_tokens", "revoked_at")
    op.drop_column("join_tokens", "uses")
