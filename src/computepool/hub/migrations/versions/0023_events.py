"""Events: what a reader's stream is resumed from

Revision ID: 0023
Revises: 0022
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

STREAM_TOPICS = sa.text("substr(topic, 1, 5) <> 'mail/'")


def upgrade() -> None:
    """Rows of topics that nobody resumes are no longer written; those that are there are pruned with their time."""
    op.create_index(
        "ix_outbox_streams", "outbox", ["topic", "id"], sqlite_where=STREAM_TOPICS, postgresql_where=STREAM_TOPICS
    )


def downgrade() -> None:
    op.drop_index("ix_outbox_streams", table_name="outbox")
