import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from computepool.hub.accounts import repository
from computepool.hub.accounts.directory import LiveToken, Revoked
from computepool.hub.accounts.errors import (
    AddressOfAnother,
    BadCredentials,
    BadSignInLink,
    EmailTaken,
    LastAdmin,
    MoreThanYouHave,
    NoSuchSession,
    NoSuchToken,
    NoSuchUser,
    TokenLimitReached,
)
from computepool.hub.accounts.handles import give_handle
from computepool.hub.accounts.states import SignInMethod
from computepool.hub.accounts.tables import EMAIL_LIMIT, OneTimeToken, PersonalToken, User, UserSession
from computepool.hub.accounts.tokens import hash_of
from computepool.hub.core.edge import address_key
from computepool.hub.core.errors import Invalid
from computepool.hub.core.http import Principal, Role, Scope
from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.owners import Owner, OwnerKind
from computepool.hub.core.records import ADMIN_TOPIC, record
from computepool.protocol.errors import FieldError

TOPIC = "accounts"
"""Whoever keeps tokens in memory listens here."""
SESSION_IDLE = timedelta(days=30)
SESSION_LONGEST = timedelta(days=90)
REPEAT_GRACE = timedelta(seconds=10)
"""A refresh token may be sent again so soon after its first use: the answer may have been lost, or two windows of one
browser have asked at once. They get the same next token, so the family never forks."""
TOKENS_EACH = 100
ONE_TIME_LIFETIME = timedelta(minutes=15)

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


@dataclass(frozen=True)
class Visitor:
    """Where a request came from."""

    address: str
    user_agent: str

    @property
    def network(self) -> str:
        """Who counts as one where tries are counted by address."""
        return address_key(self.address)


@dataclass(frozen=True)
class OpenSession:
    """A session whose current refresh token is of this generation."""

    id: str
    user_id: str
    role: Role
    generation: int


def normal_email(typed: str) -> str:
    email = typed.strip().lower()
    if len(email) > EMAIL_LIMIT or not _EMAIL.fullmatch(email):
        raise Invalid(
            "The email address is not valid.",
            fields=[FieldError(field="email", message="must look like name@example.org")],
        )
    return email


def create_user(
    session: Session,
    user_id: str,
    now: datetime,
    *,
    email: str,
    name: str,
    country: str | None,
    password_hash: str | None,
    role: Role = Role.USER,
    actor: str | None = None,
) -> str:
    """The user and its owner row. `email` as `normal_email` gives it."""
    session.add(Owner(id=user_id, kind=OwnerKind.USER, created_at=now))
    session.flush()
    is_new = insert_if_absent(
        session,
        User,
        ["email"],
        id=user_id,
        email=email,
        name=name,
        country=country,
        password_hash=password_hash,
        role=role.value,
        created_at=now,
    )
    if not is_new:
        raise EmailTaken
    give_handle(session, user_id, now)
    record(session, "user.created", user_id, now, actor=actor or user_id, topics=(ADMIN_TOPIC,), role=role.value)
    return user_id


def open_session(
    session: Session, session_id: str, user_id: str, now: datetime, *, visitor: Visitor, by: SignInMethod
) -> OpenSession:
    user = repository.lock_user(session, user_id, shared=True)  # a change of role ends this session, or is seen here
    if user is None or user.disabled_at is not None:
        raise BadCredentials
    row = UserSession(
        id=session_id,
        user_id=user_id,
        generation=0,
        created_at=now,
        rotated_at=now,
        expires_at=now + SESSION_IDLE,
        user_agent=visitor.user_agent,
        address=visitor.address,
        method=by.value,
    )
    session.add(row)
    session.flush()
    record(session, "session.opened", session_id, now, actor=user_id, topics=(f"owner/{user_id}",), by=by.value)
    return OpenSession(session_id, user_id, Role(user.role), 0)


@dataclass(frozen=True)
class Stolen:
    """An old refresh token came back. The session is revoked; this is an answer, not an error, so that it stays so."""

    session_id: str


