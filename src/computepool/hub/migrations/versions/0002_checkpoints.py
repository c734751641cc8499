"""Checkpoints

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
ONCE_SHARED = sa.text("attempt_id IS NULL AND state <> 'abandoned'")
SHARED = sa.text("attempt_id IS NULL AND job_id IS NULL AND state <> 'abandoned'")
CHECKPOINT = sa.text("job_id IS NOT NULL AND state <> 'abandoned'")


def upgrade() -> None:
    op.create_table(
        "checkpoints",
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("slice_index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt_id", sa.String(length=40), nullable=False),
        sa.Column("content", JSON, nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("running_seconds", sa.Double(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id", "slice_index"], ["slices.job_id", "slices.index"], name="fk_checkpoints_slice"
        ),
        sa.PrimaryKeyConstraint("job_id", "slice_index", "number", name=op.f("pk_checkpoints")),
    )
    op.add_column("attempts", sa.Column("resumed_from", sa.Integer(), nullable=True))
    with op.batch_alter_table("artifacts") as batch_op:
        batch_op.drop_index("uq_artifacts_owner_id_digest")
    with op.batch_alter_table("artifacts") as batch_op:
        batch_op.add_column(sa.Column("job_id", sa.String(length=40), nullable=True))
        batch_op.alter_column("kind", existing_type=sa.String(length=8), type_=sa.String(length=12), nullable=False)
        batch_op.create_check_constraint(
            op.f("ck_artifacts_job_iff_checkpoint"), "(kind = 'checkpoint') = (job_id IS NOT NULL)"
        )
    with op.batch_alter_table("artifacts") as batch_op:
        batch_op.create_index(
            "uq_artifacts_owner_id_digest",
            ["owner_id", "digest"],
            unique=True,
            sqlite_where=SHARED,
            postgresql_where=SHARED,
        )
        batch_op.create_index(
            "uq_artifacts_job_id_digest",
            ["job_id", "digest"],
            unique=True,
            sqlite_where=CHECKPOINT,
            postgresql_where=CHECKPOINT,
        )


def downgrade() -> None:
    """What was saved is gone: the attempts that follow begin again."""
    op.execute("DELETE FROM artifacts WHERE kind = 'checkpoint'")
    with op.batch_alter_table("artifacts") as batch_op:
        batch_op.drop_index("uq_artifacts_job_id_digest")
        batch_op.drop_index("uq_artifacts_owner_id_digest")
    with op.batch_alter_table("artifacts") as batch_op:
        batch_op.drop_constraint(op.f("ck_artifacts_job_iff_checkpoint"), type_="check")
        batch_op.alter_column("kind", existing_type=sa.String(length=12), type_=sa.String(length=8), nullable=False)
        batch_op.drop_column("job_id")
    with op.batch_alter_table("artifacts") as batch_op:
        batch_op.create_index(
            "uq_artifacts_owner_id_digest",
            ["owner_id", "digest"],
            unique=True,
            sqlite_where=ONCE_SHARED,
            postgresql_where=ONCE_SHARED,
        )
    op.drop_column("attempts", "resumed_from")
    op.drop_table("checkpoints")
