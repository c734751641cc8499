"""Disputes: cash-outs, disputes, vouchers

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

NOT_ENDED = sa.text("ended_at IS NULL")
OPEN = sa.text("state = 'open'")


def _instant(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _text(name: str, length: int, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.String(length=length), nullable=nullable)


def _big(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.BigInteger(), nullable=False)


def upgrade() -> None:
    """Nobody was paid out so far."""
    op.create_table(
        "cash_outs",
        _text("id", 40),
        _text("owner_id", 40),
        _big("micros"),
        _text("state", 10),
        _text("way", 10, nullable=True),
        _text("asked_by", 40),
        _text("decided_by", 40, nullable=True),
        _text("note", 500),
        _text("reference", 120, nullable=True),
        _big("returned_micros"),
        _instant("created_at"),
        _instant("approved_at", nullable=True),
        _instant("ended_at", nullable=True),
        sa.CheckConstraint("micros > 0", name=op.f("ck_cash_outs_moves_something")),
        sa.CheckConstraint("returned_micros BETWEEN 0 AND micros", name=op.f("ck_cash_outs_returns_what_was_paid")),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_cash_outs_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cash_outs")),
    )
    op.create_index("ix_cash_outs_owner", "cash_outs", ["owner_id", "id"])
    op.create_index("ix_cash_outs_open", "cash_outs", ["owner_id"], sqlite_where=NOT_ENDED, postgresql_where=NOT_ENDED)
    op.create_table(
        "held_back_jobs",
        _text("dispute_id", 40),
        _text("job_id", 40),
        sa.PrimaryKeyConstraint("dispute_id", "job_id", name=op.f("pk_held_back_jobs")),
    )
    op.create_index(op.f("ix_held_back_jobs_job_id"), "held_back_jobs", ["job_id"])
    _create_disputes()
    _create_vouchers()


def _create_disputes() -> None:
    op.create_table(
        "disputes",
        _text("id", 40),
        _text("kind", 10),
        _text("subject", 120),
        _text("job_id", 40, nullable=True),
        _text("owner_id", 40),
        _text("opened_by", 40),
        _text("reason", 2000),
        _text("state", 10),
        _text("outcome", 10, nullable=True),
        _text("bank", 10, nullable=True),
        _big("micros"),
        _big("refunded_micros"),
        _big("owed_micros"),
        _text("note", 400),
        _text("resolved_by", 40, nullable=True),
        _instant("opened_at"),
        _instant("resolved_at", nullable=True),
        sa.CheckConstraint("refunded_micros >= 0 AND owed_micros >= 0", name=op.f("ck_disputes_nothing_below_zero")),
        sa.CheckConstraint(
            "(resolved_at IS NOT NULL) = (state = 'resolved')", name=op.f("ck_disputes_resolved_iff_over")
        ),
        sa.CheckConstraint("(outcome IS NOT NULL) = (state = 'resolved')", name=op.f("ck_disputes_outcome_iff_over")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_disputes_job_id")),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_disputes_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_disputes")),
        sa.UniqueConstraint("subject", name=op.f("uq_disputes_subject")),
    )
    op.create_index("ix_disputes_owner", "disputes", ["owner_id", "id"])
    op.create_index("ix_disputes_open", "disputes", ["id"], sqlite_where=OPEN, postgresql_where=OPEN)


def _create_vouchers() -> None:
    op.create_table(
        "vouchers",
        _text("id", 40),
        _text("digest", 64),
        _big("micros"),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.Column("used", sa.Integer(), nullable=False),
        _instant("expires_at", nullable=True),
        _instant("withdrawn_at", nullable=True),
        _text("note", 500),
        _text("created_by", 40),
        _instant("created_at"),
        sa.CheckConstraint("micros > 0", name=op.f("ck_vouchers_gives_something")),
        sa.CheckConstraint("used BETWEEN 0 AND uses", name=op.f("ck_vouchers_used_as_often_as_allowed")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vouchers")),
        sa.UniqueConstraint("digest", name=op.f("uq_vouchers_digest")),
    )
    op.create_table(
        "voucher_redemptions",
        _text("voucher_id", 40),
        _text("user_id", 40),
        _instant("redeemed_at"),
        sa.ForeignKeyConstraint(["voucher_id"], ["vouchers.id"], name=op.f("fk_voucher_redemptions_voucher_id")),
        sa.ForeignKeyConstraint(["user_id"], ["owners.id"], name=op.f("fk_voucher_redemptions_user_id")),
        sa.PrimaryKeyConstraint("voucher_id", "user_id", name=op.f("pk_voucher_redemptions")),
    )


def downgrade() -> None:
    """Who asked for what is forgotten; the ledger keeps its entries."""
    for table in ("voucher_redemptions", "vouchers", "disputes", "held_back_jobs", "cash_outs"):
        op.drop_table(table)
