"""What any text that people send has to be: such that every database keeps it, and that it means one thing."""

from datetime import date, datetime
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticKnownError

STORABLE = r"^[^\x00]*$"
"""The pattern of a text that can be stored: PostgreSQL keeps no zero bytes."""
MAX_STORABLE = 2**63 - 1


def _storable(number: int) -> int:
    if abs(number) > MAX_STORABLE:
        raise ValueError("it must fit in 64 bits")
    return number


StorableInt = Annotated[int, AfterValidator(_storable)]
"""For integers in paths and queries: a database has no larger one to look for. Not a bound of the schema, which says
what programs may send: none sends more."""


def _in_iso_8601(given: object) -> object:
    """pydantic takes a bare number for seconds since 1970: `since=2026` would be half an hour after that."""
    if isinstance(given, str) and "-" not in given[1:]:
        raise PydanticKnownError("datetime_parsing", {"error": "it is a bare number"})
    return given


ISO_8601 = BeforeValidator(_in_iso_8601)
"""For a day or an instant that people send."""
GivenInstant = Annotated[datetime, ISO_8601]
GivenDay = Annotated[date, ISO_8601]
