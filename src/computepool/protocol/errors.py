"""What a client is told when something is refused. Clients match on `code`, never on text."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator

SIGNED_OUT = 4401
"""Closes a stream whose reader's token was revoked meanwhile."""


def _encodable(text: object) -> object:
    """JSON can write half of a surrogate pair, which no UTF-8 can: what is told back shows its escape instead."""
    return text.encode(errors="backslashreplace").decode() if isinstance(text, str) else text


Words = Annotated[str, BeforeValidator(_encodable)]
"""May quote what a stranger sent."""


class FieldError(BaseModel):
    field: Words
    message: Words
    value: Words | None = None
    hint: Words | None = None


class ErrorDetail(BaseModel):
    code: str
    message: Words
    hint: Words | None = None
    fields: list[FieldError] | None = None


class ErrorBody(BaseModel):
    error: ErrorDetail
