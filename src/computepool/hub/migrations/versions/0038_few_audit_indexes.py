"""The indexes of the audit by action and by actor have no records that every job leaves

Revision ID: 0038
Revises: 0037
"""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

BY_PEOPLE = "actor <> 'hub' AND substr(actor, 1, 5) <> 'node_'"
OF_FEW_JOBS = (
    "action NOT IN ('attempt.leased', 'attempt.running', 'attempt.succeeded', 'job.submitted', 'job.succeeded')"
)
NOW: dict[str, str | None] = {"actor": BY_PEOPLE, "action": OF_FEW_JOBS}
BEFORE: dict[str, str | None] = {"actor": "actor <> 'hub'", "action": None}


def upgrade() -> None:
    _make(NOW)


def downgrade() -> None:
    _make(BEFORE)


def _make(conditions: dict[str, str | None]) -> None:
    for column, words in conditions.items():
        name, where = f"ix_audit_{column}", sa.text(words) if words else None
        op.drop_index(name, "audit")
        op.create_index(name, "audit", [column, "id"], sqlite_where=where, postgresql_where=where)
