"""Handles for all users; teams, their members, invitations and service accounts; who enrolled a node

Revision ID: 0037
Revises: 0036
"""

import re
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

from computepool.hub.accounts.handles import generated, key_of, read_handle
from computepool.hub.core.errors import Invalid

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

CURRENT = sa.text("is_current")
OPEN = sa.text("accepted_at IS NULL AND revoked_at IS NULL")
ID = sa.String(length=40)
INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "handles",
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("handle", sa.String(length=32), nullable=False),
        sa.Column("owner_id", ID, nullable=False),
        sa.Column("is_current", sa.Boolean(), nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_handles_owner_id")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_handles")),
    )
    op.create_index(op.f("ix_handles_owner_id"), "handles", ["owner_id"])
    op.create_index(
        "ix_handles_current", "handles", ["owner_id"], unique=True, sqlite_where=CURRENT, postgresql_where=CURRENT
    )
    op.create_table(
        "teams",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.ForeignKeyConstraint(["id"], ["owners.id"], name=op.f("fk_teams_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_teams")),
    )
    op.create_table(
        "team_members",
        sa.Column("team_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("role", sa.String(length=8), nullable=False),
        sa.Column("joined_at", INSTANT, nullable=False),
        sa.Column("invited_by", ID, nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_team_members_team_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_team_members_user_id")),
        sa.PrimaryKeyConstraint("team_id", "user_id", name=op.f("pk_team_members")),
    )
    op.create_index(op.f("ix_team_members_user_id"), "team_members", ["user_id"])
    op.create_table(
        "invitations",
        sa.Column("id", ID, nullable=False),
        sa.Column("team_id", ID, nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("role", sa.String(length=8), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("invited_by", ID, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.Column("accepted_at", INSTANT, nullable=True),
        sa.Column("accepted_by", ID, nullable=True),
        sa.Column("revoked_at", INSTANT, nullable=True),
        sa.CheckConstraint(
            "(accepted_at IS NULL) = (accepted_by IS NULL)", name=op.f("ck_invitations_accepted_by_somebody")
        ),
        sa.ForeignKeyConstraint(["invited_by"], ["users.id"], name=op.f("fk_invitations_invited_by")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_invitations_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("hash", name=op.f("uq_invitations_hash")),
    )
    op.create_index(
        "ix_invitations_open", "invitations", ["team_id", "created_at"], sqlite_where=OPEN, postgresql_where=OPEN
    )
    with op.batch_alter_table("users") as users:
        users.add_column(sa.Column("managed_by", ID, nullable=True))
        users.create_foreign_key(op.f("fk_users_managed_by"), "owners", ["managed_by"], ["id"])
        users.create_check_constraint(op.f("ck_users_person_iff_email"), "(managed_by IS NULL) = (email LIKE '%@%')")
        users.create_check_constraint(
            op.f("ck_users_service_has_no_password"), "managed_by IS NULL OR password_hash IS NULL"
        )
    op.add_column("join_tokens", sa.Column("made_by", ID, nullable=True))
    op.add_column("nodes", sa.Column("enrolled_by", ID, nullable=True))
    _give_handles()


def _give_handles() -> None:
    """From the name that a user shows in public already, or one that tells nothing."""
    connection, now, taken = op.get_bind(), datetime.now(UTC), set[str]()
    handles = sa.table(
        "handles",
        *(sa.column(name) for name in ("key", "handle", "owner_id", "is_current")),
        sa.column("created_at", INSTANT),
    )
    users = sa.text("SELECT users.id, name.name FROM users LEFT JOIN public_names name ON name.user_id = users.id")
    for user_id, public_name in connection.execute(users).all():
        chosen, number = _from(public_name), 0
        while chosen is None or key_of(chosen) in taken:
            chosen, number = generated(user_id, number), number + 1
        taken.add(key_of(chosen))
        values = {"key": key_of(chosen), "handle": chosen, "owner_id": user_id, "is_current": True, "created_at": now}
        connection.execute(handles.insert().values(**values))


def _from(public_name: str | None) -> str | None:
    try:
        return read_handle(re.sub(r"[ _.-]+", "-", public_name)) if public_name is not None else None
    except Invalid:
        return None


def downgrade() -> None:
    op.drop_column("nodes", "enrolled_by")
    op.drop_column("join_tokens", "made_by")
    with op.batch_alter_table("users") as users:
        users.drop_constraint(op.f("ck_users_service_has_no_password"), type_="check")
        users.drop_constraint(op.f("ck_users_person_iff_email"), type_="check")
        users.drop_constraint(op.f("fk_users_managed_by"), type_="foreignkey")
        users.drop_column("managed_by")
    for table in ("invitations", "team_members", "teams", "handles"):
        op.drop_table(table)
