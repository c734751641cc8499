"""What an operator does to a hub from its own machine, running or not: an admin's way in, and the signing keys.

Each is one short transaction beside whoever else writes; nothing here needs the hub's lock. What a running hub keeps
in memory, its tokens and its keys, it reads again at its next start.
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from computepool.hub.accounts.bootstrap import create_admin
from computepool.hub.accounts.service import (
    create_one_time_token,
    create_personal_token,
    normal_email,
    set_email,
)
from computepool.hub.accounts.tables import User
from computepool.hub.accounts.tokens import new_one_time_token, new_personal_token
from computepool.hub.core.clock import SystemClock
from computepool.hub.core.db import open_database
from computepool.hub.core.errors import Invalid
from computepool.hub.core.http import Role
from computepool.hub.core.ids import new_id
from computepool.hub.core.keyring import (
    KEYS_LIMIT,
    HubKeyRow,
    KeyState,
    announce_next_key,
    load_keyring,
    rotate_keys,
)
from computepool.hub.core.records import HUB_ACTOR, keep_only_mails
from computepool.hub.core.settings import Settings
from computepool.hub.core.smtp_url import usable_address
from computepool.hub.nodes.tables import Node
from computepool.hub.schema import SchemaError, check_schema
from computepool.hub.secret_key import read_secret_key
from computepool.protocol.errors import FieldError
from computepool.protocol.states import NodeState

TOKEN_NAME = "made by hub admin"
TOKEN_LIFETIME = timedelta(days=366)

R = TypeVar("R")


class KeyNotHeard(Exception):
    """Some nodes have not connected since the next key was announced."""

    def __init__(self, names: Sequence[str]) -> None:
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        super().__init__(f"Not connected since the next key was announced: {shown}. They would refuse every order.")


@dataclass(frozen=True)
class AdminAccess:
    admin_id: str
    is_new_admin: bool
    sign_in_path: str
    """Good for one sign-in in a browser."""
    token: str | None
    email: str


def make_admin(settings: Settings, *, with_token: bool = False, email: str | None = None) -> AdminAccess:
    """A way in for the admin there is, or for the first one, made now. `email` becomes their address.

    Raises Invalid for what no mail would reach, and AddressOfAnother.
    """
    address = None if email is None else _reachable(email)
    now, randbits = SystemClock().now(), secrets.randbits
    link = new_one_time_token(randbits)
    token = new_personal_token(randbits) if with_token else None
    fresh_id = new_id("user", now, randbits)

    def work(session: Session) -> tuple[str, str]:
        admin_id = create_admin(session, fresh_id, now, settings.credits_for_newcomers)
        if address is not None:
            set_email(session, admin_id, address, now, actor=HUB_ACTOR)
        create_one_time_token(session, link, admin_id, now)
        if token is not None:
            create_personal_token(
                session,
                new_id("token", now, randbits),
                token,
                admin_id,
                now,
                name=TOKEN_NAME,
                scopes=Role.ADMIN.scopes,
                lifetime=TOKEN_LIFETIME,
                actor=HUB_ACTOR,
            )
        return admin_id, session.scalars(select(User.email).where(User.id == admin_id)).one()

    admin_id, has = _in_one_transaction(settings, work)
    return AdminAccess(admin_id, admin_id == fresh_id, f"/#sign-in={link}", token, has)


def list_keys(settings: Settings) -> list[HubKeyRow]:
    """The hub's signing keys, the newest first."""
    query = select(HubKeyRow).order_by(HubKeyRow.created_at.desc()).limit(KEYS_LIMIT)
    return _in_one_transaction(settings, lambda session: list(session.scalars(query)))


def announce_key(settings: Settings) -> str:
    """Make the hub's next key, or find the one that was made; its id."""
    now = SystemClock().now()

    def work(session: Session) -> str:
        secret_key = read_secret_key(session, settings)
        load_keyring(session, secret_key, now)  # there is a current one, and this secret opens it
        return announce_next_key(session, secret_key, now)

    return _in_one_transaction(settings, work)


def rotate_key(settings: Settings, *, force: bool = False) -> str | None:
    """The announced key becomes the current one; its id, or None where none was announced.

    Raises KeyNotHeard while there are nodes that did not connect since, and so would refuse every order.
    """
    now = SystemClock().now()

    def work(session: Session) -> str | None:
        secret_key = read_secret_key(session, settings)
        announced_at = session.scalar(select(HubKeyRow.created_at).where(HubKeyRow.state == KeyState.NEXT))
        if announced_at is not None and not force:
            unheard = or_(Node.last_seen_at.is_(None), Node.last_seen_at < announced_at)
            names = session.scalars(
                select(Node.name).where(Node.state != NodeState.BANNED, unheard).order_by(Node.name)
            )
            if deaf := names.all():
                raise KeyNotHeard(deaf)
        if not rotate_keys(session, now):
            return None
        return load_keyring(session, secret_key, now).current_id

    return _in_one_transaction(settings, work)


def _reachable(typed: str) -> str:
    """As people register, and one that a mail can go to: that is what an admin's is for."""
    email = normal_email(typed)
    if usable_address(email) is None:
        raise Invalid(
            "The email address is not valid.",
            fields=[FieldError(field="email", message="mail cannot be delivered there")],
        )
    return email


def _in_one_transaction(settings: Settings, work: Callable[[Session], R]) -> R:
    if not settings.home.is_dir() and settings.database_url is None:
        raise SchemaError(f"There is no hub in {settings.home}. Run `computepool hub migrate` first.")

    def work_unheard(session: Session) -> R:
        result = work(session)
        keep_only_mails(session)
        return result

    db = open_database(settings.effective_database_url)
    try:
        check_schema(db.engine)
        return asyncio.run(db.run(work_unheard))
    finally:
        db.close()
