"""Alembic's entry. The connection is given by `schema.migrate`; nothing here reads the environment."""

from alembic import context

from computepool.hub.tables import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=connection.dialect.name == "sqlite",
    compare_type=True,
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
