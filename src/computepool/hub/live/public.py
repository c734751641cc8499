"""The pool in numbers, for everybody: one rendering for all readers, at most once a second, while there are any."""

import asyncio
from collections.abc import AsyncGenerator, Callable

import structlog

from computepool.hub.live.feed import Feed, Reader
from computepool.protocol.events import PublicMessage

PUBLIC_TOPIC = "public"
ROUND_SECONDS = 1.0

log = structlog.get_logger()


class PublicBoard:
    def __init__(self, feed: Feed, look: Callable[[], PublicMessage]) -> None:
        self._feed = feed
        self._look = look
        self._shown: PublicMessage | None = None
        self._text = ""
        self._looked_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    def current(self) -> str:
        """Not older than a second."""
        now = asyncio.get_running_loop().time()
        if now - self._looked_at >= ROUND_SECONDS:
            self._looked_at = now
            found = self._look()
            if self._shown is None or _figures(found) != _figures(self._shown):
                self._shown, self._text = found, found.model_dump_json()
        return self._text

    async def messages(self, reader: Reader, *, follow: bool = True) -> AsyncGenerator[str, None]:
        """Without end, or one. `reader` listens since before this was called."""
        yield self.current()
        if follow and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look_on())
        while follow and not reader.is_over:
            await reader.news.wait()
            reader.news.clear()
            for message in reader.take_shown():
                yield message

    async def _look_on(self) -> None:
        while readers := self._feed.readers_of(PUBLIC_TOPIC):
            try:
                before = self._text
                if self.current() != before:
                    for reader in readers:
                        reader.show(PUBLIC_TOPIC, self._text)
            except Exception:
                log.exception("events.public_failed")
            await asyncio.sleep(ROUND_SECONDS)


def _figures(message: PublicMessage) -> object:
    """All but those that change by themselves."""
    return message.stats.model_copy(update={"uptime_seconds": 0.0}), message.prices
