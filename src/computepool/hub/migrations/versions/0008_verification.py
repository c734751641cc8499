"""Verification: replicas, audits, and what guilty nodes have to give back

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
ID = sa.String(length=40)
OPEN = sa.text("state = 'open'")
RERUN = sa.text("rerun_of IS NOT NULL")


def upgrade() -> None:
    """What ran before is audited by nobody."""
    op.add_column("jobs", sa.Column("role", sa.String(length=12), nullable=True))
    op.add_column("jobs", sa.Column("rerun_of", ID, nullable=True))
    op.add_column("jobs", sa.Column("rerun", JSON, nullable=True))
    op.create_index("ix_jobs_reruns", "jobs", ["rerun_of"], sqlite_where=RERUN, postgresql_where=RERUN)
    op.add_column("slices", sa.Column("awaits_check", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("slices", sa.Column("result_attempt", ID, nullable=True))
    op.create_table(
        "checks",
        sa.Column("id", ID, nullable=False),
        sa.Column("subject", sa.String(length=80), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("job_id", ID, nullable=False),
        sa.Column("slice_index", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("spec_digest", sa.String(length=80), nullable=False),
        sa.Column("asked", sa.Integer(), nullable=False),
        sa.Column("attempt_id", ID, nullable=True),
        sa.Column("node_id", ID, nullable=True),
        sa.Column("owner_id", ID, nullable=True),
        sa.Column("digest", sa.String(length=80), nullable=True),
        sa.Column("expected", sa.String(length=80), nullable=True),
        sa.Column("given_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("detail", sa.String(length=500), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_checks_job_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_checks")),
        sa.UniqueConstraint("subject", name=op.f("uq_checks_subject")),
    )
    op.create_index("ix_checks_slice", "checks", ["job_id", "slice_index"])
    op.create_index("ix_checks_open", "checks", ["id"], sqlite_where=OPEN, postgresql_where=OPEN)
    op.create_index(op.f("ix_checks_node_id"), "checks", ["node_id"])
    op.create_index(op.f("ix_checks_spec_digest"), "checks", ["spec_digest"])
    op.create_table(
        "check_results",
        sa.Column("check_id", ID, nullable=False),
        sa.Column("attempt_id", ID, nullable=False),
        sa.Column("job_id", ID, nullable=False),
        sa.Column("node_id", ID, nullable=False),
        sa.Column("owner_id", ID, nullable=False),
        sa.Column("digest", sa.String(length=80), nullable=False),
        sa.Column("exit_code", sa.Integer(), nullable=False),
        sa.Column("may_judge", sa.Boolean(), nullable=False),
        sa.Column("gpu_class", sa.String(length=200), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["check_id"], ["checks.id"], name=op.f("fk_check_results_check_id")),
        sa.PrimaryKeyConstraint("check_id", "attempt_id", name=op.f("pk_check_results")),
    )
    op.create_table(
        "audit_records",
        sa.Column("id", ID, nullable=False),
        sa.Column("valid_in_a_row", sa.Integer(), nullable=False),
        sa.Column("guilty", sa.Integer(), nullable=False),
        sa.Column("last_valid_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["id"], ["nodes.id"], name=op.f("fk_audit_records_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_records")),
    )
    op.create_table(
        "clawbacks",
        sa.Column("attempt_id", ID, nullable=False),
        sa.Column("check_id", ID, nullable=False),
        sa.Column("node_id", ID, nullable=False),
        sa.Column("host_id", ID, nullable=False),
        sa.Column("renter_id", ID, nullable=False),
        sa.Column("micros", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["check_id"], ["checks.id"], name=op.f("fk_clawbacks_check_id")),
        sa.PrimaryKeyConstraint("attempt_id", name=op.f("pk_clawbacks")),
    )
    op.create_index(op.f("ix_clawbacks_check_id"), "clawbacks", ["check_id"])
    op.create_index(op.f("ix_clawbacks_node_id"), "clawbacks", ["node_id"])


def downgrade() -> None:
    """Replicas and reruns that are left are jobs like any other then, and a result that waits for others never ends."""
    for table in ("clawbacks", "audit_records", "check_results", "checks"):
        op.drop_table(table)
    op.drop_column("slices", "result_attempt")
    op.drop_column("slices", "awaits_check")
    op.drop_index("ix_jobs_reruns", "jobs")
    for column in ("rerun", "rerun_of", "role"):
        op.drop_column("jobs", column)
