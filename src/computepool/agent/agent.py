"""The agent: keeps a line to its hub, through restarts, blocked WebSockets and sleep, and looks after its attempts.

Everything it needs from the world is passed in, so that many of them run in one process in virtual time. Canceling
`run` is the same as killing the process: nothing is told, nothing is written; `Agent(parts).run()` with the same home
is the restart.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from computepool.agent.caching import CacheKeeper
from computepool.agent.clock import Clock, HubTime
from computepool.agent.detect.machine_load import MachineMeter
from computepool.agent.detect.monitor import GpuMonitor
from computepool.agent.engines import EngineWatch
from computepool.agent.environments import Environments
from computepool.agent.folders import JobFolders
from computepool.agent.going_on import for_ever, going_on
from computepool.agent.home import AgentHome, Identity, NodeRecord
from computepool.agent.housekeeping import Housekeeping
from computepool.agent.images import Images
from computepool.agent.inputs import InputCache
from computepool.agent.journal import Journal
from computepool.agent.link.backoff import reconnect_delay_seconds
from computepool.agent.link.base import Link, LinkUnavailable
from computepool.agent.link.failover import STABLE_SECONDS, Baton
from computepool.agent.link.handshake import Dismissed, HandshakeFailed, Standing, handshake
from computepool.agent.outgoing import Outgoing
from computepool.agent.output import PipeOutput
from computepool.agent.outside import Outside
from computepool.agent.own_jobs import OwnJobs
from computepool.agent.owner.remote import RemoteOwner
from computepool.agent.ownership import EVICT_GRACE_SECONDS, OpenWatch, OwnerFirst
from computepool.agent.ports import Connect, LinkKind, Offload, OpenOutput, Transfer
from computepool.agent.sandbox.interface import Sandbox
from computepool.agent.session import LinkSession
from computepool.agent.status import status_of
from computepool.agent.supervisor import Supervisor
from computepool.agent.telemetry import Telemetry
from computepool.agent.unremoved import UNREMOVED_FILE, UnremovedFolders
from computepool.agent.usage import UsageSampler
from computepool.agent.workbook import WorkBook
from computepool.agent.workshop import Workshop
from computepool.protocol.capacity import Capacity
from computepool.protocol.messages import LOG_LIMIT_BYTES, Welcome
from computepool.protocol.states import IsolationLevel, NodeState
from computepool.protocol.timing import RECONNECT_LIMIT_IDLE_SECONDS, RECONNECT_LIMIT_WITH_JOB_SECONDS

log = logging.getLogger(__name__)

TICK_SECONDS = 5.0
LEASE_LOOK_SECONDS = 0.5
FIRST_LOOK_SECONDS = 10.0
"""Until the owner's machine was looked at, no stranger's work is taken; the hub hears of the node all the same."""
GOODBYE_SECONDS = 5.0
"""When stopping, how long to wait for the hub to hear that the attempts are gone."""


@dataclass(frozen=True)
class Parts:
    """What an agent is made of."""

    home: AgentHome
    node: NodeRecord
    identity: Identity
    capacity: Capacity
    instance_id: str
    """Random for each start."""
    agent_version: str
    clock: Clock
    rng: random.Random
    offload: Offload
    connect: Connect
    sandboxes: Sequence[Sandbox]
    """Those whose self-test held."""
    transfer: Transfer
    open_output: OpenOutput = PipeOutput
    gpu_devices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    log_limit_bytes: int = LOG_LIMIT_BYTES
    images: Images | None = None
    outside: Outside | None = None
    least_isolation: IsolationLevel = IsolationLevel.BUBBLEWRAP
    """What the host asks for the work of strangers."""
    inputs: InputCache | None = None
    environments: Environments | None = None
    unremoved: UnremovedFolders | None = None
    caches: CacheKeeper | None = None
    """The room that both have, with the images."""
    monitor: GpuMonitor | None = None
    machine: MachineMeter | None = None
    """None for a machine that is not real."""
    book: WorkBook | None = None
    engines: EngineWatch | None = None
    """None where the sandboxes stay as they are."""
    open_watch: OpenWatch | None = None
    """None for a machine without an owner to be considered, such as a simulated one."""
    own_jobs: OwnJobs | None = None
    """None for a machine that is not real: there the hub's word is enough."""


