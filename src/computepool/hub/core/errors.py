"""
PoolError                  everything a client can be told: a stable code, an HTTP status, a message, a hint
├── Invalid          422   the request makes no sense; `fields` says where
├── Unauthenticated  401   who are you?
├── Forbidden        403   not yours to do
├── NotFound         404   it does not exist, or not for you
├── Conflict         409   not in this state
├── TooLarge         413
├── TooMany          429
└── Unavailable      503   later, perhaps

Each feature derives its own from these. Clients match on `code`, never on text; the message says what happened, the
hint what to do next.
"""

from collections.abc import Sequence
from typing import ClassVar

from computepool.protocol.errors import ErrorBody, ErrorCode, ErrorDetail, FieldError


class PoolError(Exception):
    status: ClassVar[int] = 500
    code: ErrorCode = "internal"
    codes: ClassVar[tuple[ErrorCode, ...]] = ()
    """Further codes that it is raised with."""
    retry_after_seconds: int | None = None

    def __init__(
        self,
        message: str,
        *,
        code: ErrorCode | None = None,
        hint: str | None = None,
        fields: Sequence[FieldError] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.fields = fields
        if code is not None:
            self.code = code

    def body(self) -> ErrorBody:
        fields = list(self.fields) if self.fields is not None else None
        return ErrorBody(error=ErrorDetail(code=self.code, message=self.message, hint=self.hint, fields=fields))


class Invalid(PoolError):
    status = 422
    code: ErrorCode = "invalid"


class Unauthenticated(PoolError):
    status = 401
    code: ErrorCode = "unauthenticated"
    codes: ClassVar[tuple[ErrorCode, ...]] = (
        "bad_token",
        "token_mistyped",
        "token_expired",
        "token_revoked",
        "wrong_token",
    )
    """What is wrong with a token, wherever one is needed."""


class Forbidden(PoolError):
    status = 403
    code: ErrorCode = "forbidden"


class NotFound(PoolError):
    status = 404
    code: ErrorCode = "not_found"


class Conflict(PoolError):
    status = 409
    code: ErrorCode = "conflict"


class TooLarge(PoolError):
    status = 413
    code: ErrorCode = "too_large"


class TooMany(PoolError):
    status = 429
    code: ErrorCode = "too_many_requests"


class Unavailable(PoolError):
    status = 503
    code: ErrorCode = "unavailable"
