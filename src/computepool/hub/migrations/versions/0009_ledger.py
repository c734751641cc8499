"""The ledger: entries and postings that nobody can change, balances, holds, and what attempts cost

Revision ID: 0009
Revises: 0008
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEPT = ("ledger_entries", "ledger_postings")
MOST_BALANCE = 2**62
OPEN = sa.text("resolved_at IS NULL")
MORE = sa.text("resolved_at IS NULL AND NOT is_last")


def upgrade() -> None:
    """Everybody begins with nothing: what ran before was free."""
    op.create_table(
        "ledger_entries",
        sa.Column("id", BIG_ID, autoincrement=True, nullable=False),
        sa.Column("key", sa.String(length=120), nullable=False),
        sa.Column("kind", sa.String(length=24), nullable=False),
        sa.Column("actor", sa.String(length=40), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=True),
        sa.Column("attempt_id", sa.String(length=40), nullable=True),
        sa.Column("note", sa.String(length=500), nullable=False),
        sa.Column("details", JSON, nullable=False),
        sa.Column("reverses", BIG_ID, nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["reverses"], ["ledger_entries.id"], name=op.f("fk_ledger_entries_reverses")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger_entries")),
        sa.UniqueConstraint("key", name=op.f("uq_ledger_entries_key")),
    )
    op.create_index("ix_ledger_entries_job", "ledger_entries", ["job_id", "id"])
    op.create_index(op.f("ix_ledger_entries_attempt_id"), "ledger_entries", ["attempt_id"])
    op.create_index(op.f("ix_ledger_entries_reverses"), "ledger_entries", ["reverses"])
    op.create_table(
        "ledger_postings",
        sa.Column("entry_id", BIG_ID, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("source", sa.String(length=60), nullable=False),
        sa.Column("destination", sa.String(length=60), nullable=False),
        sa.Column("micros", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("micros > 0", name=op.f("ck_ledger_postings_moves_something")),
        sa.CheckConstraint("source <> destination", name=op.f("ck_ledger_postings_between_two")),
        sa.ForeignKeyConstraint(["entry_id"], ["ledger_entries.id"], name=op.f("fk_ledger_postings_entry_id")),
        sa.PrimaryKeyConstraint("entry_id", "number", name=op.f("pk_ledger_postings")),
    )
    op.create_index("ix_ledger_postings_source", "ledger_postings", ["source", "entry_id"])
    op.create_index("ix_ledger_postings_destination", "ledger_postings", ["destination", "entry_id"])
    op.create_table(
        "ledger_balances",
        sa.Column("account", sa.String(length=60), nullable=False),
        sa.Column("shard", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("micros", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            f"micros BETWEEN {-MOST_BALANCE} AND {MOST_BALANCE}", name=op.f("ck_ledger_balances_counts_exactly")
        ),
        sa.PrimaryKeyConstraint("account", "shard", name=op.f("pk_ledger_balances")),
    )
    op.create_table(
        "ledger_holds",
        sa.Column("attempt_id", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("owner_id", sa.String(length=40), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("slice_index", sa.Integer(), nullable=False),
        sa.Column("promotional", sa.BigInteger(), nullable=False),
        sa.Column("available", sa.BigInteger(), nullable=False),
        sa.Column("earnings", sa.BigInteger(), nullable=False),
        sa.Column("price_micros", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Integer(), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("is_last", sa.Boolean(), nullable=False),
        sa.Column("spent_micros", sa.BigInteger(), nullable=False),
        sa.Column("paid_seconds", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "promotional >= 0 AND available >= 0 AND earnings >= 0", name=op.f("ck_ledger_holds_nothing_below_zero")
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_ledger_holds_owner_id")),
        sa.PrimaryKeyConstraint("attempt_id", "number", name=op.f("pk_ledger_holds")),
    )
    op.create_index("ix_ledger_holds_slice", "ledger_holds", ["job_id", "slice_index"])
    op.create_index("ix_ledger_holds_open", "ledger_holds", ["owner_id"], sqlite_where=OPEN, postgresql_where=OPEN)
    op.create_index("ix_ledger_holds_more", "ledger_holds", ["attempt_id"], sqlite_where=MORE, postgresql_where=MORE)
    for column in _new_columns_of_attempts():
        op.add_column("attempts", column)
    _forbid_changes()


def _new_columns_of_attempts() -> list[sa.Column[Any]]:
    return [
        sa.Column("terms", JSON, nullable=True),
        sa.Column("exited_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("rested_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("rested_seconds", sa.Double(), server_default="0", nullable=False),
        sa.Column("settled_seconds", sa.Integer(), server_default="0", nullable=False),
        sa.Column("billed_seconds", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cost_micros", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("earned_micros", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("leave_for", sa.String(length=12), nullable=True),
    ]


def _forbid_changes() -> None:
    """Whatever the code does: what is in the ledger stays as it was written."""
    if op.get_bind().dialect.name == "sqlite":
        for table in KEPT:
            for change in ("UPDATE", "DELETE"):
                op.execute(
                    f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} "
                    "BEGIN SELECT RAISE(ABORT, 'the ledger is never changed, only reversed'); END"
                )
        return
    op.execute(
        "CREATE FUNCTION ledger_is_never_changed() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the ledger is never changed, only reversed'; END $$"
    )
    for table in KEPT:
        op.execute(
            f"CREATE TRIGGER {table}_is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_never_changed()"
        )


def downgrade() -> None:
    """All money is forgotten."""
    for column in reversed(_new_columns_of_attempts()):
        op.drop_column("attempts", column.name)
    op.drop_table("ledger_holds")
    op.drop_table("ledger_balances")
    op.drop_table("ledger_postings")
    op.drop_table("ledger_entries")
    if op.get_bind().dialect.name != "sqlite":
        op.execute("DROP FUNCTION ledger_is_never_changed()")
