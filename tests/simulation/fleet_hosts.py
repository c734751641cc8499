"""Machines of a fleet world: they take what they are offered, work, and are honest, or not."""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulation.fleet_truth import read_order

from computepool.hub.jobs.errors import StaleLease
from computepool.hub.jobs.policy import PREEMPTED, Ending, ending_of
from computepool.hub.scheduling.evicting import EVICTED
from computepool.hub.scheduling.fleet import FleetNode
from computepool.protocol.manifest import Manifest
from computepool.protocol.messages import AttemptRef
from computepool.protocol.receipt import EndReason
from computepool.protocol.signing import Signed
from computepool.protocol.states import AttemptState, Verdict

if TYPE_CHECKING:
    from simulation.fleet_world import FleetWorld

DONE = Ending(Verdict.OK, EndReason.EXITED, 0)
FAILED = Ending(Verdict.RENTER, EndReason.EXITED, 1)
BROKEN = Ending(Verdict.HOST, EndReason.SANDBOX)
LEFT = Ending(Verdict.PREEMPTED, PREEMPTED, lost=True)
CANCELED = Ending(Verdict.RENTER, EndReason.CANCELED)
FORGOTTEN = Ending(Verdict.HOST, "agent_restarted", lost=True)
DECLINED = ending_of(EndReason.DECLINED, None, "")
TAKEN_BACK = Ending(Verdict.OWNER, "taken_back_by_owner", lost=True)


@dataclass(eq=False)
class Host:
    """A node, and what is at the other end of its line."""

    world: "FleetWorld"
    node: FleetNode
    breaks_jobs: float = 0.0
    """How often it fails at them, or says so."""
    is_idle: bool = False
    """It takes everything, says that it has it, and begins nothing."""
    declines: bool = False
    """It declines everything."""
    taken_at: dict[str, float] = field(default_factory=dict)
    """When it took what it does nothing with."""
    awake: bool = True
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    """While its line is up."""
    gone: bool = False
    runs: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    fences: dict[str, int] = field(default_factory=dict)

    # ── what the hub tells it (scheduling.fleet.Line) ──

    def offer(self, attempt_id: str, manifest: Signed, downloads: Mapping[str, tuple[str, ...]]) -> None:
        order = read_order(manifest.body)
        if not self.awake:
            return
        self.fences[attempt_id] = order.fence
        if self.is_idle:
            self.taken_at[attempt_id] = self.world.clock.monotonic()
            self.world.fired["taken_and_not_begun"] += 1
        elif self.declines:
            self.world.fired["declined"] += 1
            self._later(self._decline(attempt_id))
        else:
            self.runs[attempt_id] = asyncio.create_task(self._work(order))

    def stop(self, attempt_id: str, fence: int, reason: str) -> None:
        if self.awake and attempt_id in self.runs:
            self.runs.pop(attempt_id).cancel()
            self._later(self._leave(attempt_id, LEFT if reason == EVICTED else CANCELED))

    def seen(self, cursor: int) -> None:
        """It counts nothing."""

    # ── what it tells the hub ──

    def beat(self) -> None:
        if self.awake and self.node.line is self:
            refs = [AttemptRef(attempt_id=one, fence=fence) for one, fence in self.fences.items()]
            self.world.leases.heard(self.node, [ref for ref in refs if ref.attempt_id in self.runs])
            self.world.leases.renew(self.node, refs)

    async def _work(self, order: Manifest) -> None:
        world, attempt_id = self.world, order.attempt_id
        try:
            await asyncio.sleep(world.rng.random())
            await world.db.run(world.truth.started, attempt_id, world.clock.now())
            held = self.node.attempts.get(attempt_id)
            if held is not None:
                held.note(AttemptState.RUNNING, world.clock.monotonic())
            breaks = world.rng.random() < self.breaks_jobs
            await asyncio.sleep(float(order.argv[1]) * (world.rng.random() if breaks else 1.0))
            await self.heard.wait()  # its result waits until it can be told
            await self.end(attempt_id, BROKEN if breaks else FAILED if order.argv[2] == "1" else DONE)
        except StaleLease:
            self.forget(attempt_id)

    async def _decline(self, attempt_id: str) -> None:
        await asyncio.sleep(self.world.rng.random())
        await self.heard.wait()
        await self.end(attempt_id, DECLINED)

    async def _leave(self, attempt_id: str, how: Ending) -> None:
        await asyncio.sleep(self.world.rng.uniform(0.1, 20.0))
        await self.heard.wait()
        await self.end(attempt_id, how)

    async def end(self, attempt_id: str, how: Ending) -> None:
        """As the gateway's reports do it: a lost one through the leases' keeper, another by itself."""
        world, fence = self.world, self.fences.get(attempt_id)
        self.forget(attempt_id)
        if fence is None:
            return
        if how.lost:
            await world.leases.lose(self.node, attempt_id, fence, how)
            return
        node_id = self.node.traits.node_id
        try:
            ended = await world.db.run(world.end_attempt, attempt_id, fence, node_id, how, world.clock.now())
        except StaleLease:
            return
        world.scheduler.ended(node_id, ended)

    def forget(self, attempt_id: str) -> None:
        self.fences.pop(attempt_id, None)
        self.runs.pop(attempt_id, None)
        self.taken_at.pop(attempt_id, None)

    # ── its life ──

    def take_back(self) -> None:
        """Its owner wants it: strangers' work ends now."""
        for attempt_id, held in list(self.node.attempts.items()):
            if not held.order.own and attempt_id in self.runs:
                self.runs.pop(attempt_id).cancel()
                self._later(self.end(attempt_id, TAKEN_BACK))

    def fall_silent(self, *, crashed: bool) -> None:
        """Nobody hears of it. If it crashed, what it ran is gone; else it goes on."""
        self.awake = False
        self.heard.clear()
        self.taken_at.clear()
        if crashed:
            for task in self.runs.values():
                task.cancel()
            self.runs.clear()
            self.fences.clear()

    async def come_back(self) -> None:
        """Both sides compare what they have, as at a handshake: the hub's is what is in its database."""
        if self.gone:
            return
        world, node = self.world, self.node
        self.awake = True
        live = dict(world.truth.live.get(node.traits.node_id, {}))
        await world.connect(self)
        for attempt_id, row in live.items():
            if attempt_id not in self.runs:
                await world.leases.lose(node, attempt_id, row.lease.fence, FORGOTTEN)
        for attempt_id in [one for one in self.runs if one not in node.attempts]:
            self.runs.pop(attempt_id).cancel()
            self.fences.pop(attempt_id, None)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        self.world.keep(asyncio.ensure_future(work))
