"""The pool in numbers, for everybody: one rendering for all readers, at most once a second, while there are any."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

import structlog

from computepool.hub.live.feed import Feed, Reader
from computepool.hub.scheduling.census import Census
from computepool.protocol.public_events import MapMessage, PublicMessage

PUBLIC_TOPIC = "public"
MAP = "map"
ROUND_SECONDS = 1.0

log = structlog.get_logger()


class PublicBoard:
    def __init__(
        self,
        feed: Feed,
        census: Census,
        prepare: Callable[[], Awaitable[object]],
        look: Callable[[], PublicMessage],
        look_at_map: Callable[[int], MapMessage],
    ) -> None:
        """`prepare` brings up to date what `look` shows. `look_at_map` takes a version of the census: what changed
        since then."""
        self._feed = feed
        self._census = census
        self._prepare = prepare
        self._look = look
        self._look_at_map = look_at_map
        self._maps: dict[int, str] = {}
        """By the version that readers have: what brings them to `_map_version`."""
        self._map_version = 0
        self._shown: PublicMessage | None = None
        self._text = ""
        self._looked_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    async def current(self) -> str:
        """Not older than a second."""
        now = asyncio.get_running_loop().time()
        if now - self._looked_at >= ROUND_SECONDS:
            self._looked_at = now
            await self._prepare()
            found = self._look()
            if self._shown is None or _figures(found) != _figures(self._shown):
                self._shown, self._text = found, found.model_dump_json()
        return self._text

    async def messages(
        self, reader: Reader, *, follow: bool = True, with_map: bool = False
    ) -> AsyncGenerator[str, None]:
        """Without end, or as it is now. `reader` listens since before this was called."""
        version = 0
        yield await self.current()
        if with_map:
            version, message = self._map_since(version)
            yield message
        if follow and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look_on())
        while follow and not reader.is_over:
            await reader.news.wait()
            reader.news.clear()
            for message in reader.take_shown():
                if message != MAP:
                    yield message
            if with_map and version != self._census.version:
                version, message = self._map_since(version)
                yield message

    def _map_since(self, version: int) -> tuple[int, str]:
        """Rendered once for all readers that have the same."""
        if self._map_version != self._census.version:
            self._maps, self._map_version = {}, self._census.version
        if version not in self._maps:
            self._maps[version] = self._look_at_map(version).model_dump_json()
        return self._map_version, self._maps[version]

    async def _look_on(self) -> None:
        while readers := self._feed.readers_of(PUBLIC_TOPIC):
            try:
                before, version = self._text, self._census.version
                text = await self.current()
                for reader in list(readers):
                    if text != before:
                        reader.show(PUBLIC_TOPIC, text)
                    if version != self._census.version:
                        reader.show(MAP, MAP)
            except Exception:
                log.exception("events.public_failed")
            await asyncio.sleep(ROUND_SECONDS)


def _figures(message: PublicMessage) -> object:
    """All but those that change by themselves."""
    return message.stats.model_copy(update={"uptime_seconds": 0.0}), message.prices
