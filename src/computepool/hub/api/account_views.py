"""What the API takes and gives."""

import unicodedata
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StringConstraints

from computepool.hub.accounts.states import SignInMethod
from computepool.hub.accounts.tables import EMAIL_LIMIT, NAME_LIMIT, TOKEN_NAME_LIMIT
from computepool.hub.core.actions import ActionView
from computepool.hub.core.http import Role, Scope, TeamRole
from computepool.hub.core.money import MONEY, Micros
from computepool.protocol.model import Documented

TOKEN_DAYS_DEFAULT = 90
TOKEN_DAYS_MOST = 366


def _plain(text: str) -> str:
    """Nothing that moves a cursor, ends a line of a mail's head, or that one database stores and another does not."""
    if any(unicodedata.category(letter) == "Cc" for letter in text):
        raise ValueError("has a control character in it")
    return text


Plain = AfterValidator(_plain)
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=NAME_LIMIT), Plain]
Email = Annotated[str, StringConstraints(strip_whitespace=True, max_length=EMAIL_LIMIT), Plain]
Country = Annotated[str, StringConstraints(strip_whitespace=True, to_upper=True, pattern=r"^[A-Za-z]{2}$")]
"""ISO 3166, two letters."""
Token = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Password = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class Request(Documented):
    model_config = ConfigDict(extra="forbid")


class SessionRequest(Request):
    browser: StrictBool = False
    """The session is a browser's: where the hub has an https address and the request comes from its own page, the
    refresh token is set as a cookie and is null in the answer. Elsewhere the answer has it."""


class RegisterRequest(SessionRequest):
    email: Email
    password: Password
    name: Text
    country: Country | None = None


class LoginRequest(SessionRequest):
    email: Email
    password: Password


class RefreshRequest(SessionRequest):
    refresh_token: Token | None = None
    """Left out: the one in the browser's cookie."""


class LogoutRequest(Request):
    refresh_token: Token | None = None


class PasswordRequest(SessionRequest):
    current_password: Password | None = None
    """Left out where the account has none yet, as that of somebody who came by a sign-in link."""
    new_password: Password


class MailPreferences(Documented):
    """Which mails the user wants. Mails to admins about the pool itself cannot be turned off."""

    jobs: bool
    """Jobs of the user that ended."""
    money: Annotated[bool | None, MONEY]
    """Top-ups, the card, cash-outs, restitution, storage. null where the pool works without money."""
    disputes: bool
    nodes: bool
    """Findings about the user's nodes, and decisions about contested ones."""


class MailPreferencesChange(Request):
    jobs: StrictBool | None = None
    money: StrictBool | None = None
    disputes: StrictBool | None = None
    nodes: StrictBool | None = None


class MeChange(Request):
    """What is left out stays as it is."""

    name: Text | None = None
    country: Country | None = None
    """null: no country."""
    mails: MailPreferencesChange | None = None
    handle: Annotated[str, StringConstraints(max_length=100)] | None = None
    """Another handle; the former one still leads to the caller, and nobody else gets it."""
    public_name: Annotated[str, StringConstraints(max_length=100)] | None = None
    """Show the caller under this name on the leaderboard and beside their nodes; null: show nothing of them."""


class DeviceLookRequest(Request):
    user_code: Annotated[str, StringConstraints(max_length=40)]


class DeviceLoginView(Documented):
    """A login that waits for approval."""

    user_code: str
    user_agent: str
    """What the program calls itself: anybody can claim any name."""
    address: str
    """The network address that it began from."""
    same_address: bool
    """Whether that is the address of whoever looks at it."""
    created_at: datetime
    age_seconds: int
    expires_at: datetime
    scopes: list[Scope]
    """What it will be able to do, once approved."""


class OneTimeRequest(SessionRequest):
    token: Token


class DeviceTokenRequest(Request):
    device_code: Token


class DeviceApproveRequest(Request):
    user_code: Annotated[str, StringConstraints(max_length=40)]
    approve: StrictBool = True
    """False: deny it, so that the program stops waiting."""


class TokenRequest(Request):
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=TOKEN_NAME_LIMIT), Plain]
    scopes: Annotated[frozenset[Scope], Field(min_length=1)] | None = None
    """Left out: all that the caller has."""
    expires_in_days: Annotated[int, Field(ge=1, le=TOKEN_DAYS_MOST)] = TOKEN_DAYS_DEFAULT


class TokenView(Documented):
    id: str
    name: str
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


class NewTokenView(TokenView):
    token: str
    """Shown this once."""


class TokenList(Documented):
    items: list[TokenView]
    next: str | None = None


class SessionView(Documented):
    id: str
    user_agent: str
    """What the program calls itself."""
    address: str | None
    """The network address that signed in; null where that is not known."""
    method: SignInMethod | None
    """How it signed in; null where that is not known."""
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime
    current: bool
    """Whether it is the session that asks."""


class SessionList(Documented):
    items: list[SessionView]
    next: str | None = None


class RoleRequest(Request):
    role: Role


class UserActions(Documented):
    """What an admin may do about somebody."""

    disable: ActionView
    """Close the account."""
    enable: ActionView
    """Open it again."""
    change_role: ActionView
    """Make them an admin, or no longer."""


class UserView(Documented):
    """As an admin sees somebody."""

    id: str
    email: str
    name: str
    country: str | None
    role: Role
    created_at: datetime
    disabled_at: datetime | None
    nodes: int
    """Nodes that they own, without banned ones."""
    open_jobs: int
    """Jobs of theirs that wait or run."""
    spendable_micros: Micros
    """What they can spend."""
    earnings_micros: Micros
    """What they earned and did not cash out."""
    debt_micros: Micros
    """What they owe."""
    actions: UserActions
    """What an admin may do about them."""


class UserList(Documented):
    items: list[UserView]
    next: str | None = None
    """The cursor of what comes after."""
    total: int | None = None


class MyTeam(Documented):
    id: str
    handle: str
    role: TeamRole
    """The caller's."""


class MeView(Documented):
    id: str
    email: str
    name: str
    country: str | None
    role: Role
    created_at: datetime
    scopes: list[Scope]
    """Of the token that asks."""
    token_kind: Literal["access", "personal"]
    token_id: str | None
    session_id: str | None
    """Of the session that an access token belongs to."""
    has_password: bool
    mails: MailPreferences
    public_name: str | None
    """The name on the leaderboard and beside the caller's nodes; null for a caller who is not shown there."""
    handle: str
    """The caller's unique name in addresses and links."""
    teams: list[MyTeam]
    """That the caller belongs to."""
    managed_by: str | None
    """The team whose service account the caller is; null for a person."""
