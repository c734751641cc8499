"""A submit writes fewer pages: indexes by the end of a job or attempt have only those that ended, the outbox has none by
instant

Revision ID: 0036
Revises: 0035
"""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

ENDED = sa.text("finished_at IS NOT NULL")
BY_END = {
    "ix_jobs_owner_finished": ("jobs", ["owner_id", "finished_at", "id"]),
    "ix_jobs_finished": ("jobs", ["finished_at", "id"]),
    "ix_attempts_finished": ("attempts", ["finished_at"]),
}


def upgrade() -> None:
    for name, (table, columns) in BY_END.items():
        op.drop_index(name, table)
        op.create_index(name, table, columns, sqlite_where=ENDED, postgresql_where=ENDED)
    op.drop_index("ix_outbox_created_at", "outbox")


def downgrade() -> None:
    op.create_index("ix_outbox_created_at", "outbox", ["created_at"])
    for name, (table, columns) in BY_END.items():
        op.drop_index(name, table)
        op.create_index(name, table, columns)
