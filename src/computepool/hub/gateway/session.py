"""One agent's link after its handshake: messages in, answers and commands out.

Reports of different attempts are handled side by side, those of one attempt in order.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import structlog

from computepool.hub.artifacts.store import StorageFull
from computepool.hub.core.bulk import BulkLane
from computepool.hub.core.context import Context
from computepool.hub.gateway.examiner import Examiner
from computepool.hub.gateway.pipe import Pipe, PipeClosed
from computepool.hub.gateway.reports import Report, Reports
from computepool.hub.history.recorder import History
from computepool.hub.nodes.benchmarks import Benchmark
from computepool.hub.nodes.owner_requests import hear_policy
from computepool.hub.scheduling.fleet import FleetNode
from computepool.hub.scheduling.leases import LeaseKeeper
from computepool.hub.scheduling.presence import Presence
from computepool.protocol.benchmark import BenchmarkFromAgent
from computepool.protocol.messages import FromAgent, Heartbeat, HeartbeatAck, NodeReport, parse_from_agent
from computepool.protocol.model import Wire
from computepool.protocol.owner_requests import PolicyReport
from computepool.protocol.states import NodeState

log = structlog.get_logger()

IN_FLIGHT = 64
"""Reports of one node that are handled at the same time: bounds what a flooding agent can make the hub hold."""
BULK_MESSAGE_BYTES = 32 * 1024
"""Larger messages are read in turns with other bulk work: parsing one of 4 MB takes as long as dozens of requests."""
SEND_QUEUE_LIMIT = 10_000
UNSENT_LIMIT_BYTES = 8 * 1024**2
"""Of answers and commands that an agent has not read: with more of them it is not heard either."""


class InFlight:
    """Bytes of reports that are being handled, of all nodes together. One of each node is never made to wait."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._freed = asyncio.Event()
        self.bytes = 0

    async def take(self, count: int, *, is_only_one: bool) -> None:
        while not is_only_one and self.bytes + count > self._limit_bytes:
            self._freed.clear()
            await self._freed.wait()
        self.bytes += count

    def give_back(self, count: int) -> None:
        self.bytes -= count
        self._freed.set()


class AgentSession:
    def __init__(
        self,
        context: Context,
        presence: Presence,
        leases: LeaseKeeper,
        reports: Reports,
        pipe: Pipe,
        node: FleetNode,
        sign_key: bytes,
        wake: Callable[[], None],
        measured: Benchmark | None,
        in_flight: InFlight,
        bulk: BulkLane,
        history: History,
    ) -> None:
        """`wake` tells the scheduler that there may be room; `measured` is the node's last examination."""
        self._context = context
        self._presence = presence
        self._leases = leases
        self._reports = reports
        self._pipe = pipe
        self._node = node
        self._sign_key = sign_key
        self._wake = wake
        self._examiner = Examiner(context, node, self.post, measured)
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue(SEND_QUEUE_LIMIT)
        self._unsent_bytes = 0
        self._sent = asyncio.Event()
        self._room = asyncio.Semaphore(IN_FLIGHT)
        self._in_flight = in_flight
        self._bulk = bulk
        self._history = history
        self._last: dict[str, asyncio.Task[None]] = {}
        """The newest report of each attempt that is being handled: the next one waits for it."""

    def post(self, message: Wire) -> None:
        self.post_raw(message.to_bytes())

    def post_raw(self, raw: bytes) -> None:
        try:
            self._outgoing.put_nowait(raw)
            self._unsent_bytes += len(raw)
        except asyncio.QueueFull:
            log.warning("agent.too_slow", node_id=self._node.traits.node_id)  # it will ask again: all is repeatable

    async def run(self) -> None:
        """Until the pipe closes. What was being handled is finished, not torn: its agent will ask again anyway."""
        beside = [asyncio.create_task(self._send_all()), asyncio.create_task(self._examiner.run())]
        try:
            while True:
                while self._unsent_bytes > UNSENT_LIMIT_BYTES:
                    self._sent.clear()
                    await self._sent.wait()
                raw = await self._pipe.receive()
                if len(raw) > BULK_MESSAGE_BYTES:
                    async with self._bulk.turn(self._node.traits.node_id):
                        message = parse_from_agent(raw)
                else:
                    message = parse_from_agent(raw)
                if message is not None:
                    await self._handle(message, len(raw))
        finally:
            for task in beside:
                task.cancel()

    async def _send_all(self) -> None:
        """A link that does not carry answers any more is no link, even if it still carries reports."""
        try:
            while True:
                raw = await self._outgoing.get()
                await self._pipe.send(raw)
                self._unsent_bytes -= len(raw)
                self._sent.set()
        except PipeClosed:
            self._unsent_bytes = 0
            self._sent.set()
            await self._pipe.close()

    async def _handle(self, message: FromAgent, size_bytes: int) -> None:
        self._node.seen_at = self._context.clock.monotonic()
        if isinstance(message, Heartbeat):
            await self._heartbeat(message)
        elif isinstance(message, NodeReport):
            self._learn(message)
        elif isinstance(message, PolicyReport):
            for request in await self._context.db.run(
                hear_policy, self._node.traits.node_id, message, self._context.now()
            ):
                self.post(request)
        elif isinstance(message, BenchmarkFromAgent):
            self._examiner.heard(message)
        elif isinstance(message, Report):
            await self._room.acquire()
            await self._in_flight.take(size_bytes, is_only_one=not self._last)
            before = self._last.get(message.attempt_id)
            task = asyncio.create_task(self._report(message, before, size_bytes))
            self._last[message.attempt_id] = task

    async def _heartbeat(self, message: Heartbeat) -> None:
        node = self._node
        self._leases.heard(node, message.preparing)
        renewed = self._leases.renew(node, message.holding)
        if node.line is not None:
            node.line.seen(message.cursor)
        self.post(HeartbeatAck(hub_time=self._context.now(), renewed=tuple(renewed)))
        node.reported = NodeState(message.state)
        if node.availability != message.availability:
            node.availability = message.availability
            self._wake()
        await self._presence.settle(node, actor=node.traits.node_id)

    def _learn(self, message: NodeReport) -> None:
        """Kept in memory: a node says it again when it connects. Its loads and samples become history."""
        node = self._node
        held = {usage.attempt_id: node.attempts.get(usage.attempt_id) for usage in message.usage}
        fences = {attempt_id: one.fence for attempt_id, one in held.items() if one is not None}
        self._history.hear(node.traits.node_id, [gpu.id for gpu in node.capacity.gpus], fences, message)
        if message.gpus:
            self._node.loads = message.gpus
        if message.cached is not None:
            self._node.cached = frozenset(message.cached)
        if message.rules is not None:
            self._node.capacity = self._node.capacity.model_copy(update={"rules": message.rules})
            self._node.traits = replace(self._node.traits, rules=message.rules)
            self._wake()

    async def _report(self, message: Report, before: "asyncio.Task[None] | None", size_bytes: int) -> None:
        try:
            if before is not None:
                await asyncio.wait([before])
            for answer in await self._reports.handle(self._node, self._sign_key, message):
                self.post(answer)
        except StorageFull as full:
            log.warning("report.postponed", attempt_id=message.attempt_id, type=message.type, reason=full.message)
        except Exception:
            # No answer: the agent asks again. Ending the link would punish every other attempt on the node.
            log.exception("report.failed", attempt_id=message.attempt_id, type=message.type)
        finally:
            self._room.release()
            self._in_flight.give_back(size_bytes)
            if self._last.get(message.attempt_id) is asyncio.current_task():
                del self._last[message.attempt_id]
