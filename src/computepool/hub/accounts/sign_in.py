"""The ways in: by password, by link, by an approved device, by refresh token. Each ends in a pair of tokens."""

from typing import Literal

import structlog
from sqlalchemy.orm import Session

from computepool.hub.accounts import device, repository, service
from computepool.hub.accounts.directory import Revoked, TokenDirectory
from computepool.hub.accounts.errors import (
    BadCredentials,
    BadToken,
    MoreThanYouHave,
    NeedsSession,
    NoSuchUser,
    NoSuchUserCode,
    RegistrationClosed,
    WrongPassword,
)
from computepool.hub.accounts.passwords import Passwords, check_password
from computepool.hub.accounts.service import OpenSession, Stolen, Visitor, normal_email
from computepool.hub.accounts.states import SignInMethod
from computepool.hub.accounts.tables import DeviceLogin
from computepool.hub.accounts.throttle import (
    NEW_DEVICES,
    PER_ADDRESS,
    PER_APPROVER,
    PER_CHANGER,
    PER_EMAIL,
    Throttle,
    new_accounts,
)
from computepool.hub.accounts.tokens import (
    ACCESS_LIFETIME,
    TokenSigner,
    new_device_code,
    new_user_code,
    read_user_code,
    show_user_code,
)
from computepool.hub.core.context import Context
from computepool.hub.core.errors import Unavailable
from computepool.hub.core.http import Principal
from computepool.hub.ledger.promotions import grant_welcome
from computepool.protocol.model import Documented

log = structlog.get_logger()

DEVICE_PAGE = "/device"


class TokenPair(Documented):
    access_token: str
    refresh_token: str | None
    """Null where it was set as a cookie."""
    expires_in: int
    """Of the access token, in seconds."""
    token_type: Literal["Bearer"] = "Bearer"
    user_id: str


class DeviceCodeView(Documented):
    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int


