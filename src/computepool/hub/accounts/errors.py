"""
PoolError
├── Unauthenticated
│   ├── BadCredentials
│   ├── BadToken                 `code` says what is wrong with it
│   └── BadSignInLink
├── Forbidden
│   ├── RegistrationClosed
│   ├── WrongPassword            not 401: the caller is signed in
│   ├── NeedsSession             a personal token does not suffice
│   ├── MoreThanYouHave          the caller does not have the rights itself
│   ├── OnlyForOwners            of a team
│   └── InvitationOfAnother
├── NotFound
│   ├── NoSuchToken, NoSuchSession, NoSuchUser
│   ├── NoSuchMember, NoSuchInvitation, BadInvitation
│   └── NoSuchUserCode
├── Conflict
│   ├── EmailTaken, AddressOfAnother, PublicNameTaken, HandleTaken
│   ├── LastAdmin, LastOwner
│   └── TokenLimitReached, TeamLimitReached, TooManyHandles
├── TooMany
│   └── TooManyTries
└── DeviceLoginRefused     400   the codes of RFC 8628: authorization_pending, slow_down, expired, denied
"""

from typing import ClassVar

from computepool.hub.core.errors import Conflict, Forbidden, NotFound, PoolError, TooMany, Unauthenticated
from computepool.protocol.errors import ErrorCode


class BadCredentials(Unauthenticated):
    code = "bad_credentials"

    def __init__(self) -> None:
        super().__init__("The email or the password is wrong.")


class BadToken(Unauthenticated):
    code: ErrorCode = "bad_token"
    codes: ClassVar[tuple[ErrorCode, ...]] = (
        "token_mistyped", "token_expired", "token_revoked", "wrong_token",
        "bad_refresh_token", "refresh_token_reused", "session_ended",
    )  # fmt: skip


class BadSignInLink(Unauthenticated):
    code = "bad_sign_in_link"

    def __init__(self) -> None:
        super().__init__(
            "This sign-in link was already used or has expired.",
            hint="Get a new one: restart `computepool up`, or run `computepool hub admin`.",
        )


class RegistrationClosed(Forbidden):
    code = "registration_closed"

    def __init__(self) -> None:
        super().__init__("Registration is closed on this pool.", hint="Ask its operator for an account.")


class WrongPassword(Forbidden):
    code = "wrong_password"

    def __init__(self) -> None:
        super().__init__("The current password is wrong.", hint="Enter the password that you sign in with.")


class NeedsSession(Forbidden):
    code = "needs_sign_in"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} cannot be changed with a personal token.", hint="Sign in with your password and try again."
        )


class MoreThanYouHave(Forbidden):
    code = "more_than_you_have"


class OnlyForOwners(Forbidden):
    code = "role_too_low"


class InvitationOfAnother(Forbidden):
    code = "invitation_of_another"

    def __init__(self) -> None:
        super().__init__(
            "This invitation is for another email address.",
            hint="Sign in with the account that has this address, or ask for an invitation to your address.",
        )


class NoSuchMember(NotFound):
    def __init__(self, user_id: str) -> None:
        super().__init__(f"The team has no member {user_id}.", hint="List them with: computepool team members TEAM")


class NoSuchInvitation(NotFound):
    def __init__(self, invitation_id: str) -> None:
        super().__init__(f"There is no invitation {invitation_id}.")


class BadInvitation(NotFound):
    code = "bad_invitation"

    def __init__(self) -> None:
        super().__init__(
            "This invitation was already used, was revoked, or has expired.", hint="Ask the team for a new one."
        )


class NoSuchToken(NotFound):
    def __init__(self, token_id: str) -> None:
        super().__init__(f"There is no token {token_id}.", hint="List your tokens with: computepool token list")


class NoSuchSession(NotFound):
    def __init__(self, session_id: str) -> None:
        super().__init__(f"There is no session {session_id}.")


class NoSuchUser(NotFound):
    def __init__(self, user_id: str) -> None:
        super().__init__(f"There is no user {user_id}.", hint="List users with: computepool admin users")


class NoSuchUserCode(NotFound):
    code = "no_such_user_code"

    def __init__(self) -> None:
        super().__init__(
            "No login is waiting for this code.", hint="Check the code. It works once, within ten minutes."
        )


class EmailTaken(Conflict):
    code = "email_taken"

    def __init__(self) -> None:
        super().__init__("An account with this email already exists.", hint="Sign in instead.")


class AddressOfAnother(Conflict):
    code = "email_taken"

    def __init__(self, email: str) -> None:
        super().__init__(f"Another account has the address {email}.", hint="Use an address that no account has.")


class PublicNameTaken(Conflict):
    code = "public_name_taken"

    def __init__(self, name: str) -> None:
        super().__init__(f"The public name {name!r} is already taken.", hint="Choose another.")


class HandleTaken(Conflict):
    code = "handle_taken"

    def __init__(self, handle: str) -> None:
        super().__init__(f"The handle {handle!r}, or one that looks like it, is already taken.", hint="Choose another.")


class TooManyHandles(Conflict):
    code = "handle_limit"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"You have had {limit} handles, which is the limit.",
            hint="Your former handles are still yours: choose one of them.",
        )


class LastOwner(Conflict):
    code = "last_owner"

    def __init__(self) -> None:
        super().__init__(
            "This is the only owner, and a team needs at least one.", hint="Make another member an owner first."
        )


class TeamLimitReached(Conflict):
    code = "team_limit"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}, which is the limit.")


class LastAdmin(Conflict):
    code = "last_admin"

    def __init__(self, email: str) -> None:
        super().__init__(
            f"{email} is the only admin, and a pool needs at least one.", hint="Make another user an admin first."
        )


class TokenLimitReached(Conflict):
    code = "token_limit"

    def __init__(self, limit: int) -> None:
        super().__init__(f"You have {limit} tokens, which is the limit.", hint="Revoke one that you no longer use.")


class TooManyTries(TooMany):
    code = "too_many_tries"

    def __init__(self, what: str, retry_after_seconds: int) -> None:
        super().__init__(f"Too many {what}.", hint=f"Try again in {retry_after_seconds} s.")
        self.retry_after_seconds = retry_after_seconds


class DeviceLoginRefused(PoolError):
    status = 400
    code = "authorization_pending"
    codes = ("slow_down", "expired", "denied")
