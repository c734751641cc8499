"""Findings: several may take the same back, and one that did not last does not stand in the way of others

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

DONE = sa.text("state = 'done'")


def _change_key(*columns: str) -> None:
    with op.batch_alter_table("clawbacks") as batch_op:
        batch_op.drop_constraint("pk_clawbacks", type_="primary")
        batch_op.create_primary_key("pk_clawbacks", list(columns))


def upgrade() -> None:
    """So far there was one for each attempt."""
    _change_key("attempt_id", "check_id")
    op.create_index(
        "ix_clawbacks_done", "clawbacks", ["attempt_id"], unique=True, sqlite_where=DONE, postgresql_where=DONE
    )


def downgrade() -> None:
    """Of each attempt the one that is carried out is kept, or is to be; else the newest that did not last."""
    op.drop_index("ix_clawbacks_done", "clawbacks")
    op.execute(
        """
        DELETE FROM clawbacks WHERE EXISTS (
            SELECT 1 FROM clawbacks AS other WHERE other.attempt_id = clawbacks.attempt_id
            AND (CASE other.state WHEN 'done' THEN 3 WHEN 'pending' THEN 2 WHEN 'overturned' THEN 1 ELSE 0 END,
                 other.created_at, other.check_id)
              > (CASE clawbacks.state WHEN 'done' THEN 3 WHEN 'pending' THEN 2 WHEN 'overturned' THEN 1 ELSE 0 END,
                 clawbacks.created_at, clawbacks.check_id)
        )
        """
    )
    _change_key("attempt_id")
