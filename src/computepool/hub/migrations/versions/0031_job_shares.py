"""Job shares: links by which everybody can see a job

Revision ID: 0031
Revises: 0030
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "job_shares",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("with_logs", sa.Boolean(), nullable=False),
        sa.Column("with_outputs", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_shares_job_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_shares")),
        sa.UniqueConstraint("hash", name=op.f("uq_job_shares_hash")),
    )
    op.create_index(op.f("ix_job_shares_job_id"), "job_shares", ["job_id"])


def downgrade() -> None:
    op.drop_table("job_shares")
