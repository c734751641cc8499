"""Reputation

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
COUNTED = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
OPEN_CONTEST = sa.text("contested_at IS NOT NULL AND resolution IS NULL")


def upgrade() -> None:
    """Every node begins without a record: what it did before was not weighed."""
    op.add_column("nodes", sa.Column("record_id", sa.String(length=40), nullable=True))
    _follow_replacements()
    op.create_table(
        "reputations",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("good", sa.Double(), nullable=False),
        sa.Column("bad", sa.Double(), nullable=False),
        sa.Column("as_of", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ok_count", sa.Integer(), nullable=False),
        sa.Column("streak", sa.Integer(), nullable=False),
        sa.Column("clean", sa.Integer(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("quarantined_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("slots", sa.Integer(), nullable=True),
        sa.Column("slots_peak", sa.Integer(), nullable=False),
        sa.Column("slots_strikes", sa.Integer(), nullable=False),
        sa.Column("slots_clean", sa.Integer(), nullable=False),
        sa.Column("marked_by", sa.String(length=40), nullable=True),
        sa.Column("marked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("proven", sa.Boolean(), nullable=False),
        sa.Column("audited_ok", sa.Integer(), nullable=False),
        sa.Column("audited_wrong", sa.Integer(), nullable=False),
        sa.Column("first_seen", sa.DateTime(timezone=True), nullable=False),
        sa.Column("online_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("online_days", JSON, nullable=False),
        sa.ForeignKeyConstraint(["id"], ["nodes.id"], name=op.f("fk_reputations_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reputations")),
    )
    op.create_table(
        "reputation_events",
        sa.Column("id", COUNTED, autoincrement=True, nullable=False),
        sa.Column("record_id", sa.String(length=40), nullable=False),
        sa.Column("node_id", sa.String(length=40), nullable=False),
        sa.Column("attempt_id", sa.String(length=40), nullable=False),
        sa.Column("verdict", sa.String(length=12), nullable=False),
        sa.Column("reason", sa.String(length=24), nullable=False),
        sa.Column("weight", sa.Double(), nullable=False),
        sa.Column("crowd", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("contested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("contest_reason", sa.String(length=1000), nullable=True),
        sa.Column("resolution", sa.String(length=12), nullable=True),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("resolved_by", sa.String(length=40), nullable=True),
        sa.Column("resolution_note", sa.String(length=1000), nullable=True),
        sa.ForeignKeyConstraint(["record_id"], ["reputations.id"], name=op.f("fk_reputation_events_record_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reputation_events")),
    )
    with op.batch_alter_table("reputation_events") as batch_op:
        batch_op.create_index(batch_op.f("ix_reputation_events_attempt_id"), ["attempt_id"])
        batch_op.create_index("ix_reputation_events_newest", ["record_id", "id"])
        batch_op.create_index(
            "ix_reputation_events_contests", ["id"], sqlite_where=OPEN_CONTEST, postgresql_where=OPEN_CONTEST
        )


def downgrade() -> None:
    """Every node is a newcomer again after the next upgrade."""
    op.drop_table("reputation_events")
    op.drop_table("reputations")
    op.drop_column("nodes", "record_id")


def _follow_replacements() -> None:
    """A node that replaced others goes on with the record of the first of them."""
    bind = op.get_bind()
    rows = bind.execute(sa.text("SELECT id, replaces FROM nodes WHERE replaces IS NOT NULL"))
    before = {row.id: row.replaces for row in rows}
    for node_id in before:
        first = node_id
        while first in before:
            first = before[first]
        bind.execute(sa.text("UPDATE nodes SET record_id = :first WHERE id = :id"), {"first": first, "id": node_id})
