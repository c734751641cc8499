"""Restitution: what hosts owe renters

Revision ID: 0012
Revises: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

OPEN = sa.text("owed_micros > 0")


def _text(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.String(length=40), nullable=False)


def _big(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.BigInteger(), nullable=False)


def upgrade() -> None:
    """Nothing is owed to anybody so far: until now the pool paid what hosts had spent."""
    op.create_table(
        "ledger_claims",
        _text("attempt_id"),
        _text("job_id"),
        _text("host_id"),
        _text("renter_id"),
        _big("owed_micros"),
        _big("paid_micros"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("owed_micros >= 0 AND paid_micros >= 0", name=op.f("ck_ledger_claims_nothing_below_zero")),
        sa.PrimaryKeyConstraint("attempt_id", name=op.f("pk_ledger_claims")),
    )
    columns = {"ix_ledger_claims_host": ["host_id", "created_at"], "ix_ledger_claims_renter": ["renter_id"]}
    for name, of in columns.items():
        op.create_index(name, "ledger_claims", of, sqlite_where=OPEN, postgresql_where=OPEN)


def downgrade() -> None:
    """Who is owed what is forgotten; the ledger keeps its entries, and the account what it has."""
    op.drop_table("ledger_claims")
