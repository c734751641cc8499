"""Storage price: what storage costs by owner and day. Budgets of checks: what a day's checks may cost

Revision ID: 0022
Revises: 0021
"""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

UNPAID = sa.text("paid_at IS NULL")
SUBSIDIZED = sa.text("real_micros + promotional_micros > 0")


def upgrade() -> None:
    """The budget of the current day keeps what its checks have used of it."""
    op.add_column("storage_usage", sa.Column("unpaid_since", sa.String(length=10), nullable=True))
    op.create_table(
        "storage_charges",
        sa.Column("owner_id", sa.String(length=40), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("free_bytes", sa.BigInteger(), nullable=False),
        sa.Column("price_micros", sa.BigInteger(), nullable=False),
        sa.Column("due_micros", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("paid_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("due_micros > 0", name=op.f("ck_storage_charges_costs_something")),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_storage_charges_owner_id")),
        sa.PrimaryKeyConstraint("owner_id", "day", name=op.f("pk_storage_charges")),
    )
    op.create_index(
        "ix_storage_charges_unpaid",
        "storage_charges",
        ["owner_id", "day"],
        sqlite_where=UNPAID,
        postgresql_where=UNPAID,
    )
    budgets = op.create_table(
        "check_budgets",
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("micros", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_check_budgets")),
    )
    checks = sa.table(
        "checks",
        sa.column("created_at", sa.DateTime(timezone=True)),
        sa.column("real_micros", sa.BigInteger()),
        sa.column("promotional_micros", sa.BigInteger()),
    )
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    used = sa.select(sa.func.sum(checks.c.real_micros + checks.c.promotional_micros))
    micros = op.get_bind().scalar(used.where(checks.c.created_at >= midnight))
    if micros:
        op.bulk_insert(budgets, [{"day": midnight.date().isoformat(), "micros": int(micros)}])
    op.drop_index("ix_checks_subsidized", "checks")


def downgrade() -> None:
    """Entries of the kind `storage` stay in the ledger."""
    op.create_index(
        "ix_checks_subsidized",
        "checks",
        ["created_at"],
        sqlite_where=SUBSIDIZED,
        postgresql_where=SUBSIDIZED,
    )
    op.drop_table("check_budgets")
    op.drop_index("ix_storage_charges_unpaid", "storage_charges")
    op.drop_table("storage_charges")
    op.drop_column("storage_usage", "unpaid_since")
