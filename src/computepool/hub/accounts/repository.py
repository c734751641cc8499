from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, delete, func, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from computepool.hub.accounts.directory import REMEMBER_REVOKED, DirectorySnapshot, LiveToken
from computepool.hub.accounts.states import DeviceState, sources_of
from computepool.hub.accounts.tables import DeviceLogin, OneTimeToken, PersonalToken, User, UserSession
from computepool.hub.accounts.visibility import owned_by
from computepool.hub.core.http import Principal, Role, Scope
from computepool.hub.core.paging import read_page

LIST_LIMIT = 200
FORGET_AFTER = timedelta(days=30)
"""Sessions, links and device logins that ended are kept so long."""


def find_user(session: Session, user_id: str) -> User | None:
    return session.get(User, user_id)


def lock_user(session: Session, user_id: str, *, shared: bool = False) -> User | None:
    """As the user is now, whatever was read before, and stays until this transaction ends.

    `shared`: whoever only needs that it stays so, and changes nothing, waits for nobody else who does.
    """
    return session.get(User, user_id, populate_existing=True, with_for_update={"read": shared})


def find_user_by_email(session: Session, email: str) -> User | None:
    return session.scalars(select(User).where(User.email == email)).one_or_none()


def lock_admins(session: Session) -> list[str]:
    """Those who can act as one. Nobody else gives or takes the role until this transaction ends."""
    admins = select(User.id).where(User.role == Role.ADMIN, User.disabled_at.is_(None)).order_by(User.id)
    return list(session.scalars(admins.with_for_update()))


def emails_of(session: Session, owner_ids: Collection[str]) -> dict[str, str]:
    """By id, of those who are users: a team has none."""
    return _texts_of(session, owner_ids, User.email)


def names_of(session: Session, owner_ids: Collection[str]) -> dict[str, str]:
    """As `emails_of`."""
    return _texts_of(session, owner_ids, User.name)


def _texts_of(session: Session, owner_ids: Collection[str], column: InstrumentedAttribute[str]) -> dict[str, str]:
    ids = sorted(owner_ids)
    found: dict[str, str] = {}
    for start in range(0, len(ids), LIST_LIMIT):
        some = User.id.in_(ids[start : start + LIST_LIMIT])
        found |= {row[0]: row[1] for row in session.execute(select(User.id, column).where(some))}
    return found


def find_an_admin(session: Session) -> User | None:
    admins = select(User).where(User.role == Role.ADMIN, User.disabled_at.is_(None))
    return session.scalars(admins.order_by(User.created_at, User.id).limit(1)).one_or_none()


def replace_password_hash(session: Session, user_id: str, expected: str | None, password_hash: str) -> bool:
    """False: it is not the `expected` one any more. None: there is none yet."""
    guarded = update(User).where(User.id == user_id, User.password_hash == expected).values(password_hash=password_hash)
    return session.execute(guarded.returning(User.id)).first() is not None


def advance_session(session: Session, session_id: str, generation: int, expires_at: datetime, now: datetime) -> bool:
    """The one guarded step from a refresh token to the next. False: it was not the current one of a live session."""
    row = UserSession
    advanced = session.execute(
        update(row)
        .where(row.id == session_id, row.generation == generation, row.revoked_at.is_(None), row.expires_at > now)
        .values(generation=generation + 1, rotated_at=now, expires_at=expires_at)
        .returning(row.id)
    )
    return advanced.first() is not None


def find_user_of_session(session: Session, session_id: str) -> str | None:
    return session.scalar(select(UserSession.user_id).where(UserSession.id == session_id))


def revoke_live_sessions(session: Session, *conditions: Any, now: datetime) -> list[str]:
    ended = update(UserSession).where(UserSession.revoked_at.is_(None), *conditions).values(revoked_at=now)
    return list(session.scalars(ended.returning(UserSession.id)))


def list_live_sessions(
    session: Session, user_id: str, now: datetime, cursor: str | None = None, limit: int = LIST_LIMIT
) -> tuple[list[UserSession], str | None]:
    row = UserSession
    live = select(row).where(row.user_id == user_id, row.revoked_at.is_(None), row.expires_at > now)
    return read_page(session, live, (row.created_at, row.id), cursor, limit)


def revoke_live_tokens(session: Session, *conditions: Any, now: datetime) -> list[str]:
    ended = update(PersonalToken).where(PersonalToken.revoked_at.is_(None), *conditions).values(revoked_at=now)
    return list(session.scalars(ended.returning(PersonalToken.id)))


