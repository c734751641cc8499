"""Storage: what each owner has stored, and jobs whose logs and outputs are deleted

Revision ID: 0016
Revises: 0015
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

CHECKPOINT = sa.text("job_id IS NOT NULL AND state <> 'abandoned'")
LEAVING = sa.text("deleted_at IS NOT NULL AND logs_removed_at IS NULL")
JOB_COLUMNS = ("deleted_at", "logs_removed_at", "outputs_removed_at")


def upgrade() -> None:
    """What is there already is counted. Files of checkpoints that are there already belong to no slice: they are not
    shared with new ones, and go as they did."""
    op.create_table(
        "storage_usage",
        sa.Column("owner_id", sa.String(length=40), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("objects", sa.BigInteger(), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=True),
        sa.Column("day_bytes", sa.BigInteger(), nullable=False),
        sa.Column("limit_bytes", sa.BigInteger(), nullable=True),
        sa.Column("limit_objects", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_storage_usage_owner_id")),
        sa.PrimaryKeyConstraint("owner_id", name=op.f("pk_storage_usage")),
    )
    op.add_column("artifacts", sa.Column("slice_index", sa.Integer(), nullable=True))
    op.add_column("artifacts", sa.Column("freed_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_artifacts_owner_newest", "artifacts", ["owner_id", "id"])
    op.drop_index("uq_artifacts_job_id_digest", "artifacts")
    op.create_index(
        "uq_artifacts_job_id_slice_index_digest",
        "artifacts",
        ["job_id", "slice_index", "digest"],
        unique=True,
        sqlite_where=CHECKPOINT,
        postgresql_where=CHECKPOINT,
    )
    for name in JOB_COLUMNS:
        op.add_column("jobs", sa.Column(name, sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_jobs_leaving", "jobs", ["id"], sqlite_where=LEAVING, postgresql_where=LEAVING)
    op.execute(
        """
        INSERT INTO storage_usage (owner_id, bytes, objects, day_bytes)
        SELECT owner_id, SUM(size_bytes), COUNT(*), 0 FROM (
            SELECT owner_id, size_bytes FROM artifacts
            UNION ALL
            SELECT jobs.owner_id, attempts.log_bytes FROM attempts JOIN jobs ON jobs.id = attempts.job_id
            WHERE attempts.log_bytes > 0
        ) AS stored GROUP BY owner_id
        """
    )


def downgrade() -> None:
    """Jobs that were deleted are listed again, without their logs and outputs. Of files of checkpoints that several
    slices saved, one is kept: the attempts that would need another begin again."""
    op.drop_index("ix_jobs_leaving", "jobs")
    for name in JOB_COLUMNS:
        op.drop_column("jobs", name)
    op.drop_index("uq_artifacts_job_id_slice_index_digest", "artifacts")
    op.execute(
        """
        DELETE FROM artifacts WHERE kind = 'checkpoint' AND state <> 'abandoned' AND EXISTS (
            SELECT 1 FROM artifacts AS other WHERE other.job_id = artifacts.job_id
            AND other.digest = artifacts.digest AND other.state <> 'abandoned' AND other.id > artifacts.id
        )
        """
    )
    op.create_index(
        "uq_artifacts_job_id_digest",
        "artifacts",
        ["job_id", "digest"],
        unique=True,
        sqlite_where=CHECKPOINT,
        postgresql_where=CHECKPOINT,
    )
    op.drop_index("ix_artifacts_owner_newest", "artifacts")
    op.drop_column("artifacts", "freed_at")
    op.drop_column("artifacts", "slice_index")
    op.drop_table("storage_usage")