def rotate_session(session: Session, session_id: str, generation: int, now: datetime) -> OpenSession | Stolen | None:
    """The session with its next generation. None: it has ended."""
    known = session.get(UserSession, session_id)
    if known is None or known.revoked_at is not None or known.expires_at <= now:
        return None
    expires_at = min(now + SESSION_IDLE, known.created_at + SESSION_LONGEST)
    if repository.advance_session(session, session_id, generation, expires_at, now):
        role = _role_of(session, known.user_id)
        # No record: a browser does this by itself every few minutes, and `rotated_at` says when it did so last.
        return OpenSession(session_id, known.user_id, role, generation + 1)
    session.refresh(known)  # somebody was faster
    if known.generation == generation + 1 and now - known.rotated_at <= REPEAT_GRACE and known.revoked_at is None:
        return OpenSession(session_id, known.user_id, _role_of(session, known.user_id), known.generation)
    if known.generation > generation:
        _revoke(session, now, "hub", UserSession.id == session_id, reason="refresh_token_reused")
        return Stolen(session_id)
    return None


def _role_of(session: Session, user_id: str) -> Role:
    user = session.get_one(User, user_id)
    return Role(user.role)


def revoke_session(session: Session, user_id: str, session_id: str, now: datetime) -> Revoked:
    """The user ends one of their own sessions. Once more is harmless."""
    row = session.get(UserSession, session_id)
    if row is None or row.user_id != user_id:
        raise NoSuchSession(session_id)
    return _revoke(session, now, user_id, UserSession.id == session_id, reason="signed_out")


def revoke_sessions(session: Session, user_id: str, now: datetime, *, but: str | None = None) -> Revoked:
    """The user signs out everywhere; or everywhere `but` in one session. Personal tokens stay."""
    elsewhere = [UserSession.id != but] if but is not None else []
    return _revoke(session, now, user_id, UserSession.user_id == user_id, *elsewhere, reason="signed_out_everywhere")


def change_password(
    session: Session,
    session_id: str,
    user_id: str,
    now: datetime,
    *,
    expected: str | None,
    password_hash: str,
    visitor: Visitor,
) -> tuple[OpenSession, Revoked]:
    """A new password in place of the one with the hash `expected`; None for a first one. Every session ends, and a new
    one begins. Raises BadCredentials where the password was changed meanwhile."""
    if not repository.replace_password_hash(session, user_id, expected, password_hash):
        raise BadCredentials
    record(session, "user.password_changed", user_id, now, actor=user_id, first=expected is None)
    revoked = _revoke(session, now, user_id, UserSession.user_id == user_id, reason="password_changed")
    opened = open_session(session, session_id, user_id, now, visitor=visitor, by=SignInMethod.NEW_PASSWORD)
    return opened, revoked


def change_profile(
    session: Session,
    user_id: str,
    now: datetime,
    changes: Mapping[str, Any],
) -> User:
    """`changes`: columns of the user, of those that people may change themselves."""
    user = repository.lock_user(session, user_id)
    if user is None:
        raise NoSuchUser(user_id)
    changed = {name: value for name, value in changes.items() if getattr(user, name) != value}
    for name, value in changed.items():
        setattr(user, name, value)
    if changed:
        session.flush()
        record(session, "user.changed", user_id, now, actor=user_id, fields=sorted(changed))
    return user


def create_personal_token(
    session: Session,
    token_id: str,
    token: str,
    user_id: str,
    now: datetime,
    *,
    name: str,
    scopes: frozenset[Scope],
    lifetime: timedelta,
    actor: str,
) -> LiveToken:
    user = repository.lock_user(session, user_id, shared=True)  # a change of role ends this token, or is seen here
    if user is None or user.disabled_at is not None:
        raise NoSuchUser(user_id)
    role = Role(user.role)
    if not scopes <= role.scopes:
        raise MoreThanYouHave(f"Your account cannot have the scope {', '.join(sorted(scopes - role.scopes))}.")
    if repository.count_live_tokens(session, user_id, now) >= TOKENS_EACH:
        raise TokenLimitReached(TOKENS_EACH)
    row = PersonalToken(
        id=token_id,
        user_id=user_id,
        name=name,
        hash=hash_of(token),
        scopes=sorted(scopes),
        created_at=now,
        expires_at=now + lifetime,
    )
    session.add(row)
    session.flush()
    record(session, "token.created", token_id, now, actor=actor, topics=(TOPIC, f"owner/{user_id}"), scopes=row.scopes)
    return LiveToken(token_id, row.hash, user_id, role, scopes, row.expires_at)