class Agent:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._outgoing = Outgoing()
        self._hub_time = HubTime(parts.clock)
        unremoved = parts.unremoved or UnremovedFolders(parts.offload, parts.home.root / UNREMOVED_FILE)
        self._shop = Workshop(
            node=parts.node,
            identity=parts.identity,
            capacity=parts.capacity,
            clock=parts.clock,
            hub_time=self._hub_time,
            offload=parts.offload,
            sandboxes=parts.sandboxes,
            staging=parts.home.staging,
            journal=Journal(parts.home.journal),
            folders=JobFolders(parts.offload, unremoved),
            cache=parts.inputs or InputCache(parts.home.cache, parts.transfer, parts.offload),
            environments=parts.environments or Environments(parts.offload, unremoved),
            unremoved=unremoved,
            transfer=parts.transfer,
            outgoing=self._outgoing,
            open_output=parts.open_output,
            gpu_devices=parts.gpu_devices,
            log_limit_bytes=parts.log_limit_bytes,
            images=parts.images,
            outside=parts.outside,
            caches=parts.caches,
            rules=parts.capacity.rules,
            least_isolation=parts.least_isolation,
            own_jobs=parts.own_jobs,
        )
        self._supervisor = Supervisor(self._shop, lambda: parts.home.save_node(self._shop.node))
        self._baton = Baton(parts.rng)
        self._failures = 0
        self._prepared: Link | None = None
        """A WebSocket that a probe opened while polling."""
        self._leave = asyncio.Event()
        self._hello_again = asyncio.Event()
        """The hub learns what a node has when a line comes up: for something new a new line is opened."""
        self._housekeeping = Housekeeping(self._shop, self._supervisor, self._hello_again.set)
        self._connected: LinkKind | None = None
        self._last_trouble = ""
        self._pause_end: asyncio.TimerHandle | None = None
        self.paused_until: datetime | None = None
        self.welcome: Welcome | None = None
        """What the hub last said when a line came up."""
        self.telemetry = Telemetry(
            outgoing=self._outgoing,
            clock=parts.clock,
            offload=parts.offload,
            works=lambda: any(attempt.ended is None for attempt in self._supervisor.attempts),
            sampler=UsageSampler(parts.clock, parts.offload, lambda: self._supervisor.attempts),
            monitor=parts.monitor,
            machine=parts.machine,
            caches=parts.caches,
            book=parts.book,
        )
        self.owner: OwnerFirst | None = None
        self.remote: RemoteOwner | None = None
        if parts.open_watch is not None:
            self.owner = OwnerFirst(self._supervisor, parts.open_watch, parts.monitor)
            self.owner.on_state = self._owner_says
            self.owner.on_availability = self._tell_now
            self.remote = RemoteOwner(parts.home.root, self.owner.watch, self._outgoing)

    # ── the owner's controls ──

    def pause(self, for_seconds: float | None = None) -> None:
        """Take the machine back, at once, as its owner's policy says; until `resume`, or for so long.

        Raises ValueError. If it cannot be written down, it holds until the agent is restarted.
        """
        if self.owner is not None:
            try:
                self.owner.watch.pause(for_seconds)
            except OSError as error:
                log.warning("pause.not_kept", extra={"reason": str(error)})
            return
        self._forget_pause()
        if for_seconds is not None:
            self._pause_end = asyncio.get_running_loop().call_later(for_seconds, self.resume)
            self.paused_until = self._parts.clock.now() + timedelta(seconds=for_seconds)
        self._set_state(NodeState.PAUSED)
        self._supervisor.give_back_everything("owner", EVICT_GRACE_SECONDS)

    def resume(self) -> None:
        if self._supervisor.state is NodeState.DRAINING:
            self._set_state(NodeState.ONLINE)
        if self.owner is not None:
            self.owner.watch.resume()
        else:
            self._forget_pause()
            self._set_state(NodeState.ONLINE)

    def _forget_pause(self) -> None:
        self.paused_until = None
        if self._pause_end is not None:
            self._pause_end.cancel()
            self._pause_end = None

    def _owner_says(self, state: NodeState) -> None:
        if self._supervisor.state is not NodeState.DRAINING:
            self._set_state(state)

    def _tell_now(self) -> None:
        """Heartbeats carry it; one now, so that the hub does not learn of it ten seconds late."""
        self._outgoing.put_first(self._supervisor.heartbeat())

    def drain(self) -> None:
        """Take nothing new; `run` returns when what is here is finished and acknowledged."""
        self._forget_pause()
        self._set_state(NodeState.DRAINING)
        self._leave_if_drained()

    async def stop(self) -> None:
        """End everything now; `run` returns once the hub knows, or after a few seconds."""
        self._forget_pause()
        self._set_state(NodeState.DRAINING)
        self._supervisor.give_back_everything("the agent was stopped", EVICT_GRACE_SECONDS)
        try:
            async with asyncio.timeout(EVICT_GRACE_SECONDS + GOODBYE_SECONDS):
                await self._supervisor.until_idle()
        except TimeoutError:
            log.warning("agent.stopped_unheard", extra={"attempts": len(self._supervisor.attempts)})
        self._leave.set()

    def _set_state(self, state: NodeState) -> None:
        if state is not self._supervisor.state:
            self._supervisor.state = state
            log.info("node.state", extra={"state": state.value})
            self._tell_now()

    @property
    def state(self) -> NodeState:
        return self._supervisor.state

    @property
    def connected(self) -> LinkKind | None:
        return self._connected

    @property
    def supervisor(self) -> Supervisor:
        return self._supervisor

    @property
    def parts(self) -> Parts:
        return self._parts

    @property
    def capacity(self) -> Capacity:
        """As it is now; `parts` has it as it was at the start."""
        return self._shop.capacity

    async def offer(self, sandboxes: Sequence[Sandbox], capacity: Capacity) -> None:
        """From now on these, and no others. What runs in others runs on."""
        await self._housekeeping.offer(sandboxes, capacity)

    @property
    def trouble(self) -> str:
        return self._last_trouble

    @property
    def clock_skew_seconds(self) -> float:
        return self._hub_time.skew_seconds

    def status(self) -> dict[str, Any]:
        return status_of(self)

    # ── its life ──

    async def run(self) -> None:
        """Until drained or stopped. Raises Dismissed when the hub does not want this node any more."""
        await self._supervisor.recover()
        self._supervisor.on_idle = self._leave_if_drained
        self._leave_if_drained()
        beside = [self._tick(), self._keep_leases(), for_ever(self.telemetry.run, TICK_SECONDS)]
        if self._parts.engines is not None:
            beside.append(for_ever(self._parts.engines.run, TICK_SECONDS))
        if self.owner is not None:
            beside.append(self.owner.run())
        ticking = [asyncio.ensure_future(work) for work in beside]
        await self._look_around()
        left = asyncio.ensure_future(self._leave.wait())
        try:
            while not self._leave.is_set():
                trouble = await self._connect_once(left)
                if trouble and not self._leave.is_set():
                    self._last_trouble = trouble
                    await self._pause_before_next(left, trouble)
        finally:
            self._forget_pause()
            for task in (*ticking, left):
                task.cancel()
            await asyncio.gather(*ticking, left, return_exceptions=True)
            await self._drop_prepared()
            await self._supervisor.close()

    async def _look_around(self) -> None:
        """What the owner is doing, before the pool hears of this node."""
        if self.owner is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FIRST_LOOK_SECONDS):
                    await self.owner.first_look()

    async def end_jobs(self) -> None:
        """The hub dismissed this node for good: nothing may go on running for nobody."""
        self._supervisor.give_back_everything("the node was dismissed")
        tasks = [attempt.task for attempt in self._supervisor.attempts if attempt.task and attempt.ended is None]
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            with going_on("agent.tick_failed"):
                self._supervisor.tick()
                self.telemetry.look_for_work()
                if self.remote is not None:
                    self.remote.tick(self.welcome)
                await self._housekeeping.tick(self.owner.watch.policy if self.owner is not None else None)

    async def _keep_leases(self) -> None:
        """What must not outlive its lease is looked at more often: also after a sleep of the machine."""
        while True:
            await self._supervisor.leases.until_they_matter()
            await asyncio.sleep(LEASE_LOOK_SECONDS)
            with going_on("agent.leases_failed"):
                self._supervisor.leases.keep()

    def _leave_if_drained(self) -> None:
        if self._supervisor.state is NodeState.DRAINING and not self._supervisor.is_busy:
            self._leave.set()

    async def _connect_once(self, left: "asyncio.Future[Any]") -> str:
        """One line, from its opening to its end. Empty when the next should follow at once."""
        clock = self._parts.clock
        kind = LinkKind.WEBSOCKET if self._prepared is not None else self._baton.choose(clock.monotonic())
        try:
            link = await self._open(kind)
        except LinkUnavailable as error:
            self._baton.failed(kind, clock.monotonic(), blocked=error.blocked, away=error.away)
            self._failures += 1
            return f"{kind}: {error}"
        began = clock.monotonic()
        try:
            reason = await self._talk(kind, link, left)
        except HandshakeFailed as error:
            await link.close()
            self._baton.failed(kind, clock.monotonic())
            self._failures += 1
            return f"{kind}: {error}"
        except Dismissed as goodbye:
            await link.close()
            if not goodbye.retry:
                await self.end_jobs()
                raise
            self._failures += 1
            return f"the hub said goodbye: {goodbye}"
        finally:
            self._connected = None
        if self._prepared is not None or self._hello_again.is_set():
            return ""
        if clock.monotonic() - began >= STABLE_SECONDS:
            self._baton.held(kind)
            self._failures = 1
        else:
            self._baton.failed(kind, clock.monotonic())
            self._failures += 1
        return f"{kind}: {reason}"

    async def _open(self, kind: LinkKind) -> Link:
        if self._prepared is not None:
            link, self._prepared = self._prepared, None
            return link
        return await self._parts.connect(kind)

    async def _talk(self, kind: LinkKind, link: Link, left: "asyncio.Future[Any]") -> str:
        supervisor = self._supervisor
        self._hello_again.clear()
        welcome = await handshake(
            link,
            node=self._shop.node,
            identity=self._parts.identity,
            instance_id=self._parts.instance_id,
            agent_version=self._parts.agent_version,
            standing=lambda: Standing(
                capacity=self._shop.capacity,
                holding=supervisor.holding(),
                stream_id=supervisor.stream_id,
                cursor=supervisor.cursor,
                state=supervisor.state,
                availability=supervisor.availability,
                cached=self._parts.caches.names if self._parts.caches is not None else (),
            ),
            hub_time=self._hub_time,
        )
        if supervisor.stream_id not in {None, welcome.stream_id}:
            self._baton.hub_restarted()
            # Tries against a hub that was not there say nothing about the line to the one that is.
            self._failures = 0
        self._connected, self.welcome = kind, welcome
        self._shop.hub_end_reasons = frozenset(welcome.end_reasons)
        self._last_trouble = ""
        if welcome.notice:
            log.warning("hub.notice", extra={"notice": welcome.notice})
        log.info("link.up", extra={"kind": kind.value, "skew_seconds": round(self._hub_time.skew_seconds, 3)})
        session = LinkSession(link, welcome, supervisor, self._outgoing, self._parts.clock)
        if self.remote is not None:
            session.on_owner_request = self.remote.handle
        beside: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._hello_again.wait())]
        if kind is not LinkKind.WEBSOCKET:
            beside.append(asyncio.ensure_future(self._probe_websocket()))
        either = asyncio.ensure_future(asyncio.wait([*beside, left], return_when=asyncio.FIRST_COMPLETED))
        try:
            return await session.run(either)
        finally:
            for task in (either, *beside):
                task.cancel()
            await asyncio.gather(either, *beside, return_exceptions=True)

    async def _probe_websocket(self) -> None:
        """While polling: done when a WebSocket is open again, ready to take over."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = self._parts.clock.monotonic()
            if self._baton.wants_probe(now):
                try:
                    self._prepared = await self._parts.connect(LinkKind.WEBSOCKET)
                    return
                except LinkUnavailable as error:
                    log.info("link.still_blocked", extra={"reason": str(error)})
                    self._baton.probe_failed(now)

    async def _drop_prepared(self) -> None:
        if self._prepared is not None:
            link, self._prepared = self._prepared, None
            await link.close()

    async def _pause_before_next(self, left: "asyncio.Future[Any]", trouble: str) -> None:
        busy = self._supervisor.is_busy
        limit = RECONNECT_LIMIT_WITH_JOB_SECONDS if busy else RECONNECT_LIMIT_IDLE_SECONDS
        delay = reconnect_delay_seconds(self._failures, limit, self._parts.rng)
        log.info("link.down", extra={"reason": trouble, "retry_seconds": round(delay, 2)})
        await asyncio.wait([left], timeout=delay)
