"""Who wants to hear of what, in this process. Several hub processes will share one over Redis behind this same class.

The bus carries news, not truth: a listener that was slow or away asks the database again. So a listener's queue is
bounded, and one that does not keep up loses news instead of holding memory.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from computepool.hub.core.records import Event

LISTENER_QUEUE_LIMIT = 256


class Bus:
    def __init__(self) -> None:
        self._listeners: defaultdict[str, set[asyncio.Queue[Event]]] = defaultdict(set)

    def publish(self, events: list[Event]) -> None:
        """On the event loop's thread only."""
        for event in events:
            for listener in self._listeners.get(event.topic, ()):
                if listener.full():
                    listener.get_nowait()
                listener.put_nowait(event)

    @contextmanager
    def listen(self, *topics: str) -> Iterator[asyncio.Queue[Event]]:
        listener: asyncio.Queue[Event] = asyncio.Queue(LISTENER_QUEUE_LIMIT)
        for topic in topics:
            self._listeners[topic].add(listener)
        try:
            yield listener
        finally:
            for topic in topics:
                self._listeners[topic].discard(listener)
                if not self._listeners[topic]:
                    del self._listeners[topic]
