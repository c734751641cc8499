"""Job lists: what they are filtered and ordered by, as columns and indexes

Revision ID: 0027
Revises: 0026
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

ORDERS = {
    "ix_jobs_owner_created": ["owner_id", "created_at", "id"],
    "ix_jobs_created": ["created_at", "id"],
    "ix_jobs_owner_finished": ["owner_id", "finished_at", "id"],
    "ix_jobs_finished": ["finished_at", "id"],
    "ix_jobs_owner_cost": ["owner_id", "cost_micros", "id"],
    "ix_jobs_owner_name": ["owner_id", "name", "id"],
}
FEW = {
    "ix_jobs_open": (["owner_id", "created_at", "id"], "state IN ('queued', 'running')"),
    "ix_jobs_unsuccessful": (["owner_id", "created_at", "id"], "state IN ('canceled', 'failed')"),
    "ix_jobs_simulated": (["owner_id", "created_at", "id"], "simulated"),
    "ix_jobs_gpu": (["gpu", "created_at", "id"], "gpu IS NOT NULL"),
    "ix_jobs_retries": (["retry_of", "created_at", "id"], "retry_of IS NOT NULL"),
}
FILL_SQLITE = """
    UPDATE jobs SET
        gpu = substr(json_extract(spec, '$.resources.gpu.name'), 1, 64),
        simulated = EXISTS (SELECT 1 FROM json_each(spec, '$.where.tags') AS tag WHERE tag.value = 'simulated'),
        cost_micros = (SELECT coalesce(sum(cost_micros), 0) FROM attempts WHERE attempts.job_id = jobs.id)
"""
FILL_POSTGRESQL = """
    UPDATE jobs SET
        gpu = substr(spec #>> '{resources,gpu,name}', 1, 64),
        simulated = coalesce(spec #> '{where,tags}' @> '["simulated"]', false),
        cost_micros = (SELECT coalesce(sum(cost_micros), 0) FROM attempts WHERE attempts.job_id = jobs.id)
"""


def upgrade() -> None:
    op.add_column("jobs", sa.Column("gpu", sa.String(length=64), nullable=True))
    op.add_column("jobs", sa.Column("simulated", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("jobs", sa.Column("cost_micros", sa.BigInteger(), server_default="0", nullable=False))
    op.execute(FILL_SQLITE if op.get_bind().dialect.name == "sqlite" else FILL_POSTGRESQL)
    op.drop_index("ix_jobs_owner_newest", "jobs")
    for name, columns in ORDERS.items():
        op.create_index(name, "jobs", columns)
    for name, (columns, which) in FEW.items():
        op.create_index(name, "jobs", columns, sqlite_where=sa.text(which), postgresql_where=sa.text(which))


def downgrade() -> None:
    for name in (*ORDERS, *FEW):
        op.drop_index(name, "jobs")
    op.create_index("ix_jobs_owner_newest", "jobs", ["owner_id", "id"])
    for name in ("cost_micros", "simulated", "gpu"):
        op.drop_column("jobs", name)
