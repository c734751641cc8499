"""The first start: an admin without any password, and this machine signed in."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from computepool.hub.accounts import repository
from computepool.hub.accounts.directory import LiveToken, TokenDirectory
from computepool.hub.accounts.errors import BadToken
from computepool.hub.accounts.service import create_one_time_token, create_personal_token, create_user
from computepool.hub.accounts.tokens import hash_of, new_one_time_token, new_personal_token
from computepool.hub.core.context import Context
from computepool.hub.core.http import Role
from computepool.hub.core.records import HUB_ACTOR
from computepool.hub.ledger.promotions import grant_welcome

ADMIN_EMAIL = "admin@localhost"
LOCAL_TOKEN_NAME = "this machine's CLI"
LOCAL_TOKEN_LIFETIME = timedelta(days=366)


@dataclass(frozen=True)
class LocalAdmin:
    user_id: str
    token: str
    """Personal token for the CLI of the hub's own machine: keep it in the home folder, for its owner's eyes only."""
    is_new_token: bool
    sign_in_token: str
    """For the link that `up` prints: good for one sign-in in a browser, through `auth/one-time`."""
    email: str
    """Of the admin whom the link signs in."""
    cli_email: str
    """Of the admin whose the CLI's token is: another one, where that was signed in by hand."""
    dismissed: str | None = None
    """The address of whose token was kept here, if they are no admin any more."""


def create_admin(session: Session, user_id: str, now: datetime, welcome_credits: int = 0) -> str:
    """The id of an admin: the one there is, or `user_id`, made now, whose password nobody knows because it has none."""
    known = repository.find_an_admin(session)
    if known is not None:
        return known.id
    create_user(
        session,
        user_id,
        now,
        email=ADMIN_EMAIL,
        name="Admin",
        country=None,
        password_hash=None,
        role=Role.ADMIN,
        actor=HUB_ACTOR,
    )
    grant_welcome(session, user_id, welcome_credits, now)
    return user_id


async def sign_in_this_machine(context: Context, directory: TokenDirectory, saved_token: str | None) -> LocalAdmin:
    """What `up` does at each start. `saved_token`, which an earlier start kept, is used on if it still works."""
    now = context.now()
    token, new = saved_token, None
    if saved_token is None or not _is_admins(directory, saved_token):
        token, new = new_personal_token(context.randbits), context.new_id("token")
    assert token is not None
    link = new_one_time_token(context.randbits)
    credits = context.settings.credits_for_newcomers
    user_id, live = await context.db.run(_sign_in, context.new_id("user"), token, new, link, now, credits)
    if live is not None:
        directory.admit_token(live)
    holder_id = directory.authenticate(token).user_id
    email, cli_email, dismissed = await context.db.read(_names, user_id, holder_id, saved_token if new else None)
    return LocalAdmin(user_id, token, live is not None, link, email, cli_email, dismissed)


def _names(session: Session, admin_id: str, holder_id: str, given_up: str | None) -> tuple[str, str, str | None]:
    emails = repository.emails_of(session, {admin_id, holder_id})
    before = repository.find_user_of_token(session, hash_of(given_up)) if given_up is not None else None
    dismissed = before.email if before is not None and before.role != Role.ADMIN else None
    return emails[admin_id], emails[holder_id], dismissed


def _sign_in(
    session: Session, user_id: str, token: str, new_token_id: str | None, link: str, now: datetime, welcome_credits: int
) -> tuple[str, LiveToken | None]:
    admin_id = create_admin(session, user_id, now, welcome_credits)
    live = None
    if new_token_id is not None:
        live = create_personal_token(
            session,
            new_token_id,
            token,
            admin_id,
            now,
            name=LOCAL_TOKEN_NAME,
            scopes=Role.ADMIN.scopes,
            lifetime=LOCAL_TOKEN_LIFETIME,
            actor=HUB_ACTOR,
        )
    create_one_time_token(session, link, admin_id, now)
    return admin_id, live


def _is_admins(directory: TokenDirectory, token: str) -> bool:
    try:
        return directory.authenticate(token).is_admin
    except BadToken:
        return False
