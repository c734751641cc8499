"""One connected line, from the welcome until it breaks: a reader, a writer, and a heartbeat that waits for neither."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from computepool.agent.clock import Clock
from computepool.agent.link.base import Link, LinkClosed
from computepool.agent.link.handshake import Dismissed
from computepool.agent.outgoing import Outgoing
from computepool.agent.supervisor import CommandsMissing, Supervisor
from computepool.protocol.messages import FromHub, Goodbye, MalformedMessage, Welcome, parse_from_hub
from computepool.protocol.owner_requests import OwnerRequest

log = logging.getLogger(__name__)

SILENT_BEATS = 3
"""Heartbeats without any word from the hub after which the line counts as dead."""
SILENT_SECONDS = 30.0


class LinkSession:
    def __init__(self, link: Link, welcome: Welcome, supervisor: Supervisor, outgoing: Outgoing, clock: Clock) -> None:
        self._link = link
        self._welcome = welcome
        self._supervisor = supervisor
        self._outgoing = outgoing
        self._clock = clock
        self._heard_at = clock.monotonic()
        self.on_owner_request: Callable[[OwnerRequest], None] = lambda message: None
        """Told what the owner asks for through the hub."""

    async def run(self, until: "asyncio.Future[Any]") -> str:
        """Until the line breaks or `until` is done; why it ended. Raises Dismissed when the hub said goodbye."""
        self._outgoing.begin()
        self._supervisor.begin_stream(self._welcome.stream_id)
        self._supervisor.say_everything_again()
        # Its answer says which leases are still ours: what stands still for want of one need not wait for the next.
        self._outgoing.put_first(self._supervisor.heartbeat())
        tasks = [asyncio.ensure_future(part()) for part in (self._read, self._write, self._beat)]
        try:
            done, _ = await asyncio.wait([*tasks, until], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._outgoing.end()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._link.close()
        if until in done:
            return "asked to end"
        return _why(next(task for task in tasks if task in done))

    async def _read(self) -> None:
        while True:
            raw = await self._link.receive()
            self._heard_at = self._clock.monotonic()
            message = parse_from_hub(raw)
            if isinstance(message, Goodbye):
                raise Dismissed(message)
            if message is not None:
                self._handle(message)

    def _handle(self, message: FromHub) -> None:
        try:
            if isinstance(message, OwnerRequest):
                self.on_owner_request(message)
            else:
                self._supervisor.handle(message)
        except CommandsMissing:
            raise
        except Exception:
            # A message that this agent stumbles over must not end the attempts that it looks after.
            log.exception("message.fault", extra={"type": message.type})

    async def _write(self) -> None:
        while True:
            await self._link.send(await self._outgoing.next())

    async def _beat(self) -> None:
        patience = max(SILENT_SECONDS, SILENT_BEATS * self._welcome.heartbeat_seconds)
        while True:
            await asyncio.sleep(self._welcome.heartbeat_seconds)
            silent = self._clock.monotonic() - self._heard_at
            if silent > patience:
                # Also after a sleep of the machine: the other side has long given this line up.
                raise LinkClosed(f"the hub was silent for {silent:.0f} s")
            self._outgoing.put_first(self._supervisor.heartbeat())


def _why(task: "asyncio.Future[None]") -> str:
    error = task.exception()
    if isinstance(error, LinkClosed | CommandsMissing | MalformedMessage):
        return str(error)
    assert error is not None
    raise error
