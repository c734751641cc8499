"""What the API takes and gives."""

import unicodedata
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from computepool.hub.accounts.tables import EMAIL_LIMIT, NAME_LIMIT, TOKEN_NAME_LIMIT
from computepool.hub.core.http import Role, Scope

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


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RegisterRequest(Request):
    email: Email
    password: Password
    name: Text
    country: Country | None = None


class LoginRequest(Request):
    email: Email
    password: Password


class RefreshRequest(Request):
    refresh_token: Token


class LogoutRequest(Request):
    refresh_token: Token | None = None


class OneTimeRequest(Request):
    token: Token


class DeviceTokenRequest(Request):
    device_code: Token


class DeviceApproveRequest(Request):
    user_code: Annotated[str, StringConstraints(max_length=40)]
    approve: bool = True
    """False: deny it, so that the program stops waiting."""


class TokenRequest(Request):
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=TOKEN_NAME_LIMIT), Plain]
    scopes: Annotated[frozenset[Scope], Field(min_length=1)] | None = None
    """Left out: all that the caller has."""
    expires_in_days: Annotated[int, Field(ge=1, le=TOKEN_DAYS_MOST)] = TOKEN_DAYS_DEFAULT


class TokenPair(BaseModel):
    access_token: str
    refresh_token: str
    expires_in: int
    """Of the access token, in seconds."""
    token_type: Literal["Bearer"] = "Bearer"
    user_id: str


class DeviceCodeView(BaseModel):
    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int


class TokenView(BaseModel):
    id: str
    name: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


class NewTokenView(TokenView):
    token: str
    """Shown this once."""


class TokenList(BaseModel):
    items: list[TokenView]
    next: str | None = None


class SessionView(BaseModel):
    id: str
    user_agent: str
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime
    current: bool


class SessionList(BaseModel):
    items: list[SessionView]
    next: str | None = None


class RoleRequest(Request):
    role: Role


class UserView(BaseModel):
    """As an admin sees somebody."""

    id: str
    email: str
    name: str
    country: str | None
    role: Role
    created_at: datetime
    disabled_at: datetime | None


class UserList(BaseModel):
    items: list[UserView]
    next: str | None = None
    """The cursor of what comes after."""


class MeView(BaseModel):
    id: str
    email: str
    name: str
    country: str | None
    role: str
    created_at: datetime
    scopes: list[str]
    """Of the token that asks."""
    token_kind: Literal["access", "personal"]
    token_id: str | None
