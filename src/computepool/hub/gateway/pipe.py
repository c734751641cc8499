"""One link to one agent, whatever carries it: a WebSocket, long polls, or the simulation's memory."""

from typing import Protocol


class PipeClosed(Exception):
    """The other side is gone."""


class Pipe(Protocol):
    async def receive(self) -> bytes | str: ...

    async def send(self, raw: bytes) -> None: ...

    async def close(self) -> None: ...
