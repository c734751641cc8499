"""Lists of jobs by age follow their ids, which need no index of their own

Revision ID: 0039
Revises: 0038
"""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

OPEN, UNSUCCESSFUL = "state IN ('queued', 'running')", "state IN ('canceled', 'failed')"
FEW = {
    "ix_jobs_open": (["owner_id"], OPEN),
    "ix_jobs_unsuccessful": (["owner_id"], UNSUCCESSFUL),
    "ix_jobs_everybodys_unsuccessful": ([], UNSUCCESSFUL),
    "ix_jobs_simulated": (["owner_id"], "simulated"),
    "ix_jobs_gpu": (["gpu", "owner_id"], "gpu IS NOT NULL"),
    "ix_jobs_retries": (["retry_of"], "retry_of IS NOT NULL"),
}


def upgrade() -> None:
    op.drop_index("ix_jobs_created", "jobs")
    op.drop_index("ix_jobs_owner_created", "jobs")
    op.create_index("ix_jobs_owner_newest", "jobs", ["owner_id", "id"])
    _make(["id"])


def downgrade() -> None:
    _make(["created_at", "id"])
    op.drop_index("ix_jobs_owner_newest", "jobs")
    op.create_index("ix_jobs_owner_created", "jobs", ["owner_id", "created_at", "id"])
    op.create_index("ix_jobs_created", "jobs", ["created_at", "id"])


def _make(age: list[str]) -> None:
    for name, (columns, which) in FEW.items():
        op.drop_index(name, "jobs")
        op.create_index(name, "jobs", [*columns, *age], sqlite_where=sa.text(which), postgresql_where=sa.text(which))
