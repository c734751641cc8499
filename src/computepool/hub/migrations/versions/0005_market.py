"""Market

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
COUNTED = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("nodes", sa.Column("price_per", sa.String(length=4), nullable=True))
    op.add_column("nodes", sa.Column("price_floor_micros", sa.BigInteger(), nullable=True))
    op.add_column("nodes", sa.Column("price_fixed_micros", sa.BigInteger(), nullable=True))
    op.add_column("jobs", sa.Column("ceiling_micros", sa.BigInteger(), nullable=True))
    op.add_column("attempts", sa.Column("price_micros", sa.BigInteger(), nullable=True))
    op.add_column("attempts", sa.Column("price", JSON, nullable=True))
    op.create_table(
        "market_settings",
        sa.Column("id", COUNTED, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=20), nullable=False),
        sa.Column("value", JSON, nullable=False),
        sa.Column("changed_by", sa.String(length=40), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_market_settings")),
    )
    op.create_index("ix_market_settings_name", "market_settings", ["name", "id"])
    op.create_table(
        "spot_points",
        sa.Column("id", COUNTED, autoincrement=True, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tier", sa.String(length=12), nullable=False),
        sa.Column("region", sa.String(length=40), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("spot_millis", sa.Integer(), nullable=False),
        sa.Column("level_millis", sa.Integer(), nullable=False),
        sa.Column("use_millis", sa.Integer(), nullable=False),
        sa.Column("busy", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("hourly", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_spot_points")),
    )
    op.create_index(op.f("ix_spot_points_at"), "spot_points", ["at"])
    op.create_index("ix_spot_points_segment", "spot_points", ["tier", "region", "at"])


def downgrade() -> None:
    """Hosts' prices, the pool's edited tables and the history of spot are gone: everything starts from the defaults."""
    op.drop_index("ix_spot_points_segment", table_name="spot_points")
    op.drop_index(op.f("ix_spot_points_at"), table_name="spot_points")
    op.drop_table("spot_points")
    op.drop_index("ix_market_settings_name", table_name="market_settings")
    op.drop_table("market_settings")
    op.drop_column("attempts", "price")
    op.drop_column("attempts", "price_micros")
    op.drop_column("jobs", "ceiling_micros")
    op.drop_column("nodes", "price_fixed_micros")
    op.drop_column("nodes", "price_floor_micros")
    op.drop_column("nodes", "price_per")
