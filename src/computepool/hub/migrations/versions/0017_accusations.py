"""Accusations that an admin decides, and what a check may pay

Revision ID: 0017
Revises: 0016
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_OPEN = sa.text("state = 'open'")
_SUBSIDIZED = sa.text("real_micros + promotional_micros > 0")
_SUBSIDIES = ("real_micros", "promotional_micros")


def upgrade() -> None:
    """Checks that are under way pay nothing for what they still ask: nobody wrote down what the checked slice paid."""
    for name in _SUBSIDIES:
        op.add_column("checks", sa.Column(name, sa.BigInteger(), server_default="0", nullable=False))
    op.create_index(
        "ix_checks_subsidized", "checks", ["created_at"], sqlite_where=_SUBSIDIZED, postgresql_where=_SUBSIDIZED
    )
    op.create_table(
        "accusations",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("check_id", sa.String(40), nullable=False),
        sa.Column("attempt_id", sa.String(40), nullable=False),
        sa.Column("node_id", sa.String(40), nullable=False),
        sa.Column("record_id", sa.String(40), nullable=False),
        sa.Column("owner_id", sa.String(40), nullable=False),
        sa.Column("proven", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("note", sa.String(500), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("decided_by", sa.String(40), nullable=True),
        sa.ForeignKeyConstraint(["check_id"], ["checks.id"], name=op.f("fk_accusations_check_id")),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name=op.f("fk_accusations_node_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accusations")),
    )
    op.create_index("ix_accusations_attempt", "accusations", ["check_id", "attempt_id"], unique=True)
    op.create_index("ix_accusations_node_id", "accusations", ["node_id"])
    op.create_index("ix_accusations_open", "accusations", ["record_id"], sqlite_where=_OPEN, postgresql_where=_OPEN)


def downgrade() -> None:
    op.drop_table("accusations")
    op.drop_index("ix_checks_subsidized", "checks")
    for name in _SUBSIDIES:
        op.drop_column("checks", name)