def find_token_visible_to(session: Session, principal: Principal, token_id: str) -> PersonalToken | None:
    visible = select(PersonalToken).where(PersonalToken.id == token_id, owned_by(principal, PersonalToken.user_id))
    return session.scalars(visible).one_or_none()


def find_user_of_token(session: Session, token_hash: str) -> User | None:
    """Also of one that has ended."""
    whose = select(User).join(PersonalToken, PersonalToken.user_id == User.id).where(PersonalToken.hash == token_hash)
    return session.scalars(whose).one_or_none()


def list_tokens(
    session: Session, user_id: str, cursor: str | None = None, limit: int = LIST_LIMIT
) -> tuple[list[PersonalToken], str | None]:
    row = PersonalToken
    live = select(row).where(row.user_id == user_id, row.revoked_at.is_(None))
    return read_page(session, live, (row.created_at, row.id), cursor, limit)


def count_live_tokens(session: Session, user_id: str, now: datetime) -> int:
    row = PersonalToken
    live = select(func.count()).where(row.user_id == user_id, row.revoked_at.is_(None), row.expires_at > now)
    return session.scalar(live) or 0


def mark_tokens_used(session: Session, used: dict[str, datetime]) -> None:
    for token_id, at in used.items():
        session.execute(update(PersonalToken).where(PersonalToken.id == token_id).values(last_used_at=at))


def move_device_login(
    session: Session, target: DeviceState, now: datetime, *conditions: Any, **values: Any
) -> str | None:
    """The one guarded write of a device login's state: its id, or None if it cannot go there."""
    row = DeviceLogin
    return session.scalars(
        update(row)
        .where(row.state.in_(sources_of(target)), row.expires_at > now, *conditions)
        .values(state=target.value, **values)
        .returning(row.id)
    ).one_or_none()


def find_device_login(session: Session, device_hash: str) -> DeviceLogin | None:
    return session.scalars(select(DeviceLogin).where(DeviceLogin.device_hash == device_hash)).one_or_none()


def find_waiting_device_login(session: Session, user_code: str, now: datetime) -> DeviceLogin | None:
    row = DeviceLogin
    waiting = select(row).where(row.user_code == user_code, row.state == DeviceState.PENDING, row.expires_at > now)
    return session.scalars(waiting).one_or_none()


def use_one_time_token(session: Session, token_hash: str, now: datetime) -> str | None:
    """Whose it is; None if it was used, has expired, or never was."""
    row = OneTimeToken
    good = update(row).where(row.hash == token_hash, row.used_at.is_(None), row.expires_at > now)
    return session.scalars(good.values(used_at=now).returning(row.user_id)).one_or_none()


def load_directory(session: Session, now: datetime) -> DirectorySnapshot:
    """Everything that the directory must know: unlimited on purpose, since what it does not know is refused."""
    recently = UserSession.revoked_at > now - REMEMBER_REVOKED
    revoked = session.scalars(select(UserSession.id).where(recently)).all()
    disabled = session.scalars(select(User.id).where(User.disabled_at.is_not(None))).all()
    tokens = session.execute(_live_tokens(now)).all()
    return DirectorySnapshot([_live_token(row) for row in tokens], list(revoked), list(disabled))


def find_live_token(session: Session, token_id: str, now: datetime) -> LiveToken | None:
    row = session.execute(_live_tokens(now).where(PersonalToken.id == token_id)).one_or_none()
    return _live_token(row) if row else None


def _live_tokens(now: datetime) -> Any:
    row = PersonalToken
    return (
        select(row.id, row.hash, row.user_id, User.role, row.scopes, row.expires_at)
        .join(User, User.id == row.user_id)
        .where(row.revoked_at.is_(None), row.expires_at > now, User.disabled_at.is_(None))
    )


def _live_token(row: Row[Any]) -> LiveToken:
    known = set(Scope)
    scopes = frozenset(Scope(scope) for scope in row.scopes if scope in known)
    return LiveToken(row.id, row.hash, row.user_id, Role(row.role), scopes, row.expires_at)


def prune_accounts(session: Session, now: datetime, limit: int) -> int:
    """Forget what ended long ago, of each kind so much; how much. Personal tokens stay: their owner may want to know
    what they had."""
    gone = 0
    for table, key in ((DeviceLogin, DeviceLogin.id), (OneTimeToken, OneTimeToken.hash), (UserSession, UserSession.id)):
        old = select(key).where(table.expires_at < now - FORGET_AFTER).limit(limit)
        gone += len(session.execute(delete(table).where(key.in_(old)).returning(key)).all())
    return gone
