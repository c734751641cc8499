"""Node keys: the keys that nodes had before, and when a copy of a node was last refused

Revision ID: 0021
Revises: 0020
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nodes from before have had one key, and no copy."""
    op.create_table(
        "node_keys",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("node_id", sa.String(length=40), nullable=False),
        sa.Column("sign_key", sa.String(length=64), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name=op.f("fk_node_keys_node_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node_keys")),
    )
    op.create_index(op.f("ix_node_keys_node_id"), "node_keys", ["node_id"])
    op.add_column("nodes", sa.Column("clone_seen_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("nodes", sa.Column("clone_instance_id", sa.String(length=80), nullable=True))
    op.add_column("nodes", sa.Column("clone_told_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    for name in ("clone_told_at", "clone_instance_id", "clone_seen_at"):
        op.drop_column("nodes", name)
    op.drop_table("node_keys")
