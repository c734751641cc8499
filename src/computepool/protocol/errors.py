"""What a client is told when something is refused. Clients match on `code`, never on text."""

from pydantic import BaseModel

SIGNED_OUT = 4401
"""Closes a stream whose reader's token was revoked meanwhile."""


class FieldError(BaseModel):
    field: str
    message: str
    value: str | None = None
    hint: str | None = None


class ErrorDetail(BaseModel):
    code: str
    message: str
    hint: str | None = None
    fields: list[FieldError] | None = None


class ErrorBody(BaseModel):
    error: ErrorDetail