def revoke_personal_token(session: Session, principal: Principal, token_id: str, now: datetime) -> Revoked:
    """Once more is harmless."""
    if repository.find_token_visible_to(session, principal, token_id) is None:
        raise NoSuchToken(token_id)
    revoked = repository.revoke_live_tokens(session, PersonalToken.id == token_id, now=now)
    for each in revoked:
        record(session, "token.revoked", each, now, actor=principal.user_id, topics=(TOPIC,))
    return Revoked(tokens=revoked)


def create_one_time_token(session: Session, token: str, user_id: str, now: datetime) -> None:
    expires_at = now + ONE_TIME_LIFETIME
    session.add(OneTimeToken(hash=hash_of(token), user_id=user_id, created_at=now, expires_at=expires_at))
    session.flush()
    record(session, "sign_in_link.created", user_id, now)


def open_session_by_link(
    session: Session, session_id: str, token: str, now: datetime, *, visitor: Visitor
) -> OpenSession:
    user_id = repository.use_one_time_token(session, hash_of(token), now)
    if user_id is None:
        raise BadSignInLink
    return open_session(session, session_id, user_id, now, visitor=visitor, by=SignInMethod.ONE_TIME)


def disable_user(session: Session, user_id: str, now: datetime, *, actor: str, reason: str | None = None) -> Revoked:
    """Nothing that the user ever held opens anything any more, also after the account is enabled again. Raises
    LastAdmin: a pool needs one."""
    admins = repository.lock_admins(session)
    user = repository.lock_user(session, user_id)
    if user is None:
        raise NoSuchUser(user_id)
    if admins == [user_id]:
        raise LastAdmin(user.email)
    user.disabled_at = user.disabled_at or now
    session.flush()
    about = {"reason": reason} if reason is not None else {}
    record(session, "user.disabled", user_id, now, actor=actor, topics=(TOPIC,), **about)
    return _end_all(session, user_id, now, actor, reason="user_disabled")


def enable_user(session: Session, user_id: str, now: datetime, *, actor: str) -> None:
    user = repository.find_user(session, user_id)
    if user is None:
        raise NoSuchUser(user_id)
    user.disabled_at = None
    session.flush()
    record(session, "user.enabled", user_id, now, actor=actor, topics=(TOPIC,))


def set_email(session: Session, user_id: str, email: str, now: datetime, *, actor: str) -> None:
    """`email` as `normal_email` gives it. Whoever signs in with a password does so with this one from now on."""
    user = repository.find_user(session, user_id)
    if user is None:
        raise NoSuchUser(user_id)
    if user.email == email:
        return
    user.email = email
    try:
        session.flush()
    except IntegrityError:
        raise AddressOfAnother(email) from None
    record(session, "user.email_changed", user_id, now, actor=actor)


def set_role(session: Session, user_id: str, role: Role, now: datetime, *, actor: str) -> Revoked:
    """Tokens remember the role they were made in, so they end with it. Raises LastAdmin: a pool needs one."""
    admins = repository.lock_admins(session)
    user = repository.lock_user(session, user_id)
    if user is None:
        raise NoSuchUser(user_id)
    if user.role == role:
        return Revoked()
    if role is not Role.ADMIN and admins == [user_id]:
        raise LastAdmin(user.email)
    user.role = role.value
    session.flush()
    record(session, "user.role_changed", user_id, now, actor=actor, topics=(f"owner/{user_id}",), role=role.value)
    return _end_all(session, user_id, now, actor, reason="role_changed")


def _end_all(session: Session, user_id: str, now: datetime, actor: str, *, reason: str) -> Revoked:
    revoked = _revoke(session, now, actor, UserSession.user_id == user_id, reason=reason)
    revoked.tokens = repository.revoke_live_tokens(session, PersonalToken.user_id == user_id, now=now)
    for each in revoked.tokens:
        record(session, "token.revoked", each, now, actor=actor, topics=(TOPIC,), reason=reason)
    return revoked


def _revoke(session: Session, now: datetime, actor: str, *conditions: Any, reason: str) -> Revoked:
    sessions = repository.revoke_live_sessions(session, *conditions, now=now)
    for each in sessions:
        record(session, "session.revoked", each, now, actor=actor, topics=(TOPIC,), reason=reason)
    return Revoked(sessions=sessions)
