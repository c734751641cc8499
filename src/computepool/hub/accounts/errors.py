"""
PoolError
├── Unauthenticated
│   ├── BadCredentials
│   ├── BadToken                 `code` says what is wrong with it
│   └── BadSignInLink
├── Forbidden
│   ├── RegistrationClosed
│   ├── WrongPassword            not 401: whoever asks is signed in
│   ├── NeedsSession             a personal token does not suffice
│   ├── MoreThanYouHave          nobody hands on rights that they do not have
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
            "This sign-in link was used already, or has expired.", hint="Start the hub again, and it prints a new one."
        )


class RegistrationClosed(Forbidden):
    code = "registration_closed"

    def __init__(self) -> None:
        super().__init__("This pool takes no new accounts by itself.", hint="Ask its operator for one.")


class WrongPassword(Forbidden):
    code = "wrong_password"

    def __init__(self) -> None:
        super().__init__("The current password is wrong.", hint="Type the password that you sign in with now.")


class NeedsSession(Forbidden):
    code = "needs_sign_in"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} cannot be changed with a personal token.", hint="Sign in, and use the session's access token."
        )


class MoreThanYouHave(Forbidden):
    code = "more_than_you_have"


class OnlyForOwners(Forbidden):
    code = "role_too_low"


class InvitationOfAnother(Forbidden):
    code = "invitation_of_another"

    def __init__(self) -> None:
        super().__init__(
            "This invitation is for another email address than that of your account.",
            hint="Sign in with the account that has the address, or ask for an invitation to yours.",
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
            "This invitation was used or taken back, or has expired.", hint="Ask the team for another one."
        )


class NoSuchToken(NotFound):
    def __init__(self, token_id: str) -> None:
        super().__init__(f"There is no token {token_id}.", hint="List yours with: computepool token list")


class NoSuchSession(NotFound):
    def __init__(self, session_id: str) -> None:
        super().__init__(f"There is no session {session_id}.")


class NoSuchUser(NotFound):
    def __init__(self, user_id: str) -> None:
        super().__init__(f"There is no user {user_id}.", hint="Who is here: computepool admin users")


class NoSuchUserCode(NotFound):
    code = "no_such_user_code"

    def __init__(self) -> None:
        super().__init__(
            "No login waits for this code.", hint="Check the letters; a code is good for ten minutes and one use."
        )


class EmailTaken(Conflict):
    code = "email_taken"

    def __init__(self) -> None:
        super().__init__("There is an account with this email already.", hint="Sign in instead.")


class AddressOfAnother(Conflict):
    code = "email_taken"

    def __init__(self, email: str) -> None:
        super().__init__(f"Another account has the address {email}.", hint="Use an address that no account has.")


class PublicNameTaken(Conflict):
    code = "public_name_taken"

    def __init__(self, name: str) -> None:
        super().__init__(f"The public name {name!r} belongs to somebody else.", hint="Choose another.")


class HandleTaken(Conflict):
    code = "handle_taken"

    def __init__(self, handle: str) -> None:
        super().__init__(
            f"The handle {handle!r}, or one that looks like it, belongs to somebody else.", hint="Choose another."
        )


class TooManyHandles(Conflict):
    code = "handle_limit"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"You had {limit} handles, which is the most: former ones stay yours.", hint="Take one of them again."
        )


class LastOwner(Conflict):
    code = "last_owner"

    def __init__(self) -> None:
        super().__init__("A team needs an owner, and this is the only one.", hint="Make another member an owner first.")


class TeamLimitReached(Conflict):
    code = "team_limit"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}, which is the most.")


class LastAdmin(Conflict):
    code = "last_admin"

    def __init__(self, email: str) -> None:
        super().__init__(
            f"{email} is the only admin, and somebody has to run the pool.", hint="Make somebody else one first."
        )


class TokenLimitReached(Conflict):
    code = "token_limit"

    def __init__(self, limit: int) -> None:
        super().__init__(f"You have {limit} tokens, which is the most.", hint="Revoke one that you no longer use.")


class TooManyTries(TooMany):
    code = "too_many_tries"

    def __init__(self, what: str, retry_after_seconds: int) -> None:
        super().__init__(f"Too many {what}.", hint=f"Try again in {retry_after_seconds} s.")
        self.retry_after_seconds = retry_after_seconds


class DeviceLoginRefused(PoolError):
    status = 400
    code = "authorization_pending"
    codes = ("slow_down", "expired", "denied")