class SignIn:
    def __init__(self, context: Context, signer: TokenSigner, directory: TokenDirectory, passwords: Passwords) -> None:
        self._context = context
        self._signer = signer
        self._directory = directory
        self._passwords = passwords
        self._throttle = Throttle(context.clock)
        self._new_accounts = new_accounts(context.settings.limit_registrations_per_address)
        self._pace = device.PollPace(context.clock)

    async def register(
        self, visitor: Visitor, *, email: str, password: str, name: str, country: str | None
    ) -> TokenPair:
        if self._context.settings.registration == "closed":
            raise RegistrationClosed
        email = normal_email(email)
        check_password(password, email)
        self._throttle.begin((self._new_accounts, visitor.network))
        password_hash = await self._passwords.hash(password)
        context = self._context
        user_id, session_id, now = context.new_id("user"), context.new_id("session"), context.now()

        def create(session: Session) -> OpenSession:
            service.create_user(
                session, user_id, now, email=email, name=name, country=country, password_hash=password_hash
            )
            grant_welcome(session, user_id, context.settings.credits_for_newcomers, now)
            return service.open_session(
                session, session_id, user_id, now, visitor=visitor, by=SignInMethod.REGISTRATION
            )

        return self._pair(await context.db.run(create))

    async def by_password(self, visitor: Visitor, email: str, password: str) -> TokenPair:
        keys = (PER_EMAIL, email.strip().lower()), (PER_ADDRESS, visitor.network)
        self._throttle.begin(*keys)
        user = await self._context.db.read(repository.find_user_by_email, email.strip().lower())
        known_hash = user.password_hash if user is not None and user.disabled_at is None else None
        is_right = await self._passwords.verify(known_hash, password)
        if not is_right or user is None or known_hash is None:
            log.info("login.refused", address=visitor.address)
            raise BadCredentials
        self._throttle.succeeded(*keys)
        if self._passwords.needs_rehash(known_hash):
            fresh = await self._passwords.hash(password)
            await self._context.db.run(repository.replace_password_hash, user.id, known_hash, fresh)
        return self._pair(
            await self._context.db.run(
                service.open_session,
                self._context.new_id("session"),
                user.id,
                self._context.now(),
                visitor=visitor,
                by=SignInMethod.PASSWORD,
            )
        )

    async def by_link(self, visitor: Visitor, token: str) -> TokenPair:
        self._throttle.begin((PER_ADDRESS, visitor.network))
        opened = await self._context.db.run(
            service.open_session_by_link,
            self._context.new_id("session"),
            token,
            self._context.now(),
            visitor=visitor,
        )
        self._throttle.succeeded((PER_ADDRESS, visitor.network))
        return self._pair(opened)

    async def refresh(self, refresh_token: str) -> TokenPair:
        session_id, generation = self._signer.read_refresh_token(refresh_token)
        found = await self._context.db.run(service.rotate_session, session_id, generation, self._context.now())
        if isinstance(found, Stolen):
            self._directory.revoke(Revoked(sessions=[session_id]))
            log.warning("session.refresh_token_reused", session_id=session_id)
            raise BadToken(
                "This refresh token was used twice, so its session was ended.",
                code="refresh_token_reused",
                hint="Sign in again. If you did not use it twice, somebody else may have it: change your password.",
            )
        if found is None:
            raise BadToken("This session has ended.", code="session_ended", hint="Sign in again.")
        return self._pair(found)

    async def end_session(self, user_id: str, session_id: str) -> None:
        revoked = await self._context.db.run(service.revoke_session, user_id, session_id, self._context.now())
        self._directory.revoke(revoked)

    async def end_session_of(self, refresh_token: str) -> None:
        """Whoever holds any refresh token of a session, also an old one, may end it."""
        session_id, _ = self._signer.read_refresh_token(refresh_token)
        owner_id = await self._context.db.read(repository.find_user_of_session, session_id)
        if owner_id is not None:
            await self.end_session(owner_id, session_id)

    async def end_sessions(self, caller: Principal, *, keep_current: bool) -> None:
        """Sign the caller out everywhere."""
        but = caller.session_id if keep_current else None
        revoked = await self._context.db.run(service.revoke_sessions, caller.user_id, self._context.now(), but=but)
        self._directory.revoke(revoked)

    async def change_password(
        self, caller: Principal, visitor: Visitor, current: str | None, password: str
    ) -> TokenPair:
        """Ends every session of the caller and begins a new one."""
        if caller.session_id is None:
            raise NeedsSession("A password")
        user = await self._context.db.read(repository.find_user, caller.user_id)
        if user is None:
            raise NoSuchUser(caller.user_id)
        check_password(password, user.email, field="new_password")
        if user.password_hash is not None:
            key = PER_CHANGER, caller.user_id
            self._throttle.begin(key)
            if not await self._passwords.verify(user.password_hash, current or ""):
                raise WrongPassword
            self._throttle.succeeded(key)
        password_hash = await self._passwords.hash(password)
        opened, revoked = await self._context.db.run(
            service.change_password,
            self._context.new_id("session"),
            user.id,
            self._context.now(),
            expected=user.password_hash,
            password_hash=password_hash,
            visitor=visitor,
        )
        self._directory.revoke(revoked)
        return self._pair(opened)

    async def begin_device(self, visitor: Visitor, hub_url: str) -> DeviceCodeView:
        self._throttle.begin((NEW_DEVICES, visitor.network))
        context = self._context
        device_code = new_device_code(context.randbits)
        for _ in range(device.USER_CODE_TRIES):
            user_code = new_user_code(context.randbits)
            login_id = context.new_id("device")
            if await context.db.run(
                device.begin_device_login, login_id, device_code, user_code, context.now(), visitor=visitor
            ):
                page = hub_url.rstrip("/") + DEVICE_PAGE
                shown = show_user_code(user_code)
                return DeviceCodeView(
                    device_code=device_code,
                    user_code=shown,
                    verification_uri=page,
                    verification_uri_complete=f"{page}?code={shown}",
                    expires_in=int(device.LIFETIME.total_seconds()),
                    interval=device.POLL_SECONDS,
                )
        raise Unavailable("No login code is available at the moment.", hint="Try again.")

    async def look_at_device(self, caller: Principal, typed_code: str) -> DeviceLogin:
        """The login that waits for this code. A guess counts as one at `decide_device` does."""
        key = PER_APPROVER, caller.user_id
        self._throttle.begin(key)
        user_code, now = read_user_code(typed_code), self._context.now()
        found = await self._context.db.read(repository.find_waiting_device_login, user_code, now)
        if found is None:
            raise NoSuchUserCode
        self._throttle.succeeded(key)
        return found

    async def decide_device(self, caller: Principal, typed_code: str, *, approve: bool) -> None:
        if approve and not caller.scopes >= caller.role.scopes:
            raise MoreThanYouHave(
                "The device would get all rights of your account, but this token has only some of them.",
                hint="Approve the device in a browser in which you are signed in with your password.",
            )
        key = PER_APPROVER, caller.user_id
        self._throttle.begin(key)
        user_code, now = read_user_code(typed_code), self._context.now()
        await self._context.db.run(device.decide_device_login, user_code, caller.user_id, now, approve=approve)
        self._throttle.succeeded(key)

    async def by_device(self, visitor: Visitor, device_code: str) -> TokenPair:
        self._pace.check(device_code)
        return self._pair(
            await self._context.db.run(
                device.finish_device_login,
                self._context.new_id("session"),
                device_code,
                self._context.now(),
                visitor=visitor,
            )
        )

    def _pair(self, opened: OpenSession) -> TokenPair:
        access = self._signer.access_token(
            opened.user_id, opened.id, opened.role, self._context.new_id("access"), self._context.now()
        )
        return TokenPair(
            access_token=access,
            refresh_token=self._signer.refresh_token(opened.id, opened.generation),
            expires_in=int(ACCESS_LIFETIME.total_seconds()),
            user_id=opened.user_id,
        )
