"""The SDK that a renter imports.

    from computepool.client import Pool

    with Pool() as pool:
        job = pool.submit({"run": "python3 -c 'print(6*7)'"})
        for chunk in pool.logs(job.id, follow=True):
            sys.stdout.buffer.write(chunk.data)

Owns: talking to a hub on a person's behalf. Uses: the protocol. Never: the hub's or the agent's own code.
Names are loaded when they are first used, so that a command that needs none of them starts at once.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from computepool.client.errors import (
        BadRequest,
        ClientError,
        Conflict,
        Forbidden,
        HubError,
        HubUnreachable,
        NotFound,
        NotSignedIn,
        TransferError,
    )
    from computepool.client.logs import LogChunk
    from computepool.client.models import Job, Node, Why
    from computepool.client.pool import Pool
    from computepool.protocol.verification import Check, verify

__all__ = [
    "BadRequest",
    "Check",
    "ClientError",
    "Conflict",
    "Forbidden",
    "HubError",
    "HubUnreachable",
    "Job",
    "LogChunk",
    "Node",
    "NotFound",
    "NotSignedIn",
    "Pool",
    "TransferError",
    "Why",
    "verify",
]

_HOMES = {
    "Pool": "pool",
    "Job": "models",
    "Node": "models",
    "Why": "models",
    "LogChunk": "logs",
}
_FROM_PROTOCOL = ("Check", "verify")


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = f"{__name__}.{_HOMES.get(name, 'errors')}"
    if name in _FROM_PROTOCOL:
        home = "computepool.protocol.verification"
    return getattr(importlib.import_module(home), name)
