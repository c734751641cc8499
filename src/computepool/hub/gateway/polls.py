"""Links by long poll, for agents whose WebSockets are blocked on the way.

Both directions are counted within a session, so that a request or a reply that got lost loses and repeats no message.
Each request is signed with the node's key: a session's id alone is worth nothing.
"""

import asyncio
import base64
import hashlib
import re
from collections import deque

import structlog

from computepool.hub.core.context import Context
from computepool.hub.core.edge import Connection
from computepool.hub.core.errors import Forbidden, Invalid, TooMany, Unavailable
from computepool.hub.gateway.handshake import Gateway
from computepool.hub.gateway.pipe import PipeClosed
from computepool.hub.nodes.tables import Node
from computepool.protocol.messages import (
    MESSAGE_LIMIT_BYTES,
    POLL,
    POLL_HEAD,
    POLL_HEAD_HEADER,
    PollHead,
    PollReply,
    PollRequest,
)
from computepool.protocol.signing import SignatureRefused, Signed, key_id_of, load_public_key, verify
from computepool.protocol.timing import OFFLINE_AFTER_SECONDS

SESSIONS_LIMIT = 100_000
SESSIONS_PER_NODE = 4
IDLE_SECONDS = 60.0 + OFFLINE_AFTER_SECONDS
"""A session nobody polls for this long is over: the longest wait, and then silence."""
INBOX_LIMIT = 256
REPLY_BYTES = MESSAGE_LIMIT_BYTES // 2
OUTBOX_LIMIT_BYTES = 8 * 1024**2
"""Of messages that an agent has not confirmed; more of them wait."""
SENDER_BYTES = 300
"""A body begins with its sender, in less than this."""
_SENDER = re.compile(rb'\{"node_id":"([A-Za-z0-9_-]{1,80})","session":"([A-Za-z0-9_-]{32,64})",')

log = structlog.get_logger()


class PollRefused(Forbidden):
    code = "bad_signature"
    codes = ("unknown_node",)


