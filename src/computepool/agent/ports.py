"""What the agent needs from the world, as small interfaces: the simulation passes in its own.

Real ones: `link.failover.Connections`, `transfer.HttpTransfer`, `output.PipeOutput`, `offload_to_threads`.
"""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, BinaryIO, ParamSpec, Protocol, TypeVar

from computepool.agent.link.base import Link

P = ParamSpec("P")
T = TypeVar("T")

RETRY_AFTER_LIMIT_SECONDS = 15.0
"""Well within a lease."""


class Offload(Protocol):
    """Runs a blocking function off the event loop."""

    async def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...


async def offload_to_threads(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.to_thread(function, *args, **kwargs)


def allow_open_files(wanted: int) -> None:
    """As many as the system lets this process have, where it began with fewer than it needs."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted + 256:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class LinkKind(StrEnum):
    WEBSOCKET = "websocket"
    LONG_POLL = "long_poll"


class Connect(Protocol):
    """Opens a line to the hub, before any handshake. Raises LinkUnavailable."""

    async def __call__(self, kind: LinkKind) -> Link: ...


class TransferFailed(Exception):
    """A transfer did not come through. `retry` says whether the same URL may be tried again."""

    def __init__(self, message: str, *, retry: bool) -> None:
        super().__init__(message)
        self.retry = retry


def asked_to_wait_seconds(status: int, headers: Mapping[str, str]) -> float:
    """How long a server that was asked too often wants to be left alone."""
    value = headers.get("Retry-After", "")
    if status not in {429, 503} or not value.isdecimal():
        return 0.0
    return min(float(value), RETRY_AFTER_LIMIT_SECONDS)


class Sink(Protocol):
    """Where a download goes: `begin` says from which byte of the resource the following data starts."""

    def begin(self, offset: int) -> None: ...

    def write(self, data: bytes) -> None: ...


class Transfer(Protocol):
    async def download(self, url: str, *, offset: int, sink: Sink) -> None:
        """Everything from `offset` on; a server that cannot do ranges makes it begin at 0 again."""
        ...

    async def upload(
        self, url: str, file: BinaryIO, *, offset: int, size_bytes: int, headers: Mapping[str, str]
    ) -> None:
        """Put that part of the file, raw, with these headers."""
        ...


class Output(Protocol):
    """A running command's output. Calls `on_data` with each piece, and `on_end` once, when it is closed."""

    def start(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None: ...

    def pause(self) -> None:
        """Read nothing for now: the command feels it as a full pipe."""
        ...

    def resume(self) -> None: ...

    def close(self) -> None:
        """Take what is there at once, then end, even if somebody still holds the other side open."""
        ...


OpenOutput = Callable[[Any], Output]
"""Makes the output of a started sandbox process readable."""
