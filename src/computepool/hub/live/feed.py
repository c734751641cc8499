"""Events on their way from commits to readers, and for readers that were away from the outbox.

The feed hears every event of the outbox once, in the order of the ids (`core.records.CommitOrder`). A reader has a
short queue of events that it has not taken. When the queue is full, it is emptied, and the reader reads from the outbox
as one that was away does: up to the id that was settled when it began. Later events are in its queue, so nothing is
told twice and nothing is left out. A reader that cannot catch up is told to start over. Everything here happens on the
event loop's thread.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

from computepool.hub.core.context import Context
from computepool.hub.core.http import Principal, Scope
from computepool.hub.core.records import ADMIN_TOPIC, NOTICED, Event, has_more_events, last_event_id, list_events
from computepool.hub.live.rendering import SCOPES, render
from computepool.protocol.events import EventMessage, HelloMessage, PoolEvent, StartOverMessage

QUEUE_LIMIT = 256
"""Events that wait for a reader in memory."""
PAGE = 200
"""Events read from the outbox at once."""
REPLAY_LIMIT = 10_000
"""Events that a reader may be behind. With more, reading everything anew is quicker."""
CURSOR_LIMIT = 40
ENDING_AT_ONCE = 20
NEEDS = {"owner": Scope.JOBS_READ, "host": Scope.NODES_READ, "wallet": Scope.WALLET_READ}
"""What a token must have to hear of a kind of topic. The types of events are looked at besides."""


class Reader:
    """What waits for one connection."""

    __slots__ = ("_now", "frames", "gone", "is_behind", "is_over", "news", "principal", "queue", "topics")

    def __init__(self, topics: tuple[str, ...], principal: Principal | None = None) -> None:
        self.topics = topics
        self.principal = principal
        self.gone = asyncio.Event()
        """Set when the principal's token was revoked."""
        self.queue: deque[Event] = deque()
        self.is_behind = False
        """Events were left out of the queue: they are in the outbox."""
        self.is_over = False
        """The hub is about to end: nothing more is told."""
        self.news = asyncio.Event()
        self.frames: asyncio.Queue[str] = asyncio.Queue(1)
        """Of subscriptions, which wait until theirs is taken."""
        self._now: dict[str, str] = {}

    def tell(self, event: Event) -> None:
        if self.is_behind:
            return
        if len(self.queue) >= QUEUE_LIMIT:
            self.fall_behind()
        else:
            self.queue.append(event)
            self.news.set()

    def fall_behind(self) -> None:
        self.queue.clear()
        self.is_behind = True
        self.news.set()

    def end(self) -> None:
        self.is_over = True
        self.news.set()

    def show(self, what: str, message: str) -> None:
        """How something is now, in place of what was to be shown of it before."""
        self._now[what] = message
        self.news.set()

    async def put(self, frame: str) -> None:
        """One frame of a subscription; returns when there is room for it."""
        await self.frames.put(frame)
        self.news.set()

    def take_shown(self) -> list[str]:
        shown, self._now = self._now, {}
        return list(shown.values())


class Feed:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._readers: defaultdict[str, set[Reader]] = defaultdict(set)
        self.settled = 0
        """All events up to here were heard; those above are still to come."""
        self._is_closed = False

    async def load(self) -> None:
        """Before the hub writes anything."""
        self.settled = await self._context.db.read(last_event_id)

    def hear(self, events: Iterable[Event]) -> None:
        """In the order of the ids."""
        for event in events:
            if event.id is not None:
                self.settled = event.id
                for reader in self._readers.get(event.topic, ()):
                    reader.tell(event)

    def close(self) -> None:
        """Streams end by themselves, so that the server need not wait for them. Their readers come back to the next."""
        self._is_closed = True
        for readers in self._readers.values():
            for reader in readers:
                reader.end()

    async def dismiss(self, still_holds: Callable[[Principal], bool]) -> None:
        """Readers whose token was revoked hear nothing more. A few at a time: others are answered in between."""
        readers = {reader for readers in self._readers.values() for reader in readers}
        gone = [one for one in readers if one.principal is not None and not still_holds(one.principal)]
        for number, reader in enumerate(gone):
            reader.gone.set()
            if number % ENDING_AT_ONCE == ENDING_AT_ONCE - 1:
                await asyncio.sleep(0)

    def readers_of(self, topic: str) -> set[Reader]:
        return self._readers.get(topic, set())

    @contextmanager
    def listen(self, topics: tuple[str, ...], principal: Principal | None = None) -> Iterator[Reader]:
        reader = Reader(topics, principal)
        if self._is_closed:
            reader.end()
        for topic in topics:
            self._readers[topic].add(reader)
        try:
            yield reader
        finally:
            for topic in topics:
                self._readers[topic].discard(reader)
                if not self._readers[topic]:
                    del self._readers[topic]


