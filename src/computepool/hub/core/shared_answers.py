"""Answers of a public route that everybody shares: made at most once a second, however many ask."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from computepool.hub.core.representation import Representation, header_of

FRESH_SECONDS = 1.0
KEYS_LIMIT = 64
"""Queries of one route whose answers are kept."""
KEPT_BYTES = 8 * 1024**2
"""Of all kept answers of one route together."""


@dataclass
class _Kept:
    making: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    answer: Representation | None = None
    made_at: float = 0.0

    def is_fresh(self, now: float) -> bool:
        return self.answer is not None and 0 <= now - self.made_at < FRESH_SECONDS


class SharedAnswers:
    """Of one route. Only answers with status 200 are kept; errors go to the one who asked."""

    def __init__(self, max_age_seconds: int) -> None:
        """`max_age_seconds`: for which browsers and proxies may keep an answer."""
        self._cache_control = f"public, max-age={max_age_seconds}"
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()

    async def answer(self, key: bytes, make: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """`make` answers the request as if nobody shared it."""
        kept = self._kept.setdefault(key, _Kept())
        self._kept.move_to_end(key)
        loop = asyncio.get_running_loop()
        if not kept.is_fresh(loop.time()):
            kept.waiting += 1
            try:
                async with kept.making:  # whoever waited here finds the answer of the one before
                    if not kept.is_fresh(loop.time()):
                        made = await _made(make, scope, receive)
                        if made.status != 200:
                            await made.send_as_it_is(send)
                            return
                        before, kept.answer = kept.answer, made.shared(self._cache_control)
                        kept.made_at = loop.time()
                        if before is not None:
                            kept.answer.take_encodings_of(before)
            finally:
                kept.waiting -= 1
                self._forget()
        assert kept.answer is not None
        await kept.answer.send(scope, send)

    def _forget(self) -> None:
        """The longest unused first, until both bounds hold. One that is being made stays, for those who wait for it."""
        total = sum(len(each.answer.body) for each in self._kept.values() if each.answer is not None)
        for key, each in list(self._kept.items()):
            if len(self._kept) <= KEYS_LIMIT and total <= KEPT_BYTES:
                return
            if not each.waiting:
                del self._kept[key]
                total -= len(each.answer.body) if each.answer is not None else 0


@dataclass
class _Made:
    status: int = 500
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""

    def shared(self, cache_control: str) -> Representation:
        told = (b"content-type", b"content-length", b"cache-control", b"etag", b"vary")
        more = [(name, value) for name, value in self.headers if name not in told]
        content_type = header_of(self.headers, b"content-type")
        return Representation(self.body, content_type, cache_control, more_headers=more)

    async def send_as_it_is(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


async def _made(make: ASGIApp, scope: Scope, receive: Receive) -> _Made:
    made, pieces = _Made(), list[bytes]()

    async def keep(message: Message) -> None:
        if message["type"] == "http.response.start":
            made.status, made.headers = message["status"], list(message["headers"])
        elif message["type"] == "http.response.body":
            pieces.append(message.get("body", b""))

    await make(scope, receive, keep)
    made.body = b"".join(pieces)
    return made
