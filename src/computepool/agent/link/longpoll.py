"""The line where WebSockets are blocked: the same messages, carried by HTTPS requests.

One request waits at the hub for what it has to say; another, beside it, carries what the agent has to say. Both
directions are counted, so a request or a reply that is lost loses no message and repeats none.
"""

import asyncio
import contextlib
import hashlib
import random
import secrets
from collections import deque
from collections.abc import Awaitable, Callable

from pydantic import ValidationError

from computepool.agent.home import Identity
from computepool.agent.link.base import LinkClosed, carried_bytes
from computepool.protocol.messages import (
    MESSAGE_LIMIT_BYTES,
    POLL,
    POLL_HEAD,
    POLL_HEAD_HEADER,
    POLL_HEAD_SIGNATURE_HEADER,
    POLL_SIGNATURE_HEADER,
    PollHead,
    PollReply,
    PollRequest,
)
from computepool.protocol.timing import POLL_IDLE_SECONDS

POLL_PATH = "/api/v1/agent/poll"
TRIES = 5
"""Requests of one kind that may fail in a row before the line counts as closed."""
RETRY_SECONDS = 0.5
REPLY_MARGIN_SECONDS = 15.0
PUSH_LIMIT_BYTES = MESSAGE_LIMIT_BYTES // 2
OUTBOX_LIMIT_BYTES = 1024 * 1024
"""Beyond this much unsent, `send` waits: what is behind it stays on the node's disk."""

Post = Callable[[bytes, dict[str, str], float], Awaitable[tuple[int, bytes]]]
"""Sends a body with headers, waits that many seconds at most; status and body of the answer. Raises OSError."""


class PollWait:
    """How long the hub may hold a waiting request: short while there is traffic, longer and longer while idle.

    A proxy that cuts long requests is learnt from: the wait goes back to the shortest and stays below what failed.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._shortest, self._longest = POLL_IDLE_SECONDS
        self._current = self._shortest

    def seconds(self) -> float:
        return min(self._current * self._rng.uniform(0.8, 1.0), 60.0)

    def answered(self, *, busy: bool) -> None:
        self._current = self._shortest if busy else min(self._current * 2, self._longest)

    def failed(self) -> None:
        if self._current > self._shortest:
            self._longest = max(self._shortest, self._current / 2)
        self._current = self._shortest


class PollLink:
    """One session of polling. `receive` and `send` behave as on any other line."""

    def __init__(self, post: Post, node_id: str, identity: Identity, rng: random.Random) -> None:
        self._post = post
        self._node_id = node_id
        self._identity = identity
        self._wait = PollWait(rng)
        self._session = secrets.token_hex(16)
        self._outbox: deque[str] = deque()
        self._outbox_bytes = 0
        self._accepted = 0
        """Messages of ours that the hub confirmed; the outbox begins behind them."""
        self._inbox: deque[bytes] = deque()
        self._received = 0
        self._closed: str | None = None
        self._news = asyncio.Condition()
        self._tasks: list[asyncio.Task[None]] = []

    async def send(self, raw: bytes) -> None:
        async with self._news:
            # The tasks start with the first message, so that making a link is not yet a request.
            if not self._tasks and self._closed is None:
                self._tasks = [asyncio.create_task(self._push_on()), asyncio.create_task(self._poll_on())]
            await self._news.wait_for(lambda: self._closed is not None or self._outbox_bytes < OUTBOX_LIMIT_BYTES)
            if self._closed is not None:
                raise LinkClosed(self._closed)
            self._outbox.append(raw.decode())
            self._outbox_bytes += len(raw)
            self._news.notify_all()

    async def receive(self) -> bytes:
        async with self._news:
            await self._news.wait_for(lambda: self._inbox or self._closed is not None)
            if self._inbox:
                return self._inbox.popleft()
            raise LinkClosed(self._closed or "closed")

    async def close(self) -> None:
        await self._end("closed here")
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks = []

    async def _push_on(self) -> None:
        """Carries the outbox to the hub, one request after the other: their order is the messages' order."""
        while self._closed is None:
            async with self._news:
                await self._news.wait_for(lambda: self._outbox or self._closed is not None)
            if self._closed is None:
                await self._exchange(self._next_batch(), wait_seconds=0.0)

    async def _poll_on(self) -> None:
        """Keeps one request waiting at the hub."""
        while self._closed is None:
            before = self._received
            if await self._exchange((), wait_seconds=self._wait.seconds()):
                self._wait.answered(busy=self._received > before)

    def _next_batch(self) -> tuple[str, ...]:
        batch: list[str] = []
        size = 0
        for message in self._outbox:
            size += carried_bytes(message)
            if batch and size > PUSH_LIMIT_BYTES:
                break
            batch.append(message)
        return tuple(batch)

    async def _exchange(self, messages: tuple[str, ...], *, wait_seconds: float) -> bool:
        """One request and its reply, repeated while it fails; whether a reply came."""
        start = self._accepted
        for attempt in range(TRIES):
            request = PollRequest(
                node_id=self._node_id,
                session=self._session,
                start=start,
                messages=messages,
                received=self._received,
                wait_seconds=wait_seconds,
            )
            body = request.to_bytes()
            headers = {"Content-Type": "application/json", **self._proof(body)}
            try:
                status, answer = await self._post(body, headers, wait_seconds + REPLY_MARGIN_SECONDS)
            except OSError as error:
                reason = f"{type(error).__name__}: {error}".rstrip(": ")
            else:
                if status == 200:
                    return await self._take(answer)
                reason = f"HTTP {status}"
                if 400 <= status < 500 and status not in {408, 429}:
                    break
            if wait_seconds:
                self._wait.failed()
            await asyncio.sleep(RETRY_SECONDS * (attempt + 1))
        await self._end(f"the hub's poll route fails: {reason}")
        return False

    def _proof(self, body: bytes) -> dict[str, str]:
        """Of the head, for a hub that checks it before it reads the body; and of the body, for older ones."""
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        head = PollHead(node_id=self._node_id, session=self._session, body_digest=digest)
        return {
            POLL_HEAD_HEADER: head.to_bytes().decode(),
            POLL_HEAD_SIGNATURE_HEADER: self._identity.sign(POLL_HEAD, head.to_bytes()).signature,
            POLL_SIGNATURE_HEADER: self._identity.sign(POLL, body).signature,
        }

    async def _take(self, answer: bytes) -> bool:
        try:
            reply = PollReply.model_validate_json(answer)
        except ValidationError:
            await self._end("the poll was answered by something that is not a hub")
            return False
        if reply.start > self._received or reply.accepted > self._accepted + len(self._outbox):
            await self._end("the hub counts other messages than this side: the session is lost")
            return False
        async with self._news:
            for _ in range(reply.accepted - self._accepted):
                self._outbox_bytes -= len(self._outbox.popleft().encode())
            self._accepted = max(self._accepted, reply.accepted)
            # Two replies may carry the same message: the waiting one and one that overtook it.
            for message in reply.messages[self._received - reply.start :]:
                self._inbox.append(message.encode())
            self._received = max(self._received, reply.start + len(reply.messages))
            self._news.notify_all()
        if reply.closed:
            await self._end("the hub closed the session")
            return False
        return True

    async def _end(self, reason: str) -> None:
        async with self._news:
            if self._closed is None:
                self._closed = reason
            self._news.notify_all()
