"""Scopes: the wallet has its own, and those of admins are two; existing tokens keep what they could do

Revision ID: 0035
Revises: 0034
"""

from collections.abc import Callable

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

TOKENS = sa.table("personal_tokens", sa.column("id", sa.String()), sa.column("scopes", sa.JSON()))
GREW_INTO = {
    "account:read": {"account:read", "wallet:read"},
    "account:write": {"account:write", "wallet:write", "wallet:payout"},
    "admin": {"admin", "admin:read", "admin:write"},
}
ALL_BEFORE = {
    *("jobs:read", "jobs:write", "nodes:read", "nodes:write"),
    *("artifacts:read", "artifacts:write", "account:read", "account:write"),
}
NEW = {"team:read", "team:write", "secrets:write", "webhooks:write"}


def upgraded(scopes: set[str]) -> set[str]:
    """What was made with all that a user may have stays so."""
    grown = set().union(*(GREW_INTO.get(scope, {scope}) for scope in scopes))
    return grown | NEW if scopes >= ALL_BEFORE else grown


def downgraded(scopes: set[str]) -> set[str]:
    return scopes & (ALL_BEFORE | {"admin"})


def _change(changed: Callable[[set[str]], set[str]]) -> None:
    connection = op.get_bind()
    for token_id, scopes in connection.execute(sa.select(TOKENS.c.id, TOKENS.c.scopes)).all():
        wanted = sorted(changed(set(scopes)))
        if wanted != sorted(scopes):
            connection.execute(TOKENS.update().where(TOKENS.c.id == token_id).values(scopes=wanted))


def upgrade() -> None:
    _change(upgraded)


def downgrade() -> None:
    _change(downgraded)
