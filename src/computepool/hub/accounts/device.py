"""Device-code login (RFC 8628): a program shows a code, and its person approves it in a browser."""

from collections import OrderedDict
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from computepool.hub.accounts import repository
from computepool.hub.accounts.errors import DeviceLoginRefused, NoSuchUserCode
from computepool.hub.accounts.service import OpenSession, Visitor, open_session
from computepool.hub.accounts.states import DeviceState, SignInMethod
from computepool.hub.accounts.tables import DeviceLogin
from computepool.hub.accounts.tokens import hash_of
from computepool.hub.core.clock import Clock
from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.records import record

LIFETIME = timedelta(minutes=10)
POLL_SECONDS = 2
POLL_TOLERANCE_SECONDS = 0.5
POLLERS_REMEMBERED = 10_000
USER_CODE_TRIES = 5
"""Tries to find a user code that no other login has."""


def begin_device_login(
    session: Session, login_id: str, device_code: str, user_code: str, now: datetime, *, visitor: Visitor
) -> bool:
    """False: this user code is another login's; draw again."""
    is_new = insert_if_absent(
        session,
        DeviceLogin,
        ["user_code"],
        id=login_id,
        device_hash=hash_of(device_code),
        user_code=user_code,
        state=DeviceState.PENDING.value,
        user_agent=visitor.user_agent,
        address=visitor.address,
        created_at=now,
        expires_at=now + LIFETIME,
    )
    if is_new:
        record(session, "device_login.begun", login_id, now)
    return is_new


def decide_device_login(session: Session, user_code: str, user_id: str, now: datetime, *, approve: bool) -> None:
    target = DeviceState.APPROVED if approve else DeviceState.DENIED
    login_id = repository.move_device_login(session, target, now, DeviceLogin.user_code == user_code, user_id=user_id)
    if login_id is None:
        raise NoSuchUserCode
    record(session, f"device_login.{target}", login_id, now, actor=user_id)


def finish_device_login(
    session: Session, session_id: str, device_code: str, now: datetime, *, visitor: Visitor
) -> OpenSession:
    device_hash = hash_of(device_code)
    login_id = repository.move_device_login(session, DeviceState.USED, now, DeviceLogin.device_hash == device_hash)
    login = repository.find_device_login(session, device_hash)
    if login is None or login.expires_at <= now or (login_id is None and login.state == DeviceState.USED):
        raise DeviceLoginRefused("This login has expired.", code="expired", hint="Start it again.")
    if login.state == DeviceState.DENIED:
        raise DeviceLoginRefused("The login was denied in the browser.", code="denied")
    if login_id is None or login.user_id is None:
        raise DeviceLoginRefused("This login is not approved yet.", code="authorization_pending")
    record(session, "device_login.used", login_id, now, actor=login.user_id)
    return open_session(session, session_id, login.user_id, now, visitor=visitor, by=SignInMethod.DEVICE)


class PollPace:
    """Keeps impatient pollers off the database."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._polled_at: OrderedDict[str, float] = OrderedDict()

    def check(self, device_code: str) -> None:
        now, key = self._clock.monotonic(), hash_of(device_code)
        before = self._polled_at.pop(key, None)
        self._polled_at[key] = now
        if len(self._polled_at) > POLLERS_REMEMBERED:
            self._polled_at.popitem(last=False)
        if before is not None and now - before < POLL_SECONDS - POLL_TOLERANCE_SECONDS:
            raise DeviceLoginRefused(f"Too many requests: wait {POLL_SECONDS} s between them.", code="slow_down")
