"""Daily totals, settings with their history, and indexes for the audit search

Revision ID: 0029
Revises: 0028
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB, "postgresql")
BIG_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
INDEXES = (
    ("ix_ledger_entries_newest", "ledger_entries", ["created_at"], None),
    ("ix_audit_actor", "audit", ["actor", "id"], "actor <> 'hub'"),
    ("ix_audit_action", "audit", ["action", "id"], None),
)


def upgrade() -> None:
    op.create_table(
        "daily_totals",
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("totals", JSON, nullable=False),
        sa.Column("counted_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_daily_totals")),
    )
    op.create_table(
        "setting_changes",
        sa.Column("id", BIG_ID, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("content", JSON, nullable=False),
        sa.Column("before", JSON, nullable=False),
        sa.Column("reason", sa.String(length=400), nullable=False),
        sa.Column("changed_by", sa.String(length=40), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_setting_changes")),
    )
    op.create_index("ix_setting_changes_name", "setting_changes", ["name", "id"])
    for name, table, columns, where in INDEXES:
        condition = sa.text(where) if where else None
        op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)


def downgrade() -> None:
    for name, table, _, _ in reversed(INDEXES):
        op.drop_index(name, table)
    op.drop_table("setting_changes")
    op.drop_table("daily_totals")
