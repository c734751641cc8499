"""The first schema

Revision ID: 0001
Revises: nothing
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=40), nullable=False),
        sa.Column("action", sa.String(length=60), nullable=False),
        sa.Column("subject", sa.String(length=40), nullable=False),
        sa.Column("details", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_audit_subject"), ["subject"], unique=False)

    op.create_table(
        "hub_facts",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_hub_facts")),
    )
    op.create_table(
        "hub_keys",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("public_key", sa.String(length=64), nullable=False),
        sa.Column("private_key", sa.String(length=400), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_hub_keys")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("topic", sa.String(length=120), nullable=False),
        sa.Column("payload", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
    )
    with op.batch_alter_table("outbox", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_outbox_created_at"), ["created_at"], unique=False)

    op.create_table(
        "owners",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_owners")),
    )
    op.create_table(
        "artifacts",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("owner_id", sa.String(length=40), nullable=False),
        sa.Column("digest", sa.String(length=71), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("attempt_id", sa.String(length=40), nullable=True),
        sa.Column("path", sa.String(length=1024), nullable=True),
        sa.Column("part_digests", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("writable_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("stored_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(kind = 'output') = (attempt_id IS NOT NULL)", name=op.f("ck_artifacts_attempt_iff_output")
        ),
        sa.CheckConstraint(
            "(stored_at IS NOT NULL) = (state = 'stored')", name=op.f("ck_artifacts_stored_at_iff_stored")
        ),
        sa.CheckConstraint("(path IS NOT NULL) = (attempt_id IS NOT NULL)", name=op.f("ck_artifacts_path_iff_output")),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_artifacts_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifacts")),
    )
    with op.batch_alter_table("artifacts", schema=None) as batch_op:
        batch_op.create_index(
            "ix_artifacts_unfinished",
            ["writable_until"],
            unique=False,
            sqlite_where=sa.text("state <> 'stored'"),
            postgresql_where=sa.text("state <> 'stored'"),
        )
        batch_op.create_index(
            "uq_artifacts_attempt_id_path",
            ["attempt_id", "path"],
            unique=True,
            sqlite_where=sa.text("attempt_id IS NOT NULL AND state <> 'abandoned'"),
            postgresql_where=sa.text("attempt_id IS NOT NULL AND state <> 'abandoned'"),
        )
        batch_op.create_index(
            "uq_artifacts_owner_id_digest",
            ["owner_id", "digest"],
            unique=True,
            sqlite_where=sa.text("attempt_id IS NULL AND state <> 'abandoned'"),
            postgresql_where=sa.text("attempt_id IS NULL AND state <> 'abandoned'"),
        )

    op.create_table(
        "idempotency_keys",
        sa.Column("user_id", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("route", sa.String(length=80), nullable=False),
        sa.Column("body_digest", sa.String(length=64), nullable=False),
        sa.Column("result_id", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["owners.id"], name=op.f("fk_idempotency_keys_user_id")),
        sa.PrimaryKeyConstraint("user_id", "key", name=op.f("pk_idempotency_keys")),
    )
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_idempotency_keys_created_at"), ["created_at"], unique=False)

    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("owner_id", sa.String(length=40), nullable=False),
        sa.Column("submitted_by", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("verdict", sa.String(length=12), nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("reason", sa.String(length=24), nullable=True),
        sa.Column("message", sa.String(length=500), nullable=True),
        sa.Column("spec", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("spec_digest", sa.String(length=80), nullable=False),
        sa.Column("bundle", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("retry_of", sa.String(length=40), nullable=True),
        sa.Column("retries_allowed", sa.Integer(), nullable=False),
        sa.Column("slice_count", sa.Integer(), nullable=False),
        sa.Column("slices_left", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancel_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(finished_at IS NOT NULL) = (state IN ('canceled', 'failed', 'succeeded'))",
            name=op.f("ck_jobs_finished_iff_final"),
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_jobs_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.create_index("ix_jobs_owner_newest", ["owner_id", "id"], unique=False)

    op.create_table(
        "join_tokens",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("owner_id", sa.String(length=40), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("uses_left", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_join_tokens_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_join_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_join_tokens_hash")),
    )
    with op.batch_alter_table("join_tokens", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_join_tokens_owner_id"), ["owner_id"], unique=False)

    op.create_table(
        "nodes",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("owner_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("drain_requested", sa.Boolean(), nullable=False),
        sa.Column("sign_key", sa.String(length=64), nullable=False),
        sa.Column("seal_key", sa.String(length=64), nullable=False),
        sa.Column("country", sa.String(length=2), nullable=True),
        sa.Column("tags", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("capacity", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("agent_version", sa.String(length=40), nullable=False),
        sa.Column("replaces", sa.String(length=40), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_nodes_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_nodes")),
        sa.UniqueConstraint("sign_key", name=op.f("uq_nodes_sign_key")),
    )
    with op.batch_alter_table("nodes", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_nodes_owner_id"), ["owner_id"], unique=False)

    op.create_table(
        "users",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("country", sa.String(length=2), nullable=True),
        sa.Column("password_hash", sa.String(length=200), nullable=True),
        sa.Column("role", sa.String(length=8), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["id"], ["owners.id"], name=op.f("fk_users_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("email", name=op.f("uq_users_email")),
    )
    op.create_table(
        "device_logins",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("device_hash", sa.String(length=64), nullable=False),
        sa.Column("user_code", sa.String(length=8), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_device_logins_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_device_logins")),
        sa.UniqueConstraint("device_hash", name=op.f("uq_device_logins_device_hash")),
        sa.UniqueConstraint("user_code", name=op.f("uq_device_logins_user_code")),
    )
    with op.batch_alter_table("device_logins", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_device_logins_expires_at"), ["expires_at"], unique=False)

    op.create_table(
        "one_time_tokens",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_one_time_tokens_user_id")),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_one_time_tokens")),
    )
    with op.batch_alter_table("one_time_tokens", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_one_time_tokens_expires_at"), ["expires_at"], unique=False)

    op.create_table(
        "personal_tokens",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_personal_tokens_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_personal_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_personal_tokens_hash")),
    )
    with op.batch_alter_table("personal_tokens", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_personal_tokens_user_id"), ["user_id"], unique=False)

    op.create_table(
        "sessions",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rotated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("user_agent", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sessions_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_sessions_revoked_at"), ["revoked_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_sessions_user_id"), ["user_id"], unique=False)

    op.create_table(
        "slices",
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("losses", sa.Integer(), nullable=False),
        sa.Column("avoid", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("retry_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("verdict", sa.String(length=12), nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("reason", sa.String(length=24), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(finished_at IS NOT NULL) = (state IN ('canceled', 'failed', 'succeeded'))",
            name=op.f("ck_slices_finished_iff_final"),
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_slices_job_id")),
        sa.PrimaryKeyConstraint("job_id", "index", name=op.f("pk_slices")),
    )
    with op.batch_alter_table("slices", schema=None) as batch_op:
        batch_op.create_index(
            "ix_slices_open",
            ["job_id"],
            unique=False,
            sqlite_where=sa.text("state IN ('queued', 'running')"),
            postgresql_where=sa.text("state IN ('queued', 'running')"),
        )

    op.create_table(
        "attempts",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("slice_index", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("node_id", sa.String(length=40), nullable=False),
        sa.Column("own", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("verdict", sa.String(length=12), nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("reason", sa.String(length=24), nullable=True),
        sa.Column("detail", sa.String(length=500), nullable=True),
        sa.Column("isolation", sa.String(length=12), nullable=True),
        sa.Column("manifest", sa.Text(), nullable=False),
        sa.Column("receipt", sa.Text(), nullable=True),
        sa.Column("leased_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("log_bytes", sa.BigInteger(), nullable=False),
        sa.Column("log_digest", sa.String(length=80), nullable=True),
        sa.CheckConstraint(
            "(finished_at IS NOT NULL) = (state IN ('canceled', 'failed', 'lost', 'succeeded', 'superseded'))",
            name=op.f("ck_attempts_finished_iff_ended"),
        ),
        sa.ForeignKeyConstraint(["job_id", "slice_index"], ["slices.job_id", "slices.index"], name="fk_attempts_slice"),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name=op.f("fk_attempts_node_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
    )
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.create_index(
            "ix_attempts_live",
            ["node_id"],
            unique=False,
            sqlite_where=sa.text("state IN ('finishing', 'leased', 'preparing', 'running', 'suspended')"),
            postgresql_where=sa.text("state IN ('finishing', 'leased', 'preparing', 'running', 'suspended')"),
        )
        batch_op.create_index("ix_attempts_slice", ["job_id", "slice_index"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.drop_index("ix_attempts_slice")
        batch_op.drop_index(
            "ix_attempts_live",
            sqlite_where=sa.text("state IN ('finishing', 'leased', 'preparing', 'running', 'suspended')"),
            postgresql_where=sa.text("state IN ('finishing', 'leased', 'preparing', 'running', 'suspended')"),
        )

    op.drop_table("attempts")
    with op.batch_alter_table("slices", schema=None) as batch_op:
        batch_op.drop_index(
            "ix_slices_open",
            sqlite_where=sa.text("state IN ('queued', 'running')"),
            postgresql_where=sa.text("state IN ('queued', 'running')"),
        )

    op.drop_table("slices")
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_sessions_user_id"))
        batch_op.drop_index(batch_op.f("ix_sessions_revoked_at"))

    op.drop_table("sessions")
    with op.batch_alter_table("personal_tokens", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_personal_tokens_user_id"))

    op.drop_table("personal_tokens")
    with op.batch_alter_table("one_time_tokens", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_one_time_tokens_expires_at"))

    op.drop_table("one_time_tokens")
    with op.batch_alter_table("device_logins", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_device_logins_expires_at"))

    op.drop_table("device_logins")
    op.drop_table("users")
    with op.batch_alter_table("nodes", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_nodes_owner_id"))

    op.drop_table("nodes")
    with op.batch_alter_table("join_tokens", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_join_tokens_owner_id"))

    op.drop_table("join_tokens")
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.drop_index("ix_jobs_owner_newest")

    op.drop_table("jobs")
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_idempotency_keys_created_at"))

    op.drop_table("idempotency_keys")
    with op.batch_alter_table("artifacts", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_artifacts_owner_id_digest",
            sqlite_where=sa.text("attempt_id IS NULL AND state <> 'abandoned'"),
            postgresql_where=sa.text("attempt_id IS NULL AND state <> 'abandoned'"),
        )
        batch_op.drop_index(
            "uq_artifacts_attempt_id_path",
            sqlite_where=sa.text("attempt_id IS NOT NULL AND state <> 'abandoned'"),
            postgresql_where=sa.text("attempt_id IS NOT NULL AND state <> 'abandoned'"),
        )
        batch_op.drop_index(
            "ix_artifacts_unfinished",
            sqlite_where=sa.text("state <> 'stored'"),
            postgresql_where=sa.text("state <> 'stored'"),
        )

    op.drop_table("artifacts")
    op.drop_table("owners")
    with op.batch_alter_table("outbox", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_outbox_created_at"))

    op.drop_table("outbox")
    op.drop_table("hub_keys")
    op.drop_table("hub_facts")
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_audit_subject"))

    op.drop_table("audit")
