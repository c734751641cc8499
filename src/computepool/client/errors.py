"""
ClientError                 everything that this package raises: a stable code, a message, a hint
├── HubUnreachable          no answer, after patient retries
├── InsecureAddress         plain HTTP beyond loopback, which nobody asked for
├── WrongKey                the hub's certificate is not for the key that was pinned
├── TransferError           bytes that do not arrive, or not as they were sent
└── HubError                the hub refused; `status` is HTTP's
    ├── NotSignedIn   401
    ├── Forbidden     403
    ├── NotFound      404
    ├── Conflict      409
    └── BadRequest    400, 413, 422; `fields` says where

Match on `code` or on the class, never on the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WrongField:
    field: str
    message: str
    value: str | None = None
    hint: str | None = None


class ClientError(Exception):
    code = "client_error"
    retry_after_seconds = 0.0
    """How long the hub asked to wait, if it did."""

    def __init__(self, message: str, *, hint: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code


class HubUnreachable(ClientError):
    code = "hub_unreachable"


class InsecureAddress(ClientError):
    code = "insecure_address"


class WrongKey(ClientError):
    code = "wrong_key"


class TransferError(ClientError):
    code = "transfer_failed"


class HubError(ClientError):
    code = "hub_error"

    def __init__(
        self,
        message: str,
        *,
        status: int,
        hint: str | None = None,
        code: str | None = None,
        fields: Sequence[WrongField] = (),
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.status = status
        self.fields = tuple(fields)


class NotSignedIn(HubError):
    code = "unauthenticated"


class Forbidden(HubError):
    code = "forbidden"


class NotFound(HubError):
    code = "not_found"


class Conflict(HubError):
    code = "conflict"


class BadRequest(HubError):
    code = "invalid"


_CLASSES: dict[int, type[HubError]] = {
    400: BadRequest,
    401: NotSignedIn,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: BadRequest,
    422: BadRequest,
}


def error_from(status: int, body: object) -> HubError:
    """The exception for a refusal. A body that is not ours (a proxy's page) still gives a usable message."""
    kind = _CLASSES.get(status, HubError)
    detail = body.get("error") if isinstance(body, dict) else None
    if not isinstance(detail, dict):
        return kind(f"The hub answered {status}.", status=status, hint=_hint_without_detail(status))
    fields = [
        WrongField(
            str(item.get("field", "")),
            str(item.get("message", "")),
            _text(item.get("value")),
            _text(item.get("hint")),
        )
        for item in detail.get("fields") or ()
        if isinstance(item, dict)
    ]
    return kind(
        str(detail.get("message") or f"The hub answered {status}."),
        status=status,
        code=_text(detail.get("code")),
        hint=_text(detail.get("hint")),
        fields=fields,
    )


def _hint_without_detail(status: int) -> str | None:
    if status == 404:
        return "Is this the address of a ComputePool hub, and is the hub as new as this client?"
    return None if status < 500 else "The hub's log says more; trying again may help."


def _text(value: object) -> str | None:
    return None if value is None else str(value)
