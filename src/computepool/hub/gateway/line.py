"""A node's line: the numbered commands for it, kept until its agent has them, whatever link carries them.

It outlives links. When one breaks and the next comes up, the agent tells how far it got and the rest is sent again, so
a switch neither drops nor repeats a command. It does not outlive the hub's process: the stream's id then changes, and
what still matters is offered again from the truth.
"""

from collections import deque
from collections.abc import Callable, Container, Mapping
from typing import Literal, cast

import structlog

from computepool.protocol.messages import MESSAGE_LIMIT_BYTES, Command, Offer, Stop
from computepool.protocol.model import Wire
from computepool.protocol.signing import Signed
from computepool.protocol.timing import EVICT_GRACE_SECONDS, STOP_GRACE_SECONDS

log = structlog.get_logger()

Post = Callable[[bytes], None]
StopReason = Literal["canceled", "superseded", "evicted"]


class NodeLine:
    def __init__(self, stream_id: str) -> None:
        self.stream_id = stream_id
        self._number = 0
        self._unseen: deque[tuple[str, Command]] = deque()
        """Commands that the agent has not confirmed with its cursor, with the attempt that they are about."""
        self._offered: set[str] = set()
        self._stopped: set[str] = set()
        """The attempts that these are about: an agent may come with thousands that it has to be told to stop."""
        self._post: Post | None = None

    def offer(self, attempt_id: str, manifest: Signed, downloads: Mapping[str, tuple[str, ...]]) -> None:
        self._number += 1
        self._send(attempt_id, Offer(number=self._number, manifest=manifest, downloads=dict(downloads)))

    def stop(self, attempt_id: str, fence: int, reason: str) -> None:
        if attempt_id in self._stopped:
            return  # it is told already, as soon as it listens
        self._number += 1
        command = Stop(
            number=self._number,
            attempt_id=attempt_id,
            fence=fence,
            reason=cast(StopReason, reason),
            grace_seconds=EVICT_GRACE_SECONDS if reason == "evicted" else STOP_GRACE_SECONDS,
        )
        self._send(attempt_id, command)

    def tell(self, message: Wire) -> None:
        """Without a number: lost if the agent is not there, and told again when it comes."""
        if self._post is not None:
            self._post(message.to_bytes())

    def seen(self, cursor: int) -> None:
        while self._unseen and self._unseen[0][1].number <= cursor:
            self._about(self._unseen[0][1]).discard(self._unseen.popleft()[0])

    def attach(self, post: Post, cursor: int, held: Container[str]) -> None:
        """A link is up: send what the agent has not seen. Offers of attempts that have ended meanwhile are void."""
        self.seen(cursor)
        self._unseen = deque(
            (attempt_id, command)
            for attempt_id, command in self._unseen
            if attempt_id in held or not isinstance(command, Offer)
        )
        self._offered = {attempt_id for attempt_id, command in self._unseen if isinstance(command, Offer)}
        self._post = post
        for _, command in self._unseen:
            post(command.to_bytes())

    def detach(self) -> None:
        self._post = None

    def unseen_offers(self) -> frozenset[str]:
        return frozenset(self._offered)

    def is_offering(self, attempt_id: str) -> bool:
        return attempt_id in self._offered

    def _about(self, command: Command) -> set[str]:
        return self._offered if isinstance(command, Offer) else self._stopped

    def _send(self, attempt_id: str, command: Command) -> None:
        raw = command.to_bytes()
        if len(raw) > MESSAGE_LIMIT_BYTES:
            # The agent would hang up on it each time that it came. Like this the lease runs out.
            log.error("command.too_large", attempt_id=attempt_id, type=command.type, size_bytes=len(raw))
            return
        self._unseen.append((attempt_id, command))
        self._about(command).add(attempt_id)
        if self._post is not None:
            self._post(raw)
