"""Who a bearer token belongs to, from memory.

Loaded from the truth at the start, changed after each commit that creates or revokes. It answers without input or
output, so that checking a token costs microseconds; everything here happens on the event loop's thread.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from computepool.hub.accounts.errors import BadToken
from computepool.hub.accounts.tokens import (
    ACCESS_LIFETIME,
    CLOCK_SKEW,
    PERSONAL_PREFIX,
    REFRESH_PREFIX,
    TokenSigner,
    check_personal_token,
    hash_of,
)
from computepool.hub.core.clock import Clock
from computepool.hub.core.http import Memberships, Principal, Role, Scope

VERIFIED_LIMIT = 4096
"""Access tokens whose signature need not be checked again."""
REMEMBER_REVOKED = ACCESS_LIFETIME + CLOCK_SKEW
"""A revoked session's last access token is dead by then."""
REVOKED_LIMIT = 10_000
"""Ends of personal tokens that are remembered, in case the news of their beginning comes later."""
BEARER_LIMIT = 2048
"""No token of ours is longer."""


@dataclass(frozen=True, slots=True)
class LiveToken:
    """A personal token that was not revoked."""

    id: str
    hash: str
    user_id: str
    role: Role
    scopes: frozenset[Scope]
    expires_at: datetime


@dataclass(frozen=True)
class DirectorySnapshot:
    tokens: list[LiveToken]
    revoked_sessions: list[str]
    """Only those whose access tokens may still be around."""
    disabled_users: list[str]


@dataclass
class Revoked:
    """What ended in a transaction, for the directory to hear."""

    sessions: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)


