"""What the routes about teams take and give."""

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from computepool.hub.accounts.handles import MAX_LENGTH
from computepool.hub.api.account_views import TOKEN_DAYS_DEFAULT, TOKEN_DAYS_MOST, Email, Plain, Text, Token
from computepool.hub.core.http import Scope, TeamRole
from computepool.protocol.model import Documented

HandleText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2 * MAX_LENGTH), Plain]


class TeamBody(Documented):
    model_config = ConfigDict(extra="forbid")


class TeamRequest(TeamBody):
    handle: HandleText
    """Its public and unique name, such as my-lab: letters a-z, digits and hyphens."""
    name: Text | None = None
    """As people write it; left out: the handle."""


class TeamChange(TeamBody):
    """What is left out stays as it is."""

    handle: HandleText | None = None
    """The former one still leads to the team."""
    name: Text | None = None


class TeamView(Documented):
    id: str
    handle: str
    name: str
    created_at: datetime
    role: TeamRole
    """The caller's."""
    scopes: list[Scope]
    """What that role may do within the team, if the caller's token may too."""


class TeamList(Documented):
    items: list[TeamView]


class MemberView(Documented):
    user_id: str
    handle: str
    name: str
    email: str | None
    """null for a service account, and for a reader who is no owner or admin of the team."""
    role: TeamRole
    joined_at: datetime
    """When they came to the team."""
    service: bool
    """A service account: for programs, managed by the team."""


class MemberList(Documented):
    items: list[MemberView]
    next: str | None = None


class MemberChange(TeamBody):
    role: TeamRole


class InvitationRequest(TeamBody):
    email: Email
    """Only an account with this address can accept it."""
    role: TeamRole = TeamRole.MEMBER


class InvitationView(Documented):
    id: str
    email: str
    role: TeamRole
    invited_by: str
    """The user."""
    created_at: datetime
    expires_at: datetime


class InvitationList(Documented):
    items: list[InvitationView]


class NewInvitationView(InvitationView):
    token: str
    """Shown this once. Give it to the person: `computepool team join TOKEN`."""


class AcceptRequest(TeamBody):
    token: Token


class ServiceAccountRequest(TeamBody):
    name: Text
    role: TeamRole = TeamRole.MEMBER
    """`member` or `viewer`."""
    scopes: Annotated[frozenset[Scope], Field(min_length=1)] | None = None
    """Of its token; left out: all of its role that the caller's token has too."""
    expires_in_days: Annotated[int, Field(ge=1, le=TOKEN_DAYS_MOST)] = TOKEN_DAYS_DEFAULT


class ServiceTokenRequest(TeamBody):
    scopes: Annotated[frozenset[Scope], Field(min_length=1)] | None = None
    """Left out: all of the account's role that the caller's token has too."""
    expires_in_days: Annotated[int, Field(ge=1, le=TOKEN_DAYS_MOST)] = TOKEN_DAYS_DEFAULT


class ServiceTokenView(Documented):
    user_id: str
    """Of the service account."""
    token_id: str
    token: str
    """Shown this once."""
    scopes: list[Scope]
    expires_at: datetime
