"""What a request may have: the parameters that its route knows, and so many bytes."""

from fastapi.dependencies.models import Dependant
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive
from starlette.types import Scope as AsgiScope

from computepool.hub.core.edge import Connection
from computepool.hub.core.errors import Invalid, PoolError, TooLarge
from computepool.protocol.errors import FieldError
from computepool.protocol.units import nearest


def parameters_of(dependant: Dependant) -> set[str]:
    """Of a handler and of what it depends on."""
    own = {parameter.alias for parameter in dependant.query_params}
    return own.union(*(parameters_of(below) for below in dependant.dependencies))


def refuse_unknown(query: bytes, known: list[str]) -> None:
    for name in QueryParams(query) if query else ():
        if name not in known:
            meant = nearest(name, known)
            hint = f"Known are {', '.join(known)}." if known else "There are none."
            hint = f"Did you mean {meant}? {hint}" if meant else hint
            field = FieldError(field=name[:60], message="is not known here", hint=meant)
            raise Invalid(f"There is no parameter {name[:60]!r} here.", hint=hint, fields=[field])


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
