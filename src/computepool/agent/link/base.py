"""One line to the hub: messages in, messages out, in order, until it closes."""

import json
from typing import Protocol


class LinkClosed(Exception):
    """The line is gone. What was sent and not acknowledged may or may not have arrived."""


class LinkUnavailable(Exception):
    """No line could be opened.

    `blocked`: something between here and the hub refuses this kind of link, while it does answer; another kind may
    still get through. `away`: nothing answers there at all, or the hub says to come back later, which says nothing
    about the kind of link.
    """

    def __init__(self, message: str, *, blocked: bool = False, away: bool = False) -> None:
        super().__init__(message)
        self.blocked = blocked
        self.away = away


class Link(Protocol):
    async def send(self, raw: bytes) -> None:
        """Hand one message over; raises LinkClosed."""
        ...

    async def receive(self) -> bytes:
        """The next message; raises LinkClosed."""
        ...

    async def close(self) -> None:
        """End the line. Never raises; a second call does nothing."""
        ...


def carried_bytes(message: str) -> int:
    """What a message takes on a line at most: a polled one carries it as a string in another JSON."""
    return len(json.dumps(message, ensure_ascii=False).encode())