class TokenDirectory:
    def __init__(self, signer: TokenSigner, clock: Clock) -> None:
        self._signer = signer
        self._clock = clock
        self._tokens: dict[str, tuple[Principal, datetime]] = {}
        self._hash_of_token: dict[str, str] = {}
        self._revoked_tokens: OrderedDict[str, None] = OrderedDict()
        self._revoked_sessions: dict[str, datetime] = {}
        self._disabled_users: set[str] = set()
        self._memberships: dict[str, Memberships] = {}
        """By user, of those who belong to a team."""
        self.refreshing = asyncio.Lock()
        """Held from the moment in which memberships are read until they are set."""
        self._verified: OrderedDict[str, tuple[Principal, datetime]] = OrderedDict()
        self._used: dict[str, datetime] = {}

    def load(self, snapshot: DirectorySnapshot, memberships: Mapping[str, Memberships] | None = None) -> None:
        """Know this; and what was revoked while it was being read stays revoked, since nothing is ever un-revoked."""
        self._tokens.clear()
        self._hash_of_token.clear()
        self._disabled_users = set(snapshot.disabled_users)
        self._memberships = dict(memberships or {})
        self.revoke(Revoked(sessions=snapshot.revoked_sessions))
        for token in snapshot.tokens:
            self.admit_token(token)

    def authenticate(self, bearer: str) -> Principal:
        """The hub's `Authenticate`: raises BadToken."""
        now = self._clock.now()
        if bearer.startswith(PERSONAL_PREFIX):
            return self._authenticate_personal(bearer, now)
        known = self._verified.get(bearer)
        if known is None:
            known = self._verify(bearer, now)
        else:
            self._verified.move_to_end(bearer)
        principal, expires_at = known
        if expires_at <= now:
            del self._verified[bearer]
            raise BadToken("This access token has expired.", code="token_expired", hint="Get a new one: auth/refresh.")
        if principal.session_id in self._revoked_sessions or principal.user_id in self._disabled_users:
            raise _revoked()
        if principal.memberships is not self._memberships.get(principal.user_id):
            principal = self._with_teams(principal)
            self._verified[bearer] = principal, expires_at
        return principal

    def _with_teams(self, principal: Principal) -> Principal:
        """With the teams that the user belongs to now: nothing of that is in a token."""
        memberships = self._memberships.get(principal.user_id)
        home_id = principal.user_id if memberships is None else memberships.home_id
        return replace(principal, memberships=memberships, owner_ids=frozenset({home_id}), _bound={})

    def _authenticate_personal(self, bearer: str, now: datetime) -> Principal:
        known = self._tokens.get(hash_of(bearer))
        if known is None:
            check_personal_token(bearer)
            raise _revoked()
        principal, expires_at = known
        if expires_at <= now:
            raise BadToken(
                "This token has expired.", code="token_expired", hint="Create a new one: computepool token create"
            )
        if principal.user_id in self._disabled_users:
            raise _revoked()
        if principal.memberships is not self._memberships.get(principal.user_id):
            principal = self._with_teams(principal)
            self._tokens[hash_of(bearer)] = principal, expires_at
        if principal.token_id is not None:
            self._used[principal.token_id] = now
        return principal

    def still_holds(self, principal: Principal) -> bool:
        """Whether what a caller once proved was not taken back: for connections that outlive a request.

        A session's access tokens come and go while it lasts, so it is the session that is asked about.
        """
        if principal.memberships is not self._memberships.get(principal.user_id) and principal.scope is not None:
            granting = self._with_teams(principal).owners_granting(principal.scope)
            if not principal.owner_ids <= granting:
                return False
        if principal.user_id in self._disabled_users or principal.session_id in self._revoked_sessions:
            return False
        if principal.token_id is None:
            return True
        known = self._tokens.get(self._hash_of_token.get(principal.token_id, ""))
        return known is not None and known[1] > self._clock.now()

    def _verify(self, bearer: str, now: datetime) -> tuple[Principal, datetime]:
        if bearer.startswith(REFRESH_PREFIX):
            raise BadToken("A refresh token works only with auth/refresh.", code="wrong_token")
        if len(bearer) > BEARER_LIMIT:
            raise BadToken("This is not a token of this hub.")
        claims = self._signer.read_access_token(bearer, now)
        principal = Principal(
            user_id=claims.user_id,
            role=claims.role,
            scopes=claims.role.scopes,
            owner_ids=frozenset({claims.user_id}),
            kind="access",
            session_id=claims.session_id,
        )
        self._verified[bearer] = principal, claims.expires_at
        if len(self._verified) > VERIFIED_LIMIT:
            self._verified.popitem(last=False)
        return principal, claims.expires_at

    def admit_token(self, token: LiveToken) -> None:
        if token.id in self._revoked_tokens:
            return  # the news of its end was faster
        principal = Principal(
            user_id=token.user_id,
            role=token.role,
            scopes=token.scopes & token.role.scopes,
            owner_ids=frozenset({token.user_id}),
            kind="personal",
            token_id=token.id,
        )
        self._tokens[token.hash] = principal, token.expires_at
        self._hash_of_token[token.id] = token.hash

    def revoke(self, revoked: Revoked) -> None:
        for token_id in revoked.tokens:
            token_hash = self._hash_of_token.pop(token_id, None)
            if token_hash is not None:
                del self._tokens[token_hash]
            self._revoked_tokens[token_id] = None
        while len(self._revoked_tokens) > REVOKED_LIMIT:
            self._revoked_tokens.popitem(last=False)
        now = self._clock.now()
        for old in [known for known, at in self._revoked_sessions.items() if at < now - REMEMBER_REVOKED]:
            del self._revoked_sessions[old]
        self._revoked_sessions |= dict.fromkeys(revoked.sessions, now)

    def disable_user(self, user_id: str) -> None:
        self._disabled_users.add(user_id)

    def enable_user(self, user_id: str) -> None:
        self._disabled_users.discard(user_id)

    def set_memberships(self, user_id: str, memberships: Memberships | None) -> None:
        """As they are from now on; None: the user belongs to no team."""
        if memberships is None:
            self._memberships.pop(user_id, None)
        else:
            self._memberships[user_id] = memberships

    def take_used(self) -> dict[str, datetime]:
        """Personal tokens used since the last time this was asked, and when."""
        used, self._used = self._used, {}
        return used


def _revoked() -> BadToken:
    return BadToken(
        "This token was revoked or does not exist.",
        code="token_revoked",
        hint="Sign in again with: computepool login URL",
    )
