"""Payments: what is asked of the processor, what it told, what moved, and where that differs from the ledger

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
WAITING = sa.text("state = 'waiting'")
RECEIVED = sa.text("state = 'received'")


def _instant(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _text(name: str, length: int | None, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.String(length=length), nullable=nullable)


def _big(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.BigInteger(), nullable=nullable)


def upgrade() -> None:
    """Nobody paid through a processor so far."""
    op.create_table(
        "provider_requests",
        _text("id", 40),
        _text("key", 120),
        _text("kind", 12),
        _text("owner_id", 40),
        sa.Column("params", JSON, nullable=False),
        _text("params_digest", 64),
        _text("state", 8),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        _instant("first_sent_at", nullable=True),
        sa.Column("is_doubtful", sa.Boolean(), nullable=False),
        _instant("next_try_at"),
        _text("object_id", 120, nullable=True),
        _text("words", 500),
        _instant("created_at"),
        _instant("ended_at", nullable=True),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_provider_requests_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_provider_requests")),
        sa.UniqueConstraint("key", name=op.f("uq_provider_requests_key")),
    )
    op.create_index(
        "ix_provider_requests_due",
        "provider_requests",
        ["next_try_at"],
        sqlite_where=WAITING,
        postgresql_where=WAITING,
    )
    op.create_index(op.f("ix_provider_requests_object_id"), "provider_requests", ["object_id"])
    op.create_table(
        "payment_events",
        _text("id", 120),
        _text("type", 80),
        _text("subject_kind", 12, nullable=True),
        _text("subject_id", 120, nullable=True),
        sa.Column("payload", JSON, nullable=False),
        _text("state", 8),
        sa.Column("tries", sa.Integer(), nullable=False),
        _instant("next_try_at"),
        _text("words", 500),
        _instant("received_at"),
        _instant("ended_at", nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_payment_events")),
    )
    op.create_index(
        "ix_payment_events_due", "payment_events", ["next_try_at"], sqlite_where=RECEIVED, postgresql_where=RECEIVED
    )
    op.create_index(op.f("ix_payment_events_state"), "payment_events", ["state"])
    op.create_index(op.f("ix_payment_events_subject_id"), "payment_events", ["subject_id"])
    _create_people()
    _create_books()


def _create_people() -> None:
    op.create_table(
        "top_ups",
        _text("id", 40),
        _text("owner_id", 40),
        _text("way", 10),
        _big("micros"),
        _big("minor"),
        _text("currency", 3),
        _text("state", 16),
        _text("url", None, nullable=True),
        _text("payment_id", 120, nullable=True),
        _text("words", 500),
        _instant("created_at"),
        _instant("ended_at", nullable=True),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_top_ups_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_top_ups")),
    )
    op.create_index("ix_top_ups_owner", "top_ups", ["owner_id", "id"])
    op.create_index(op.f("ix_top_ups_payment_id"), "top_ups", ["payment_id"])
    op.create_table(
        "payment_profiles",
        _text("owner_id", 40),
        _text("customer_id", 120, nullable=True),
        _text("method_id", 120, nullable=True),
        _text("card", 60, nullable=True),
        _text("plan", 10),
        _big("below_micros"),
        _big("amount_micros"),
        _big("monthly_micros"),
        _text("stopped", 500, nullable=True),
        _text("account_id", 120, nullable=True),
        _text("account_state", 12, nullable=True),
        _text("account_words", 500),
        _instant("changed_at"),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_payment_profiles_owner_id")),
        sa.PrimaryKeyConstraint("owner_id", name=op.f("pk_payment_profiles")),
    )
    op.create_index(op.f("ix_payment_profiles_account_id"), "payment_profiles", ["account_id"])
    op.create_index(op.f("ix_payment_profiles_plan"), "payment_profiles", ["plan"])


def _create_books() -> None:
    op.create_table(
        "payment_movements",
        _text("id", 120),
        _text("kind", 16),
        _text("subject_id", 120),
        _text("owner_id", 40),
        _big("minor"),
        _big("micros"),
        _text("currency", 3),
        _instant("happened_at"),
        _instant("noted_at"),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_payment_movements_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_payment_movements")),
    )
    op.create_index(op.f("ix_payment_movements_happened_at"), "payment_movements", ["happened_at"])
    op.create_index(op.f("ix_payment_movements_subject_id"), "payment_movements", ["subject_id"])
    op.create_table(
        "payment_reconciliations",
        sa.Column("id", BIG_ID, autoincrement=True, nullable=False),
        _instant("since"),
        _instant("until"),
        sa.Column("compared", sa.Integer(), nullable=False),
        sa.Column("differences", sa.Integer(), nullable=False),
        _instant("made_at"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_payment_reconciliations")),
    )
    op.create_index(op.f("ix_payment_reconciliations_until"), "payment_reconciliations", ["until"])
    op.create_table(
        "payment_differences",
        sa.Column("id", BIG_ID, autoincrement=True, nullable=False),
        _text("movement_id", 120),
        _text("kind", 16),
        _big("here_minor", nullable=True),
        _big("there_minor", nullable=True),
        _text("words", 500),
        _instant("found_at"),
        _instant("settled_at", nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_payment_differences")),
        sa.UniqueConstraint("movement_id", "kind", name=op.f("uq_payment_differences_movement_id_kind")),
    )
    op.create_index(op.f("ix_payment_differences_settled_at"), "payment_differences", ["settled_at"])


def downgrade() -> None:
    """What went through a processor is forgotten; the ledger keeps its entries."""
    op.drop_table("payment_differences")
    op.drop_table("payment_reconciliations")
    op.drop_table("payment_movements")
    op.drop_table("payment_profiles")
    op.drop_table("top_ups")
    op.drop_table("payment_events")
    op.drop_table("provider_requests")
