"""What a request may have: the parameters that its route knows, each once, and so many bytes."""

from collections.abc import Mapping
from typing import Any, get_args, get_origin

from fastapi.dependencies.models import Dependant
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive
from starlette.types import Scope as AsgiScope

from computepool.hub.core.edge import Connection
from computepool.hub.core.errors import Invalid, PoolError, TooLarge
from computepool.protocol.errors import FieldError
from computepool.protocol.units import nearest


def parameters_of(dependant: Dependant) -> dict[str, bool]:
    """Of a handler and of what it depends on: the name of each parameter, and whether it takes several values."""
    found = {parameter.alias: _takes_several(parameter.field_info.annotation) for parameter in dependant.query_params}
    for below in dependant.dependencies:
        found |= parameters_of(below)
    return dict(sorted(found.items()))


def _takes_several(annotation: Any) -> bool:
    """Whether a value of this type may be a list."""
    kind = get_origin(annotation) or annotation
    return kind in (list, set, frozenset, tuple) or any(_takes_several(part) for part in get_args(annotation))


def check_query(query: bytes, known: Mapping[str, bool]) -> None:
    """Refuse a parameter that is not known, and one that comes again though it takes one value: a filter must not be
    dropped in silence. `known`: by name, whether a parameter takes several values."""
    seen: set[str] = set()
    for name, _ in QueryParams(query).multi_items() if query else ():
        if name not in known:
            raise _unknown(name, list(known))
        if name in seen and not known[name]:
            field = FieldError(field=name, message="takes one value, and came more than once")
            raise Invalid(f"The parameter {name!r} came more than once.", hint="Send it once.", fields=[field])
        seen.add(name)


def _unknown(name: str, known: list[str]) -> Invalid:
    meant = nearest(name, known)
    hint = f"Known are {', '.join(known)}." if known else "There are none."
    hint = f"Did you mean {meant}? {hint}" if meant else hint
    field = FieldError(field=name[:60], message="is not known here", hint=meant)
    return Invalid(f"There is no parameter {name[:60]!r} here.", hint=hint, fields=[field])


def bounded(scope: AsgiScope, receive: Receive, limit_bytes: int) -> Receive:
    """The server keeps a declared length; only a body without one is counted as it comes."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            if int(value) > limit_bytes:
                raise TooLarge(_too_large(limit_bytes))
            return receive
    received_bytes = 0

    async def counting() -> Message:
        nonlocal received_bytes
        message = await receive()
        received_bytes += len(message.get("body", b""))
        if received_bytes > limit_bytes:
            raise HTTPException(413, _too_large(limit_bytes))  # FastAPI takes others, while it reads, for a broken body
        return message

    return counting


def held(connection: Connection, receive: Receive) -> Receive:
    """What unknown senders make the hub keep is bounded for all of them together."""

    async def holding() -> Message:
        message = await receive()
        try:
            connection.hold(len(message.get("body", b"")))
        except PoolError as error:
            raise HTTPException(error.status) from error  # as above
        return message

    return holding


def _too_large(limit_bytes: int) -> str:
    return f"The request is larger than the {limit_bytes} bytes taken here."