class EventStream:
    """One connection's events, as messages."""

    def __init__(self, context: Context, feed: Feed, principal: Principal, after: str | None) -> None:
        self._context = context
        self._feed = feed
        self._principal = principal
        self._after = after
        self._position = 0
        """The last event that was told, or passed over."""

    async def messages(self, reader: Reader, *, follow: bool = True) -> AsyncGenerator[str, None]:
        """Without end, or until the reader has caught up. `reader` listens since before this was called."""
        begin, reason = self._begin()
        self._position = begin
        yield HelloMessage(id=self._cursor(begin)).model_dump_json()
        if reason is not None:
            yield self._start_over(reason)
        elif begin < self._feed.settled:
            reader.fall_behind()
        while not reader.is_over:
            reader.news.clear()
            if reader.is_behind:
                upto = self._feed.settled
                reader.is_behind = False  # what is settled from here on is queued
                async for message in self._catch_up(reader.topics, upto):
                    yield message
            for message in self._queued(reader):
                yield message
            for message in reader.take_shown():
                yield message
            while not reader.frames.empty():
                yield reader.frames.get_nowait()
            if not follow and not reader.is_behind and not reader.queue:
                return
            if not reader.queue:
                await reader.news.wait()

    def _queued(self, reader: Reader) -> Iterator[str]:
        while reader.queue:
            event = reader.queue.popleft()
            if event.id is not None and event.id > self._position:
                self._position = event.id
                message = self._told(event)
                if message is not None:
                    yield message

    def _begin(self) -> tuple[int, Literal["unknown_id"] | None]:
        settled = self._feed.settled
        if self._after is None:
            return settled, None
        epoch, _, number = self._after[:CURSOR_LIMIT].partition("-")
        is_ours = epoch == str(self._context.fence_epoch) and number.isascii() and number.isdigit()
        if not is_ours or int(number) > settled:
            return settled, "unknown_id"
        return int(number), None

    async def _catch_up(self, topics: tuple[str, ...], upto: int) -> AsyncGenerator[str, None]:
        read = self._context.db.read
        if await read(has_more_events, topics, self._position, upto, REPLAY_LIMIT):
            self._position = upto
            yield self._start_over("too_many")
        while self._position < upto:
            page = await read(list_events, topics, self._position, upto, PAGE)
            if page is None:
                self._position = upto
                yield self._start_over("pruned")
                return
            for event in page:
                assert event.id is not None
                self._position = event.id
                message = self._told(event)
                if message is not None:
                    yield message
            if len(page) < PAGE:
                self._position = upto

    def _told(self, event: Event) -> str | None:
        told = render(event)
        if told is None or SCOPES[told.type] not in self._principal.scopes:
            return None
        return _message(self._cursor(event.id or 0), event, told)

    def _start_over(self, reason: Literal["pruned", "too_many", "unknown_id"]) -> str:
        return StartOverMessage(id=self._cursor(self._position), reason=reason).model_dump_json()

    def _cursor(self, number: int) -> str:
        """A restore from a backup raises the epoch, and may give numbers again."""
        return f"{self._context.fence_epoch}-{number}"


def _message(cursor: str, event: Event, told: PoolEvent) -> str:
    return EventMessage(id=cursor, at=event.at, event=told, notice=NOTICED in event.payload).model_dump_json()


def topics_for(principal: Principal) -> tuple[str, ...]:
    """All that the reader may hear of: their own, and an admin's."""
    owners = [(kind, owner_id) for kind, scope in NEEDS.items() for owner_id in principal.owners_granting(scope)]
    own = [f"{kind}/{owner_id}" for kind, owner_id in sorted(owners, key=lambda topic: (topic[1], topic[0]))]
    return (*own, ADMIN_TOPIC) if principal.is_admin else tuple(own)
