"""What waits to be sent: heartbeats, then reports, then logs, one chunk of each attempt in turn.

So a flood of one job delays neither a heartbeat nor the first line of its neighbour. While no line is up nothing is
kept here: reports and logs have their own memory, and are queued again when the next line is.
"""

import asyncio
from collections import deque
from typing import Protocol

from computepool.protocol.model import Wire


class LogSource(Protocol):
    def next_chunk(self) -> Wire | None:
        """The next piece to send, or None when there is nothing for now."""
        ...


class Outgoing:
    def __init__(self) -> None:
        self._messages: deque[Wire] = deque()
        self._sources: deque[LogSource] = deque()
        self._queued: set[LogSource] = set()
        self._news = asyncio.Event()
        self.open = False

    def begin(self) -> None:
        """A new line is up."""
        self.end()
        self.open = True

    def end(self) -> None:
        self.open = False
        self._messages.clear()
        self._sources.clear()
        self._queued.clear()
        self._news.clear()

    def put(self, message: Wire) -> None:
        if self.open:
            self._messages.append(message)
            self._news.set()

    def put_first(self, message: Wire) -> None:
        """For what must not wait behind anything: a heartbeat."""
        if self.open:
            self._messages.appendleft(message)
            self._news.set()

    def log_ready(self, source: LogSource) -> None:
        if self.open and source not in self._queued:
            self._queued.add(source)
            self._sources.append(source)
            self._news.set()

    async def next(self) -> bytes:
        """The next message to send, as bytes."""
        while True:
            if self._messages:
                return self._messages.popleft().to_bytes()
            while self._sources:
                source = self._sources.popleft()
                self._queued.discard(source)
                chunk = source.next_chunk()
                if chunk is not None:
                    self.log_ready(source)
                    return chunk.to_bytes()
            self._news.clear()
            await self._news.wait()

    @property
    def is_empty(self) -> bool:
        return not self._messages and not self._sources