class PollPipe:
    """One polled link, as the gateway sees it."""

    def __init__(self, node_id: str, sign_key: bytes) -> None:
        self.node_id = node_id
        self.sign_key = sign_key
        """Kept, so that a poll, and the heartbeat in it, touches no database."""
        self.polled_at = 0.0
        self._inbox: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(INBOX_LIMIT)
        self._accepted = 0
        self._outbox: deque[str] = deque()
        self._outbox_bytes = 0
        self._confirmed = 0
        """How many of our messages the agent has: the outbox begins behind them."""
        self._closed = False
        self._news = asyncio.Event()
        self._fetched = asyncio.Event()
        self._lock = asyncio.Lock()

    async def receive(self) -> str:
        message = await self._inbox.get()
        if message is None:
            raise PipeClosed
        self._room.release()
        return message

    async def send(self, raw: bytes) -> None:
        while self._outbox_bytes >= OUTBOX_LIMIT_BYTES and not self._closed:
            self._fetched.clear()
            await self._fetched.wait()
        if self._closed:
            raise PipeClosed
        self._outbox_bytes += len(raw)
        self._outbox.append(raw.decode())
        self._news.set()

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._news.set()
            self._fetched.set()
            self._inbox.put_nowait(None)
            self._room.release()  # whoever waits for room finds that there is no more need

    async def exchange(self, request: PollRequest) -> PollReply:
        """Take what is new of the agent's messages; wait, if it likes, until there is something for it."""
        async with self._lock:
            if request.start > self._accepted or request.received > self._confirmed + len(self._outbox):
                await self.close()  # it counts from a session that we do not know
            fresh = request.messages[self._accepted - request.start :] if not self._closed else ()
            for message in fresh:
                await self._room.acquire()
                if self._closed:
                    break  # nobody reads them any more, so there would never be room for the rest
                self._inbox.put_nowait(message)
                self._accepted += 1
        while self._confirmed < request.received and self._outbox:
            self._outbox_bytes -= len(self._outbox.popleft().encode())
            self._confirmed += 1
            self._fetched.set()
        if not self._unsent(request.received) and not self._closed and request.wait_seconds:
            await self._wait_for_news(request.received, request.wait_seconds)
        messages = self._unsent(request.received)
        start = max(request.received, self._confirmed)
        return PollReply(accepted=self._accepted, start=start, messages=messages, closed=self._closed and not messages)

    async def _wait_for_news(self, received: int, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not self._unsent(received) and not self._closed:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            pass

    def _unsent(self, received: int) -> tuple[str, ...]:
        batch: list[str] = []
        size = 0
        for position, message in enumerate(self._outbox, start=self._confirmed):
            if position < received:
                continue
            size += len(message)
            if batch and size > REPLY_BYTES:
                break
            batch.append(message)
        return tuple(batch)


class Polls:
    def __init__(self, context: Context, gateway: Gateway) -> None:
        self._context = context
        self._gateway = gateway
        self._pipes: dict[str, PollPipe] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    async def check_head(self, head: str, signature: str, sender: Connection | None = None) -> PollHead:
        """Who polls, before the body is read. Raises TooManyFailures if the sender's address failed too often."""
        try:
            told = PollHead.model_validate_json(head)
        except ValueError:
            raise Invalid(f"The header {POLL_HEAD_HEADER} does not fit.") from None
        sign_key = await self._find_key(told.node_id, told.session, sender)
        _check_signature(sign_key, POLL_HEAD, head.encode(), signature)
        return told

    async def check_node(self, beginning: bytes, sender: Connection | None = None) -> bool:
        """Whether a body without a head begins with an open session. Raises if it is not even of a node of this
        pool, which proves nothing yet."""
        node_id, session = _sender_in(beginning)
        await self._find_key(node_id, session, sender)
        return self._is_open(node_id, session)

    async def exchange(self, body: bytes, proof: PollHead | str) -> PollReply:
        """`proof` is the head, if it was checked; else the signature of the body."""
        node_id, session = _sender_in(body)
        sign_key = await self._find_key(node_id, session)
        if isinstance(proof, str):
            _check_signature(sign_key, POLL, body, proof)
        elif (proof.node_id, proof.session, proof.body_digest) != (node_id, session, _digest_of(body)):
            raise PollRefused("The body is not the one that was signed for.")
        request = _parse(body)
        if (request.node_id, request.session) != (node_id, session):
            raise Invalid("This is not a poll request.")
        # Looked up now: a session begins with two requests at once, and while this one's key was fetched the other
        # may have opened it.
        pipe = self._pipes.get(session)
        if pipe is None:
            if request.start != 0 or request.received != 0:
                return PollReply(accepted=0, start=0, closed=True)  # of a hub that was restarted since
            pipe = await self._open(request, sign_key)
        elif pipe.node_id != node_id:
            raise Forbidden("This session is another node's.")
        pipe.polled_at = self._context.clock.monotonic()
        return await pipe.exchange(request)

    async def close(self) -> None:
        """The hub stops: whoever waits is answered now, and nobody is let in any more."""
        self._closing = True
        for pipe in list(self._pipes.values()):
            await pipe.close()

    async def sweep(self) -> None:
        """End the links of agents that stopped polling."""
        now = self._context.clock.monotonic()
        for pipe in list(self._pipes.values()):
            if now - pipe.polled_at > IDLE_SECONDS:
                await pipe.close()

    async def _open(self, request: PollRequest, sign_key: bytes) -> PollPipe:
        """A node whose links break often is not locked out by their remains: its oldest one makes room."""
        of_node = [session for session, pipe in self._pipes.items() if pipe.node_id == request.node_id]
        if len(of_node) >= SESSIONS_PER_NODE:
            oldest = min(of_node, key=lambda session: self._pipes[session].polled_at)
            await self._pipes.pop(oldest).close()
        if self._closing:
            raise Unavailable("The hub is stopping.")
        if len(self._pipes) >= SESSIONS_LIMIT:
            raise TooMany("Too many polled links at once.", hint="Wait a minute; the old ones end by themselves.")
        pipe = self._pipes[request.session] = PollPipe(request.node_id, sign_key)
        task = asyncio.create_task(self._serve(request.session, pipe))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return pipe

    async def _serve(self, session: str, pipe: PollPipe) -> None:
        try:
            await self._gateway.serve(pipe)
        except Exception:
            log.exception("poll.fault", node_id=pipe.node_id)
        # Its last words may still have to be fetched; the sweep's silence rule forgets it then.
        await asyncio.sleep(IDLE_SECONDS)
        self._pipes.pop(session, None)

    def _is_open(self, node_id: str, session: str) -> bool:
        pipe = self._pipes.get(session)
        return pipe is not None and pipe.node_id == node_id

    async def _find_key(self, node_id: str, session: str, sender: Connection | None = None) -> bytes:
        if self._is_open(node_id, session):
            return self._pipes[session].sign_key
        if sender is not None:
            sender.check_failures()
        row = await self._context.db.read(lambda session: session.get(Node, node_id))
        if row is None:
            raise PollRefused("This node is not part of the pool.", code="unknown_node")
        return base64.b64decode(row.sign_key)


def _check_signature(key: bytes, type: str, body: bytes, signature: str) -> None:
    try:
        signed = Signed(type=type, key_id=key_id_of(key), body=body.decode(), signature=signature[:100])
        verify(signed, type, {key_id_of(key): load_public_key(key)})
    except (SignatureRefused, UnicodeDecodeError):
        raise PollRefused("The request is not signed with this node's key.") from None


def _digest_of(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def _sender_in(body: bytes) -> tuple[str, str]:
    """Who says to have sent it, from its first bytes: nothing of it is parsed before it is known who did."""
    found = _SENDER.match(body)
    if found is None:
        raise Invalid("This is not a poll request.")
    return found[1].decode(), found[2].decode()


def _parse(body: bytes) -> PollRequest:
    try:
        return PollRequest.model_validate_json(body)
    except ValueError:
        raise Invalid("This is not a poll request.") from None
